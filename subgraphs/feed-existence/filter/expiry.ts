/**
 * When a viewer's filter of a month goes: in the sixth month after it, on a random day, at a random moment of the hours in
 * which few are awake. So no day has more to remove than another, and no hour that matters has any. Decided when a filter
 * is first written, and kept. A leaf.
 */
import type { Month } from '../../../core/domain.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { HOUR_MS, beginningOf } from '../model/time-ring.ts'

export type IdleTime = {
  /** The local hour at which it begins. */
  fromHour: number
  hours: number
  /** Minutes that local time is ahead of UTC. */
  utcOffsetMinutes: number
}

const MONTHS_KEPT = 6
const DAY_MS = 24 * HOUR_MS
const MINUTE_MS = 60_000

/** Milliseconds since the epoch. The day is one of the sixth month by local time. */
export function expiryOf(month: Month, idle: IdleTime, random: Random): number {
  const begins = beginningOf(month + MONTHS_KEPT)
  const days = (beginningOf(month + MONTHS_KEPT + 1) - begins) / DAY_MS
  const midnight = begins + randomBelow(random, days) * DAY_MS
  return midnight + idle.fromHour * HOUR_MS + randomBelow(random, idle.hours * HOUR_MS) - idle.utcOffsetMinutes * MINUTE_MS
}
