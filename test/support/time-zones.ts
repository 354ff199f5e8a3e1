/**
 * The time zones of the tz database, with their dates and changes of the clocks found without `core/days.ts`: from texts of `Intl`, by
 * bisection.
 */
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Every zone of the tz database. */
export const TZ_ZONES: readonly string[] = Intl.supportedValuesOf('timeZone')

const offsets = new Map<string, Intl.DateTimeFormat>()
const dates = new Map<string, Intl.DateTimeFormat>()

/** The offset from UTC, in milliseconds. */
export function offsetOf(timeZone: string, time: number): number {
  const format = formatOf(offsets, timeZone, 'en-US', { timeZoneName: 'longOffset' })
  const text = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = /^GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(text) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * HOUR + Number(minutes) * MINUTE + Number(seconds) * SECOND)
}

/** The date on a calendar in this zone, such as 2026-11-24. */
export function localDateOf(timeZone: string, time: number): string {
  return formatOf(dates, timeZone, 'sv-SE', { year: 'numeric', month: '2-digit', day: '2-digit' }).format(time)
}

/** The moments from which a zone has another offset, between two moments. Changes that cancel each other within three weeks are not found. */
export function changesOf(timeZone: string, from: number, to: number): number[] {
  const found: number[] = []
  for (let at = from; at < to; at += 21 * DAY) {
    const until = Math.min(at + 21 * DAY, to)
    const before = offsetOf(timeZone, at)
    if (before !== offsetOf(timeZone, until)) found.push(firstSecond(at, until, (time) => offsetOf(timeZone, time) !== before))
  }
  return found
}

/** The first moment of the date after that of `time`. */
export function nextMidnight(timeZone: string, time: number): number {
  const date = localDateOf(timeZone, time)
  return firstSecond(time, time + 50 * HOUR, (at) => localDateOf(timeZone, at) > date)
}

/** The first moment of the date of `time`. */
export function midnightBefore(timeZone: string, time: number): number {
  const date = localDateOf(timeZone, time)
  return firstSecond(time - 50 * HOUR, time, (at) => localDateOf(timeZone, at) >= date)
}

/** The first whole second for which it holds, between a moment for which it does not hold and one for which it does. */
function firstSecond(from: number, to: number, holds: (time: number) => boolean): number {
  let [low, high] = [Math.floor(from / SECOND), Math.ceil(to / SECOND)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle * SECOND)) high = middle
    else low = middle
  }
  return high * SECOND
}

function formatOf(
  formats: Map<string, Intl.DateTimeFormat>,
  timeZone: string,
  locale: string,
  options: Intl.DateTimeFormatOptions,
): Intl.DateTimeFormat {
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat(locale, { timeZone, ...options })
  formats.set(timeZone, format)
  return format
}
