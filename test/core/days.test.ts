import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { claimedDay, dateOf, dayOf, isTimeZone, utcDayOf } from '../../core/days.ts'
import { changesOf, localDateOf, midnightBefore, nextMidnight, offsetOf, TZ_ZONES } from '../support/time-zones.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const ZONES = [...TZ_ZONES, 'UTC', '+09:00', '-03:30']

/** Another way to the same day. */
const expectedDay = (timeZone: string, time: number): number => Math.floor((time + offsetOf(timeZone, time)) / DAY)

const YEAR = [Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)] as const
const CHANGES = ZONES.map((timeZone) => ({ timeZone, changes: changesOf(timeZone, ...YEAR) }))

const localHourBefore = (timeZone: string, change: number): number =>
  ((((change + offsetOf(timeZone, change - 1_000)) % DAY) + DAY) % DAY) / HOUR

/** The day of a change of the clocks has its edges at midnight, and is longer or shorter by the change. */
function expectChange(timeZone: string, change: number): void {
  for (let at = change - 2 * HOUR; at <= change + 2 * HOUR; at += 7 * MINUTE + 1)
    expect([timeZone, at, dayOf(timeZone, at)]).toEqual([timeZone, at, expectedDay(timeZone, at)])
  const [before, after] = [offsetOf(timeZone, change - 1_000), offsetOf(timeZone, change)]
  if (isAcrossMidnight(timeZone, change)) return
  const [begin, end] = [midnightBefore(timeZone, change), nextMidnight(timeZone, change)]
  const day = dayOf(timeZone, change)
  const edges = [begin - 1, begin, end - 1, end].map((at) => dayOf(timeZone, at) - day)
  expect([timeZone, change, ...edges]).toEqual([timeZone, change, -1, 0, 0, 1])
  // A gap of the clocks may begin before midnight, as in Nuuk, where 23:00 becomes 00:00. Then it shortens the day before.
  const missedBefore = begin === change && after > before ? day * DAY - (change + before) : 0
  expect([timeZone, change, end - begin]).toEqual([timeZone, change, DAY - (after - before - missedBefore)])
  if (missedBefore > 0)
    expect([timeZone, change, begin - midnightBefore(timeZone, begin - 1_000)]).toEqual([timeZone, change, DAY - missedBefore])
}

/** A date is skipped, or the old one returns. Both have tests of their own. */
function isAcrossMidnight(timeZone: string, change: number): boolean {
  const rise = expectedDay(timeZone, change) - expectedDay(timeZone, change - 1_000)
  return rise < 0 || rise > 1
}

describe('days of time zones', () => {
  test('a day is the date of its zone, for every zone of the tz database and any time since 1973', () => {
    const time = fc.integer({ min: Date.UTC(1973, 2, 1), max: Date.UTC(2100, 0, 1) })
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), time, (timeZone, at) => {
        const day = dayOf(timeZone, at)
        expect(day).toBe(expectedDay(timeZone, at))
        expect(dateOf(day)).toBe(localDateOf(timeZone, at))
        expect(Math.abs(day - utcDayOf(at))).toBeLessThanOrEqual(1)
      }),
      { numRuns: 3_000 },
    )
  })

  test('the number rises by one at midnights all over the year, in every zone, and not within 12 hours around them', () => {
    for (const timeZone of ZONES) {
      const day = dayOf(timeZone, YEAR[0])
      let midnight = nextMidnight(timeZone, YEAR[0])
      // Three days in a row, then a leap to the next three: weekdays and months differ from zone to zone.
      for (let leap = 0, found = 1; leap < 12; leap++, midnight = nextMidnight(timeZone, midnight + (20 + (found % 9)) * DAY)) {
        for (let inRow = 0; inRow < 3; inRow++, midnight = nextMidnight(timeZone, midnight)) {
          found = dayOf(timeZone, midnight)
          const day = utcDayOf(Date.parse(localDateOf(timeZone, midnight)))
          const around = [midnight - 12 * HOUR, midnight - 1, midnight, midnight + 999, midnight + 12 * HOUR]
          expect([timeZone, midnight, ...around.map((at) => dayOf(timeZone, at) - day)]).toEqual([timeZone, midnight, -1, -1, 0, 0, 0])
        }
      }
      expect(dayOf(timeZone, YEAR[1]) - day).toBe(365)
    }
  })

  test('both changes of the clocks of a year are found, in more than 100 zones, some of them at midnight', () => {
    expect(CHANGES.filter(({ changes }) => changes.length === 2).length).toBeGreaterThan(100)
    const midnight = ({ timeZone, changes }: (typeof CHANGES)[number]) => changes.some((at) => localHourBefore(timeZone, at) === 0)
    expect(CHANGES.filter(midnight).map(({ timeZone }) => timeZone)).toEqual(
      expect.arrayContaining(['Africa/Cairo', 'America/Havana', 'America/Santiago', 'Asia/Beirut']),
    )
  })

  test('days begin and end at midnight and have 23 or 25 hours when the clocks change by one, in every zone', () => {
    for (const { timeZone, changes } of CHANGES) {
      for (const change of changes) expectChange(timeZone, change)
    }
  })

  test('days do so in any year since 1973', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TZ_ZONES), fc.integer({ min: 1973, max: 2037 }), (timeZone, year) => {
        for (const change of changesOf(timeZone, Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1))) expectChange(timeZone, change)
      }),
      { numRuns: 400 },
    )
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

  test.each([
    ['Pacific/Apia', '2011-12-30'],
    ['Pacific/Fakaofo', '2011-12-30'],
    ['Pacific/Kiritimati', '1994-12-31'],
    ['Pacific/Kwajalein', '1993-08-21'],
  ])('a date that a zone skipped is no day: %s had no %s', (timeZone, skipped) => {
    const noon = Date.parse(skipped) - HOUR
    const before = dayOf(timeZone, noon)
    const midnight = nextMidnight(timeZone, noon)
    const around = [midnight - 24 * HOUR, midnight - 1, midnight, midnight + 24 * HOUR - 1].map((at) => dayOf(timeZone, at) - before)
    expect(dateOf(before + 1)).toBe(skipped)
    expect(around).toEqual([0, 0, 2, 2])
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
