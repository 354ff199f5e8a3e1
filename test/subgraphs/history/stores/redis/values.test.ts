import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ProgressRecord } from '../../../../../core/domain.ts'
import { rankOf } from '../../../../../subgraphs/history/model/merge.ts'
import { makeLayout, packMember, unpackMember } from '../../../../../subgraphs/history/stores/redis/keys.ts'
import { decodeRecord, encodeRecord } from '../../../../../subgraphs/history/stores/redis/values.ts'

const time = fc.oneof(fc.nat({ max: 5 }), fc.integer({ min: 1_600_000_000_000, max: 2_000_000_000_000 }))
const whole = fc.oneof(fc.nat({ max: 3 }), fc.maxSafeNat())
const amount = fc.oneof(fc.constantFrom(0, 63, 64, 127, 128, 2 ** 31 - 1), fc.nat({ max: 2 ** 31 - 1 }))
const id = fc.oneof(
  fc.maxSafeNat().map(String),
  fc.constantFrom('9223372036854775807', '9223372036854775808', '0', '007'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).filter((text) => Buffer.byteLength(text) <= 64 && text.isWellFormed()),
)

describe('stored values', () => {
  it('are read back unchanged', () => {
    const record = fc.record({
      ...{ viewedAt: time, since: time, rank: whole, version: whole, position: amount, duration: amount },
      ...{ device: fc.string({ unit: 'grapheme', maxLength: 10 }), finished: fc.boolean(), deleted: fc.constant(false) },
    })
    fc.assert(
      fc.property(record, (record) => {
        expect(decodeRecord(encodeRecord(record))).toEqual(record)
      }),
    )
  })

  it('are refused if they are cut before the device', () => {
    const record = { viewedAt: 5, since: 3, rank: 7, version: 9, position: 300, duration: 300, device: '', finished: false, deleted: false }
    const bytes = encodeRecord(record)
    for (let length = 0; length < bytes.length; length++) expect(() => decodeRecord(bytes.subarray(0, length))).toThrow(RangeError)
  })

  it('take 14 bytes for a tombstone, and 20 bytes and the device for a video', () => {
    const viewedAt = Date.UTC(2026, 0, 1)
    const version = viewedAt * 1024
    const tombstone: ProgressRecord = {
      viewedAt,
      since: viewedAt,
      rank: 0,
      version,
      position: 0,
      duration: 0,
      device: '',
      finished: false,
      deleted: true,
    }
    const video = { viewedAt, position: 754_000, finished: false, glance: false }
    const record: ProgressRecord = {
      ...tombstone,
      ...video,
      since: 0,
      rank: rankOf('newest', video),
      duration: 1_320_000,
      device: 'phone',
      deleted: false,
    }
    expect(encodeRecord(tombstone)).toHaveLength(14)
    expect(decodeRecord(encodeRecord(tombstone))).toEqual(tombstone)
    expect(encodeRecord(record)).toHaveLength(20 + 'phone'.length)
  })
})

describe('keys', () => {
  it('of dirty marks are read back unchanged', () => {
    const key = fc.record({ viewer: id, business: fc.integer({ min: 0, max: 65_535 }), oid: id })
    fc.assert(
      fc.property(key, (key) => {
        expect(unpackMember(packMember(key))).toEqual(key)
      }),
    )
  })

  it('of contents name their viewer, and no other key does', () => {
    const layout = makeLayout('a[b]', 100)
    const viewer = fc.oneof(id, fc.constantFrom('{x}c1:1', 'a\nb', ':', '}c'))
    fc.assert(
      fc.property(viewer, fc.integer({ min: 1, max: 65_535 }), (viewer, business) => {
        const region = layout.regionOf(viewer)
        expect(layout.contentsOf(layout.contents(region, viewer, business))).toEqual({ region, viewer, business })
        expect(layout.contentsOf(layout.timeline(region, viewer, business))).toBeUndefined()
        expect(layout.contentsOf(layout.settings(region, viewer))).toBeUndefined()
      }),
    )
  })
})
