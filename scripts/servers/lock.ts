/**
 * One `up` or `down` at a time per folder, because test files start servers in parallel. The lock is SQLite's lock on a
 * file. The kernel releases it however its owner ends, so that a dead owner needs no detection.
 */
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'

const WAIT_MS = 300_000
const PAUSE_MS = 100
const SQLITE_BUSY = 5

export async function withLock<T>(file: string, work: () => Promise<T>, waitMs: number = WAIT_MS, pauseMs: number = PAUSE_MS): Promise<T> {
  const database = new DatabaseSync(file)
  try {
    for (const end = Date.now() + waitMs; !tryLock(database); await sleep(pauseMs)) {
      if (Date.now() > end)
        throw new Error(
          `another scripts/services has held ${file} for ${waitMs / 60_000} minutes: wait for it, or stop it and run this again`,
        )
    }
    return await work()
  } finally {
    database.close()
  }
}

/** Not `locking_mode = EXCLUSIVE`: a failed attempt would keep a shared lock, and two waiting processes would block each other. */
function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false
    throw error
  }
}
