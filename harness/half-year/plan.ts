/**
 * Recorded interactions spread over half a year, without random numbers:
 *
 * - The rows keep their order, and the n-th of N begins at n/N of the half year. Rows of one viewer and one recorded day are one
 *   sitting: it begins with its first row, and a play follows every three minutes.
 * - One play in twenty arrives late, as from a device that was offline: 1 to 30 hours after it was played.
 * - `everyone` has watched all subjects of all viewers, and `some` has watched every twentieth. They are a heavy and a medium
 *   viewer, because recorded viewers have only seven rows each.
 */
import type { ViewerId } from '../../core/domain.ts'

export type Row = { viewer: ViewerId; oid: string; viewedAt: number }
/** `at`: the time of arrival at the service. */
export type Arrival = { at: number; viewer: ViewerId; oid: string; playedAt: number }

export const START = Date.UTC(2026, 8, 15)
export const END = Date.UTC(2027, 2, 15)
export const HEAVY = 'everyone'
export const MEDIUM = 'some'
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const PLAY_EVERY_MS = 180_000
const LATE_EVERY = 20
const LATE_MAX_HOURS = 30
const MEDIUM_EVERY = 20

/** In order of arrival. */
export function planHalfYear(rows: readonly Row[]): Arrival[] {
  const sittings = new Map<string, { begun: number; plays: number }>()
  const arrivals: Arrival[] = []
  rows.forEach(({ viewer, oid, viewedAt }, place) => {
    const key = `${viewer} ${Math.floor(viewedAt / DAY_MS)}`
    const sitting = sittings.get(key) ?? { begun: START + Math.floor(((END - START) * place) / rows.length), plays: 0 }
    sittings.set(key, sitting)
    const playedAt = Math.min(sitting.begun + PLAY_EVERY_MS * sitting.plays++, END - 1)
    const lateMs = place % LATE_EVERY === 7 ? (1 + ((place * 7_919) % LATE_MAX_HOURS)) * HOUR_MS : 0
    const at = Math.min(playedAt + lateMs, END - 1)
    arrivals.push({ at, viewer, oid, playedAt }, { at, viewer: HEAVY, oid, playedAt })
    if (place % MEDIUM_EVERY === 0) arrivals.push({ at, viewer: MEDIUM, oid, playedAt })
  })
  return arrivals.toSorted((a, b) => a.at - b.at)
}
