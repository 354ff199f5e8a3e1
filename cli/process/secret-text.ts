/** Secrets on the command line. `@FILE` keeps them out of the list of processes, which every user of a machine can read. */
import { readFileSync } from 'node:fs'
import { TidemarkError } from '../../core/errors.ts'

/** Returns the text, or the content of the file that it names. Throws CONFIG_INVALID. */
export function secretText(text: string, flag: string): string {
  return text.startsWith('@') ? readSecretFile(text.slice(1), flag) : text
}

export function readSecretFile(path: string, flag: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new TidemarkError('CONFIG_INVALID', `${flag} names ${path}, which cannot be read: give the file of the secret`, { cause: error })
  }
}
