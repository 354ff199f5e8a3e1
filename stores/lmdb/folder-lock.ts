/**
 * One deployment per data folder: the primary process holds a lock that the kernel releases when the process dies for any reason. LMDB
 * itself admits any number of processes, since the workers of one deployment need that. It cannot distinguish a second deployment from a
 * worker. Workers open the environment without this lock.
 *
 * Node has no file locks, but its SQLite has: a transaction with exclusive access to the database file. Nothing is written.
 */
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { TidemarkError } from '../../core/errors.ts'
import { FILE_MODE, makeDataFolder, unusableFolder } from './make-folder.ts'

export type FolderLock = { release(): void }

const FILE = 'tidemark.lock'
const SQLITE_BUSY = 5
/** Keeps the handle for the life of the process: garbage collection of a handle would release the lock. */
const held = new Set<DatabaseSync>()

/** Throws DATA_IN_USE if another process, or this one, holds the folder. */
export function lockDataFolder(folder: string): FolderLock {
  const database = openLockFile(folder)
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (!isBusy(error)) throw unusableFolder(folder, error)
    throw new TidemarkError(
      'DATA_IN_USE',
      `another tidemark uses the data folder ${folder}: stop it, or choose another folder with --data or TIDEMARK_DATA`,
      {
        cause: error,
      },
    )
  }
  held.add(database)
  return {
    release() {
      held.delete(database)
      if (database.isOpen) database.close()
    },
  }
}

function openLockFile(folder: string): DatabaseSync {
  makeDataFolder(folder)
  const file = join(folder, FILE)
  try {
    // SQLite creates files according to the umask, and its journal gets the mode of the database.
    closeSync(openSync(file, 'a', FILE_MODE))
    return new DatabaseSync(file)
  } catch (error) {
    throw unusableFolder(folder, error)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY
}
