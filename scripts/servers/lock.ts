/**
 * One `up` or `down` at a time per folder, since test files start servers side by side. The lock is a file that holds
 * the owner's pid; one whose owner is gone is taken over.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const WAIT_MS = 300_000

export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  for (const end = Date.now() + WAIT_MS; !tryLock(file); await sleep(100)) {
    if (Date.now() > end)
      throw new Error(`another scripts/services has held ${file} for ${WAIT_MS / 60_000} minutes: remove the file if none runs`)
  }
  try {
    return await work()
  } finally {
    rmSync(file, { force: true })
  }
}

function tryLock(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    if (!ownerLives(file)) rmSync(file, { force: true })
    return false
  }
}

function ownerLives(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, 'utf8'))
    // Empty for the moment between creating and writing it.
    if (pid === 0) return true
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
