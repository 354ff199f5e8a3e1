/** The pace at which legacy sets are read. All movers of a process share it. */
import type { Clock } from '../../../core/clock.ts'

/** `waiting`: what ends the waits of who has been stopped. */
export type Stop = { isSet: boolean; waiting: Set<() => void> }

/** After a page of so many members: resolves when the next page may be read, or at once if stopped. */
export type Pace = (members: number, stop: Stop) => Promise<void>

/** Pages may come this much too early, so that small sets are not each waited for. */
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
