/**
 * Creates a folder and its parents one by one, for the data folder and for folders that commands write. Node's `recursive` option loops
 * forever if the system reports a path as missing although its parent exists, as below /proc.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { TidemarkError } from '../../core/errors.ts'

/** Other users of the machine must not read viewers' histories. An existing folder keeps its mode. */
const FOLDER_MODE = 0o700
/** The mode of every file in a data folder. */
export const FILE_MODE = 0o600

/** Throws CONFIG_INVALID. */
export function makeDataFolder(folder: string): void {
  try {
    makeFolder(folder, FOLDER_MODE)
  } catch (error) {
    throw unusableFolder(folder, error)
  }
}

export function unusableFolder(folder: string, cause: unknown): TidemarkError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const sentence = `the data folder ${folder} cannot be used (${reason}): with --data or TIDEMARK_DATA, name a folder that this user may write`
  return new TidemarkError('CONFIG_INVALID', sentence, { cause })
}

/** Existing folders keep their mode. Throws the error of the file system. */
export function makeFolder(folder: string, mode?: number): void {
  const path = resolve(folder)
  if (existsSync(path)) return
  makeFolder(dirname(path), mode)
  try {
    mkdirSync(path, mode === undefined ? {} : { mode })
  } catch (error) {
    // Another process may have made it first.
    if (!existsSync(path)) throw error
  }
}
