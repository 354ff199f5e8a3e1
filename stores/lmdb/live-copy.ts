/**
 * A copy of a data file as of one transaction, without its free pages. Processes may use the file meanwhile: LMDB keeps the pages of the
 * snapshot until the copy is complete, so the file grows by what they write in that time.
 */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import { READERS_MAX } from './environment.ts'
import { openFailure } from './failures.ts'
import { checkDataFile } from './file-check/check-file.ts'
import { FILE_MODE } from './make-folder.ts'

/**
 * The copy is on disk and checked when it resolves. Throws DATA_DAMAGED for a damaged file, CONFIG_INVALID if its folder cannot be
 * written, and the errors of the disk. After an error there is no copy.
 */
export async function copyLivePages(file: string, copy: string): Promise<void> {
  checkDataFile(file)
  const root = openFile(file)
  try {
    await rm(copy, { force: true })
    await root.backup(copy, true)
  } catch (error) {
    await rm(copy, { force: true })
    throw error
  } finally {
    await root.close()
  }
  await chmod(copy, FILE_MODE)
  syncPath(copy)
}

/** LMDB needs to write its lock file, also for a copy. */
function openFile(file: string): RootDatabase {
  try {
    // The process that opens a file first sets the number of readers for all processes.
    return open({ path: file, maxReaders: READERS_MAX, encoding: 'binary', keyEncoding: 'binary' })
  } catch (error) {
    throw openFailure(dirname(file), error)
  }
}

/** For a file, and for a folder after a file in it was renamed. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
