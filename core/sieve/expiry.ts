/** The time to live of numbered cells. */
import type { Clock } from '../clock.ts'

export function makeExpiry(clock: Clock, cellsMax: number) {
  const storedAt = new Float64Array(cellsMax)
  const expiresAt = new Float64Array(cellsMax)

  return {
    /** The cell is fresh for `ttlMs` from now on. */
    start(cell: number, ttlMs: number): void {
      const now = ttlMs === Infinity ? 0 : clock.now()
      storedAt[cell] = now
      expiresAt[cell] = now + ttlMs
    },

    /** After the clock is set back, entries would live on. An entry from the future is therefore not fresh. */
    isFresh(cell: number, now = clock.now()): boolean {
      const until = expiresAt[cell] as number
      return until === Infinity || (now < until && now >= (storedAt[cell] as number))
    },
  }
}
