/**
 * One `up` or `down` at a time per folder, since test files start servers side by side. The lock is SQLite's on a file: the
 * kernel gives it back however its owner ends, so nobody has to judge whether one is dead, and two can never both have it.
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
      if (Date.now() > end) throw new Error(`another scripts/services has held ${file} for ${waitMs / 60_000} minutes: see what it does`)
    }
    return await work()
  } finally {
    database.close()
  }
}

/** Not by `locking_mode = EXCLUSIVE`: who fails keeps a shared lock then, so that two who wait keep each other out for ever. */
function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false
    throw error
  }
}
