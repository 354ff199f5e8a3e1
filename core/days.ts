/**
 * The days of a calendar: whole days since January 1, 1970, in a time zone of the tz database. The data of the zones is that of Node's ICU
 * (`process.versions.tz`). A day has 23 or 25 hours when the clocks change, and a date that a zone skipped has no moments.
 *
 * Clocks may be set back across midnight: in St. John's, 00:01 became 23:01 until 2011. The day number then falls for the last hour of the
 * old day. Claims of days stay exact: stores claim by the number, and never an earlier first view after a later one.
 */
const SECOND_MS = 1_000
const DAY_MS = 86_400_000

/** Dates of the last seconds that were asked for. Every zone begins its days, and changes its clocks, at a whole second. */
const REMEMBERED = 64

type Calendar = { format: Intl.DateTimeFormat; seconds: Float64Array; days: Int32Array }

const calendars = new Map<string, Calendar>()

/** Days since the epoch, UTC. */
export function utcDayOf(time: number): number {
  return Math.floor(time / DAY_MS)
}

/** The number of the day in this time zone. The answer depends on the arguments alone. Throws a RangeError for an unknown zone. */
export function dayOf(timeZone: string, time: number): number {
  if (timeZone === 'UTC') return utcDayOf(time)
  const { format, seconds, days } = calendarOf(timeZone)
  const second = Math.floor(time / SECOND_MS)
  const slot = ((second % REMEMBERED) + REMEMBERED) % REMEMBERED
  if (seconds[slot] !== second) {
    days[slot] = dayOfParts(format.formatToParts(second * SECOND_MS))
    seconds[slot] = second
  }
  return days[slot] as number
}

/** The day that a play of this moment claims: today or yesterday; undefined for earlier plays, which have no reward. */
export function claimedDay(timeZone: string, playedAt: number, now: number): number | undefined {
  const today = dayOf(timeZone, now)
  const day = Math.min(dayOf(timeZone, playedAt), today)
  return day >= today - 1 ? day : undefined
}

/** The date of a day number, such as 2026-11-24. */
export function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** True for a name of the tz database, in any case, and for an offset such as +09:00. */
export function isTimeZone(name: string): boolean {
  // The default. A first calendar takes 20 ms or more, in every command.
  if (name === 'UTC') return true
  try {
    calendarOf(name)
    return true
  } catch {
    return false
  }
}

function calendarOf(timeZone: string): Calendar {
  const known = calendars.get(timeZone)
  if (known !== undefined) return known
  const date = { year: 'numeric', month: 'numeric', day: 'numeric' } as const
  const format = new Intl.DateTimeFormat('en-US', { timeZone, calendar: 'gregory', numberingSystem: 'latn', ...date })
  const made = { format, seconds: new Float64Array(REMEMBERED).fill(Number.NaN), days: new Int32Array(REMEMBERED) }
  calendars.set(timeZone, made)
  return made
}

function dayOfParts(parts: readonly Intl.DateTimeFormatPart[]): number {
  const numberOf = (type: 'year' | 'month' | 'day'): number => Number(parts.find((part) => part.type === type)?.value)
  return Date.UTC(numberOf('year'), numberOf('month') - 1, numberOf('day')) / DAY_MS
}
