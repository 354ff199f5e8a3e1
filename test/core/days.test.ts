import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { claimedDay, dateOf, dayOf, isTimeZone, utcDayOf } from '../../core/days.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const ZONES = [...Intl.supportedValuesOf('timeZone'), 'UTC', '+09:00', '-03:30']

const offsets = new Map<string, Intl.DateTimeFormat>()

/** Another way to the same day: the offset from UTC, in milliseconds. */
function offsetOf(timeZone: string, time: number): number {
  let format = offsets.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    offsets.set(timeZone, format)
  }
  const text = format.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = /^GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(text) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * HOUR + Number(minutes) * MINUTE + Number(seconds) * 1_000)
}
const expectedDay = (timeZone: string, time: number): number => Math.floor((time + offsetOf(timeZone, time)) / DAY)

/** The moments from which a zone has another offset, between two moments. Changes that cancel each other within three weeks are not found. */
function changesOf(timeZone: string, from: number, to: number): number[] {
  const found: number[] = []
  for (let at = from; at < to; at += 21 * DAY) {
    let [low, high] = [at, Math.min(at + 21 * DAY, to)]
    if (offsetOf(timeZone, low) === offsetOf(timeZone, high)) continue
    const before = offsetOf(timeZone, low)
    while (high - low > 1_000) {
      const middle = Math.floor((low + high) / 2_000) * 1_000
      if (offsetOf(timeZone, middle) === before) low = middle
      else high = middle
    }
    found.push(high)
  }
  return found
}

const YEAR = [Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)] as const
const CHANGES = ZONES.map((timeZone) => ({ timeZone, changes: changesOf(timeZone, ...YEAR) }))

describe('days of time zones', () => {
  test('a day is the date of its zone, for every zone of the tz database and any time since 1973', () => {
    const time = fc.integer({ min: Date.UTC(1973, 2, 1), max: Date.UTC(2100, 0, 1) })
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), time, (timeZone, at) => {
        const day = dayOf(timeZone, at)
        expect(day).toBe(expectedDay(timeZone, at))
        expect(dateOf(day)).toBe(new Date(at).toLocaleDateString('sv-SE', { timeZone }))
        expect(Math.abs(day - utcDayOf(at))).toBeLessThanOrEqual(1)
      }),
      { numRuns: 3_000 },
    )
  })

  test('both changes of the clocks of a year are found, in more than 100 zones', () => {
    expect(CHANGES.filter(({ changes }) => changes.length === 2).length).toBeGreaterThan(100)
  })

  test('days begin and end at midnight and last about 24 hours when the clocks change, in every zone', () => {
    for (const { timeZone, changes } of CHANGES) {
      for (const change of changes) {
        const day = dayOf(timeZone, change)
        // In Greenland, 23:00 becomes 00:00.
        const begin = dayOf(timeZone, change - 1) < day ? change : day * DAY - offsetOf(timeZone, change - 1_000)
        const end = (day + 1) * DAY - offsetOf(timeZone, change)
        const edges = [begin - 1, begin, end - 1, end].map((at) => dayOf(timeZone, at) - day)
        expect([timeZone, change, ...edges]).toEqual([timeZone, change, -1, 0, 0, 1])
        // Two hours at Troll in the Antarctic, an hour or less elsewhere.
        expect(Math.abs(end - begin - DAY)).toBeLessThanOrEqual(timeZone === 'Antarctica/Troll' ? 2 * HOUR : HOUR)
        for (let at = change - 2 * HOUR; at <= change + 2 * HOUR; at += 7 * MINUTE + 1)
          expect([timeZone, at, dayOf(timeZone, at)]).toEqual([timeZone, at, expectedDay(timeZone, at)])
      }
    }
  })

  test('the answer does not depend on the calls before', () => {
    const call = fc.tuple(fc.constantFrom('Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu'), fc.integer({ min: 0, max: 400 * DAY }))
    fc.assert(
      fc.property(fc.array(call, { minLength: 2, maxLength: 200 }), (calls) => {
        for (const [timeZone, at] of [...calls, ...calls.toReversed()]) expect(dayOf(timeZone, at)).toBe(expectedDay(timeZone, at))
      }),
      { numRuns: 20 },
    )
  })

  test.each([
    ['the day of 23 hours in Berlin', 'Europe/Berlin', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'],
    ['the day of 25 hours in Berlin', 'Europe/Berlin', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'],
    ['a day that begins at 01:00, in Beirut', 'Asia/Beirut', '2026-03-28T22:00:00Z', '2026-03-29T21:00:00Z'],
    ['the half hour of Lord Howe', 'Australia/Lord_Howe', '2026-04-04T13:00:00Z', '2026-04-05T13:30:00Z'],
    ['the first zone', 'Pacific/Kiritimati', '2026-11-23T10:00:00Z', '2026-11-24T10:00:00Z'],
    ['the last zone', 'Pacific/Pago_Pago', '2026-11-23T11:00:00Z', '2026-11-24T11:00:00Z'],
  ])('%s has its edges where the clocks show midnight', (_, timeZone, begins, ends) => {
    const [begin, end] = [Date.parse(begins), Date.parse(ends)]
    const day = dayOf(timeZone, begin)
    expect([begin - 1, begin, end - 1, end].map((at) => dayOf(timeZone, at) - day)).toEqual([-1, 0, 0, 1])
  })

  test('a date that a zone skipped is no day: Samoa had no December 30, 2011', () => {
    const midnight = Date.parse('2011-12-30T10:00:00Z')
    expect([midnight - 1, midnight].map((at) => dateOf(dayOf('Pacific/Apia', at)))).toEqual(['2011-12-29', '2011-12-31'])
  })

  test('where clocks go back across midnight, the old day returns, as in St. John’s in 2009', () => {
    const times = ['02:29:59', '02:30:00', '02:30:59', '02:31:00', '03:29:59', '03:30:00'].map((time) => Date.parse(`2009-11-01T${time}Z`))
    expect(times.map((at) => dateOf(dayOf('America/St_Johns', at)).slice(-2))).toEqual(['31', '01', '01', '31', '31', '01'])
  })

  test('a play claims today or yesterday of its zone, and a time ahead counts as today', () => {
    const now = Date.parse('2026-10-25T12:00:00Z')
    const ago = (hours: number) => claimedDay('Europe/Berlin', now - hours * HOUR, now)
    const today = dayOf('Europe/Berlin', now)
    // The day began 14 hours ago, since the clocks went back, and yesterday 24 hours earlier.
    expect([ago(-30), ago(0), ago(14), ago(14.01), ago(38), ago(38.01)]).toEqual([today, today, today, today - 1, today - 1, undefined])
  })

  test('names of zones are known in any case, and other texts are not', () => {
    expect(['Europe/Berlin', 'europe/berlin', 'UTC', 'Asia/Calcutta', '+05:30'].map(isTimeZone)).toEqual([true, true, true, true, true])
    expect(['Mars/Base', '', ' ', 'Berlin', 'UTC+1', '+25:00', 'Europe/Berlin '].map(isTimeZone)).toEqual(
      Array.from({ length: 7 }, () => false),
    )
  })
})
