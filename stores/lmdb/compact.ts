/**
 * Writes a data file again without its free pages. LMDB does not overwrite removed entries, so free pages keep their bytes until they are
 * used again. The copy has the live pages only. It replaces the file in one step, and a crash before that leaves the file as it was.
 *
 * No process may use the folder: those that have the old file open would go on with it.
 */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DATA_FILE } from './environment.ts'
import { openFailure } from './failures.ts'
import { markClosed } from './file-check/check-file.ts'
import { lockDataFolder } from './folder-lock.ts'
import { copyLivePages, syncPath } from './live-copy.ts'

/** Throws DATA_IN_USE, DATA_DAMAGED, and STORE_FULL if the disk has no room for the copy. A folder without a data file stays as it is. */
export async function compactFolder(folder: string): Promise<void> {
  const file = join(folder, DATA_FILE)
  if (!existsSync(file)) return
  const lock = lockDataFolder(folder)
  const copy = `${file}.compact`
  try {
    await copyLivePages(file, copy)
    renameSync(copy, file)
    syncPath(folder)
    markClosed(file)
  } catch (error) {
    throw openFailure(folder, error)
  } finally {
    rmSync(copy, { force: true })
    lock.release()
  }
}
