/** The pace at which legacy sets are read. All movers of a process share it. */
import type { Clock } from '../../../core/clock.ts'

/** `waiting`: ends the waits of a stopped mover. */
export type Stop = { isSet: boolean; waiting: Set<() => void> }

/** Called after a page of this many members. Resolves when the next page may be read, or at once if stopped. */
export type Pace = (members: number, stop: Stop) => Promise<void>

/** Pages may come this much too early, so that small sets need no wait each. */
const AHEAD_MS = 10

export function makePace(clock: Clock, membersPerSecond: number): Pace {
  let turnAt = 0

  return async (members, stop) => {
    const now = clock.now()
    turnAt = Math.max(turnAt, now) + (members * 1_000) / membersPerSecond
    if (turnAt - now <= AHEAD_MS || stop.isSet) return
    await new Promise<void>((resolve) => {
      const end = (): void => {
        timer.cancel()
        stop.waiting.delete(end)
        resolve()
      }
      const timer = clock.after(turnAt - now, end)
      stop.waiting.add(end)
    })
  }
}
