/** Writes the file that `--out` names, and the folders above it. */
import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { TidemarkError } from '../core/errors.ts'
import { makeFolder } from '../stores/lmdb/make-folder.ts'

/** Throws CONFIG_INVALID if the file cannot be written. */
export function writeOut(path: string, text: string): void {
  try {
    makeFolder(dirname(path))
    writeFileSync(path, text)
  } catch (cause) {
    throw new TidemarkError('CONFIG_INVALID', `${path} cannot be written (${(cause as Error).message}): correct --out`, { cause })
  }
}
