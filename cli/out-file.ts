/** Writes the file that `--out` names, and the folders above it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { TidemarkError } from '../core/errors.ts'

/** Throws CONFIG_INVALID if the file cannot be written. */
export function writeOut(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  } catch (cause) {
    throw new TidemarkError('CONFIG_INVALID', `${path} cannot be written (${(cause as Error).message}): correct --out`, { cause })
  }
}
