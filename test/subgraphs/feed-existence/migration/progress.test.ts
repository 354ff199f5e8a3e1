import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import {
  decodeMark,
  encodeMark,
  isListing,
  isMark,
  listedBusiness,
  listingOf,
  lostPlaysOf,
  type MigrationMark,
} from '../../../../subgraphs/feed-existence/migration/progress.ts'

describe('the mark of a migrated viewer', () => {
  test('has its businesses and the counts of each', () => {
    const mark: MigrationMark = new Map([
      [1, { plays: 1_000_000, outside: 3, invalid: 0 }],
      [65_535, { plays: 0, outside: 0, invalid: 2 ** 40 }],
    ])
    expect(decodeMark(encodeMark(mark))).toEqual(mark)
    expect(decodeMark(encodeMark(new Map()))).toEqual(new Map())
  })

  test('that was emptied has the number of lost plays, and means not migrated', () => {
    const lost = new Map([
      [1, 300],
      [65_535, 2 ** 40],
    ])
    const emptied = encodeMark(new Map(), lost)
    expect([decodeMark(emptied), lostPlaysOf(emptied), isMark(emptied)]).toEqual([new Map(), lost, true])
    const half: MigrationMark = new Map([[1, { plays: 2, outside: 0, invalid: 0 }]])
    expect([decodeMark(encodeMark(half, lost)), lostPlaysOf(encodeMark(half, lost))]).toEqual([half, lost])
    expect([lostPlaysOf(encodeMark(half)), lostPlaysOf(undefined)]).toEqual([new Map(), new Map()])
    for (const broken of [emptied.subarray(0, -1), Buffer.concat([emptied, Buffer.of(0)]), Buffer.of()])
      expect([isMark(broken), decodeMark(broken).size, lostPlaysOf(broken).size]).toEqual([false, 0, 0])
  })

  test('that cannot be read means not migrated', () => {
    const bytes = encodeMark(new Map([[1, { plays: 300, outside: 0, invalid: 0 }]]))
    for (const broken of [Buffer.of(), bytes.subarray(0, -1), Buffer.concat([bytes, bytes]), Buffer.of(0xf1, 1, 2), Buffer.of(0x4d, 2, 0)])
      expect(decodeMark(broken).size).toBe(0)
    expect(decodeMark(undefined).size).toBe(0)
  })

  test('with extra bytes after its lists means not migrated, although its checksum is valid', () => {
    const bytes = encodeMark(new Map([[1, { plays: 300, outside: 2, invalid: 0 }]]))
    const longer = Buffer.concat([bytes, Buffer.of(0, 0)])
    longer.writeUInt32BE(crc32(longer.subarray(6), crc32(longer.subarray(0, 2))), 2)
    expect(decodeMark(longer)).toEqual(new Map())
  })

  test('with one flipped bit means not migrated', () => {
    const bytes = encodeMark(new Map([[1, { plays: 300, outside: 2, invalid: 0 }]]))
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const broken = Buffer.from(bytes)
      broken.writeUInt8(broken.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      expect(decodeMark(broken), `bit ${bit}`).toEqual(new Map())
    }
  })

  test('a listing names its business and is not a play', () => {
    const listing = listingOf('7', 3, 99)
    expect(listing).toEqual({ viewer: '7', business: 0, oid: '3', playedAt: 99 })
    expect([isListing(listing), listedBusiness(listing), isListing({ business: 3 })]).toEqual([true, 3, false])
  })
})
