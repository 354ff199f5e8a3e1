import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../../../core/random.ts'
import { expiryOf } from '../../../../subgraphs/feed-existence/filter/expiry.ts'
import { beginningOf, monthOf } from '../../../../subgraphs/feed-existence/model/time-ring.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const MINUTE = 60_000

describe('the expiry of filters', () => {
  test.each([0, 330, -480])('is in the sixth month after, from 00:00 to 05:00 local time, at offset %d minutes', (utcOffsetMinutes) => {
    const random = seededRandom(5)
    const month = monthOf(Date.UTC(2026, 7, 31))
    for (let i = 0; i < 10_000; i++) {
      const local = expiryOf(month, { fromHour: 0, hours: 5, utcOffsetMinutes }, random) + utcOffsetMinutes * MINUTE
      expect(monthOf(local)).toBe(month + 6)
      expect(local % DAY).toBeLessThan(5 * HOUR)
    }
  })

  test('is spread evenly over all days and all quarters of the idle hours', () => {
    const random = seededRandom(7)
    const filters = 280_000
    // Filters of August expire in February, which has 28 days.
    const month = monthOf(Date.UTC(2026, 7, 1))
    const days = Array.from({ length: 28 }, () => 0)
    const quarters = Array.from({ length: 20 }, () => 0)
    for (let i = 0; i < filters; i++) {
      const since = expiryOf(month, { fromHour: 0, hours: 5, utcOffsetMinutes: 0 }, random) - beginningOf(month + 6)
      days[Math.floor(since / DAY)]! += 1
      quarters[Math.floor((since % DAY) / (15 * MINUTE))]! += 1
    }
    // Six standard deviations of a fair draw.
    for (const count of days) expect(Math.abs(count - filters / 28)).toBeLessThan(6 * Math.sqrt(filters / 28))
    for (const count of quarters) expect(Math.abs(count - filters / 20)).toBeLessThan(6 * Math.sqrt(filters / 20))
  })

  test('begins at the configured hour, and may pass midnight', () => {
    const random = seededRandom(9)
    const hours = new Set<number>()
    for (let i = 0; i < 1_000; i++) {
      const at = expiryOf(0, { fromHour: 22, hours: 4, utcOffsetMinutes: 0 }, random)
      hours.add(Math.floor((at % DAY) / HOUR))
    }
    expect([...hours].sort((a, b) => a - b)).toEqual([0, 1, 22, 23])
  })
})
