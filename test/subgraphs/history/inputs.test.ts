import { describe, expect, test } from 'vitest'
import { makeBusinesses } from '../../../config/businesses.ts'
import { dayTokenOf } from '../../../core/rewards.ts'
import { utcDayOf } from '../../../core/days.ts'
import type { Viewer } from '../../../core/viewer.ts'
import {
  FIRST_MAX,
  IDS_MAX,
  INPUTS_MAX,
  checkBusinesses,
  checkFirst,
  checkIds,
  checkInputCount,
  checkReport,
  type ReportProgressInput,
} from '../../../subgraphs/history/inputs.ts'

const utc = (business: number) => ({ timeZone: 'UTC', business })

const NOW = 1_700_000_000_000
const REAL = 2 ** 42
const businesses = makeBusinesses([
  { number: 1, name: 'video', entity: 'Video', conflict: 'newest', glanceMax: 5_000, finishedPercent: 95 },
  { number: 2, name: 'comic', entity: 'Comic', conflict: 'newest', glanceMax: 0, finishedPercent: 95 },
  { number: 3, name: 'course', entity: 'Course', conflict: 'furthest', glanceMax: 10, finishedPercent: 50 },
])
const viewer: Viewer = { id: '7', scopes: [] }
const mayWriteAny: Viewer = { id: '7', scopes: ['history', 'progress:write-any'] }

function check(input: Partial<ReportProgressInput> = {}, as: Viewer = viewer, now = NOW) {
  return checkReport({ business: 'video', id: '1', position: 60_000, ...input }, as, businesses, now)
}
const codeOf = (code: string) => expect.objectContaining({ code })
const isGlance = (input: Partial<ReportProgressInput>) => check(input).record.rank < REAL

describe('the viewer of a report', () => {
  test('is the caller by default, and naming the caller needs no scope', () => {
    expect(check().viewer).toBe('7')
    expect(check({ viewer: null }).viewer).toBe('7')
    expect(check({ viewer: '7' }).viewer).toBe('7')
  })

  test('other than the caller needs progress:write-any, and no other scope suffices', () => {
    expect(check({ viewer: '8' }, mayWriteAny).viewer).toBe('8')
    for (const scopes of [
      [],
      ['progress:write'],
      ['progress:read-any'],
      ['progress:write-any-more'],
      ['PROGRESS:WRITE-ANY'],
      ['*', 'admin'],
    ])
      expect(() => check({ viewer: '8' }, { id: '7', scopes }), scopes.join()).toThrow(codeOf('FORBIDDEN'))
  })

  test('is checked like any id', () => {
    for (const named of ['', 'x'.repeat(65), 'é'.repeat(33), '\ud800'])
      expect(() => check({ viewer: named }, mayWriteAny)).toThrow(codeOf('ID_INVALID'))
    expect(check({ viewer: 'é'.repeat(32) }, mayWriteAny).viewer).toBe('é'.repeat(32))
  })
})

describe('the fields of a report', () => {
  test('an unknown business and an invalid id are refused', () => {
    expect(() => check({ business: 'vidoe' })).toThrow(codeOf('BUSINESS_UNKNOWN'))
    expect(() => check({ id: '' })).toThrow(codeOf('ID_INVALID'))
    expect(() => check({ id: 'x'.repeat(65) })).toThrow(codeOf('ID_INVALID'))
  })

  test('position and duration are whole numbers from 0 to 2^31 - 1', () => {
    for (const value of [-1, 1.5, 2 ** 31, Number.NaN]) {
      expect(() => check({ position: value })).toThrow(codeOf('POSITION_INVALID'))
      expect(() => check({ duration: value })).toThrow(codeOf('POSITION_INVALID'))
    }
    expect(check({ position: 2 ** 31 - 1, duration: 2 ** 31 - 1 }).record).toMatchObject({ position: 2 ** 31 - 1, duration: 2 ** 31 - 1 })
  })

  test('a device has at most 64 bytes, regardless of its number of characters', () => {
    expect(check({ device: 'x'.repeat(64) }).record.device).toHaveLength(64)
    expect(check({ device: 'é'.repeat(32) }).record.device).toHaveLength(32)
    expect(() => check({ device: 'x'.repeat(65) })).toThrow(codeOf('DEVICE_INVALID'))
    expect(() => check({ device: 'é'.repeat(33) })).toThrow(codeOf('DEVICE_INVALID'))
    expect(() => check({ device: '漢'.repeat(22) })).toThrow(codeOf('DEVICE_INVALID'))
  })

  test('viewedAt is a time after the epoch, and a time ahead of the clock counts as now', () => {
    expect(check().record.viewedAt).toBe(NOW)
    for (const viewedAt of [NOW + 1, NOW + 1e12]) expect(check({ viewedAt })).toMatchObject({ isNow: true, record: { viewedAt: NOW } })
    expect(check({ viewedAt: NOW - 1 })).toMatchObject({ isNow: false, record: { viewedAt: NOW - 1 } })
    for (const viewedAt of [0, -1, 1.5, Number.NaN, Number.MAX_SAFE_INTEGER + 1])
      expect(() => check({ viewedAt }), String(viewedAt)).toThrow(codeOf('VIEWED_AT_INVALID'))
  })

  test('viewedAt in seconds is refused instead of read as 1970, unless the clock itself is there', () => {
    const viewedAt = NOW / 1_000
    const message = `viewedAt ${viewedAt} is in seconds, or before March 1973: send milliseconds since 1970, or leave it out`
    expect(() => check({ viewedAt })).toThrow(expect.objectContaining({ code: 'VIEWED_AT_INVALID', message }))
    expect(() => check({ viewedAt: 99_999_999_999 })).toThrow(codeOf('VIEWED_AT_INVALID'))
    expect(check({ viewedAt: 100_000_000_000 }).record.viewedAt).toBe(100_000_000_000)
    expect(check({ viewedAt: 1 }, viewer, 1_000).record.viewedAt).toBe(1)
  })
})

describe('glances', () => {
  test('a position below glanceMax is a glance, and glanceMax itself is not', () => {
    expect(isGlance({ position: 4_999 })).toBe(true)
    expect(isGlance({ position: 5_000 })).toBe(false)
    expect(check({ position: 4_999 }).decisive).toBe(false)
    expect(check({ position: 5_000 }).decisive).toBe(true)
  })

  test('position 0 is a glance even if glanceMax is 0, and position 1 is not', () => {
    expect(isGlance({ business: 'comic', position: 0 })).toBe(true)
    expect(check({ business: 'comic', position: 0 }).decisive).toBe(false)
    expect(isGlance({ business: 'comic', position: 1 })).toBe(false)
  })

  test('a finished report is never a glance, however short it is', () => {
    expect(isGlance({ position: 950, duration: 1_000 })).toBe(false)
    expect(check({ position: 950, duration: 1_000 })).toMatchObject({ decisive: true, record: { finished: true } })
    expect(isGlance({ position: 949, duration: 1_000 })).toBe(true)
    expect(isGlance({ position: 100, finished: true })).toBe(false)
    expect(check({ position: 100, finished: true }).decisive).toBe(true)
    expect(isGlance({ position: 1_000, duration: 1_000, finished: false })).toBe(true)
  })

  test('an unknown duration does not mark a report as finished', () => {
    expect(check({ position: 0 }).record.finished).toBe(false)
    expect(check({ position: 60_000, duration: 0 }).record.finished).toBe(false)
  })

  test('under furthest no report is decisive, and the position determines its rank', () => {
    const write = check({ business: 'course', position: 40, duration: 100 })
    expect([write.decisive, write.record.rank]).toEqual([false, REAL + 40])
    expect(check({ business: 'course', position: 50, duration: 100 }).record.rank).toBe(REAL + 2 ** 41 + 50)
  })
})

describe('the day token', () => {
  const day = utcDayOf(NOW)
  test('skips the check if it matches; any other token does not', () => {
    expect(check().day).toBe(day)
    expect(check({ dayToken: dayTokenOf('7', utc(1), day) }).day).toBeUndefined()
    for (const dayToken of [dayTokenOf('8', utc(1), day), dayTokenOf('7', utc(2), day), dayTokenOf('7', utc(1), day - 1), ''])
      expect(check({ dayToken }).day).toBe(day)
  })

  test('belongs to the named viewer', () => {
    expect(check({ viewer: '8', dayToken: dayTokenOf('8', utc(1), day) }, mayWriteAny).day).toBeUndefined()
    expect(check({ viewer: '8', dayToken: dayTokenOf('7', utc(1), day) }, mayWriteAny).day).toBe(day)
  })
})

describe('list arguments', () => {
  test('may reach their bounds and not exceed them', () => {
    checkIds(Array.from({ length: IDS_MAX }, String))
    expect(() => checkIds(Array.from({ length: IDS_MAX + 1 }, String))).toThrow(codeOf('IDS_TOO_MANY'))
    expect(() => checkIds(['1', ''])).toThrow(codeOf('ID_INVALID'))
    checkInputCount(INPUTS_MAX, 'reports')
    expect(() => checkInputCount(INPUTS_MAX + 1, 'reports')).toThrow(codeOf('INPUTS_TOO_MANY'))
    for (const first of [1, FIRST_MAX]) checkFirst(first)
    for (const first of [0, -1, FIRST_MAX + 1]) expect(() => checkFirst(first)).toThrow(codeOf('FIRST_INVALID'))
  })

  test('of businesses are deduplicated, and mean all businesses if absent', () => {
    expect(checkBusinesses(undefined, businesses)).toEqual([1, 2, 3])
    expect(checkBusinesses(null, businesses)).toEqual([1, 2, 3])
    expect(checkBusinesses(['comic', 'video', 'comic'], businesses)).toEqual([2, 1])
    expect(() => checkBusinesses(['vidoe'], businesses)).toThrow(codeOf('BUSINESS_UNKNOWN'))
  })
})
