/**
 * The expiry of a viewer's filter of a month: a random day of the sixth month after it, at a random moment of the idle hours. Removals are
 * therefore spread evenly over the days, and happen while few viewers are active. The expiry is decided when a filter is first written, and
 * kept.
 */
import type { Month } from '../../../core/domain.ts'
import { randomBelow, type Random } from '../../../core/random.ts'
import { HOUR_MS, beginningOf } from '../model/time-ring.ts'

export type IdleTime = {
  /** The local hour at which the idle hours begin. */
  fromHour: number
  hours: number
  /** Offset of local time from UTC, in minutes. */
  utcOffsetMinutes: number
}

const MONTHS_KEPT = 6
const DAY_MS = 24 * HOUR_MS
const MINUTE_MS = 60_000

/** Milliseconds since the epoch. Days of the sixth month are days of local time. */
export function expiryOf(month: Month, idle: IdleTime, random: Random): number {
  const begins = beginningOf(month + MONTHS_KEPT)
  const days = (beginningOf(month + MONTHS_KEPT + 1) - begins) / DAY_MS
  const midnight = begins + randomBelow(random, days) * DAY_MS
  return midnight + idle.fromHour * HOUR_MS + randomBelow(random, idle.hours * HOUR_MS) - idle.utcOffsetMinutes * MINUTE_MS
}
