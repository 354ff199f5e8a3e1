/** Limits a command to a number of rows per second, so that it leaves the stores to the service. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../core/clock.ts'

/** Resolves when this many further rows are due. Without a rate at once. */
export type Pace = (rows: number) => Promise<void>

export function makePace(clock: Pick<Clock, 'now'>, rowsPerSecond: number | undefined): Pace {
  if (rowsPerSecond === undefined) return () => Promise.resolve()
  let due = clock.now()
  return async (rows) => {
    const now = clock.now()
    due = Math.max(due, now) + (rows / rowsPerSecond) * 1_000
    // A timer of the clock would not keep the process alive.
    if (due > now) await sleep(due - now)
  }
}
