import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTidemarkError } from '../../../../core/errors.ts'
import { blockHeader, compareEntries, decodeBlock, encodeBlock, findInBlock } from '../../../../subgraphs/thumbup/archive/block.ts'
import type { ArchivedMark } from '../../../../subgraphs/thumbup/archive/block.ts'
import { wantIds } from '../../../../subgraphs/thumbup/archive/block-ids.ts'
import { comparePlaces } from '../../../../subgraphs/history/model/places.ts'
import { anyEntries, anyId } from '../../../support/marks.ts'

function codeOf(run: () => unknown): string | undefined {
  try {
    run()
  } catch (error) {
    return isTidemarkError(error) ? error.code : String(error)
  }
  return undefined
}

function readers(block: Buffer): (() => unknown)[] {
  return [() => decodeBlock(block), () => blockHeader(block), () => findInBlock(block, wantIds(['1']))]
}

describe('a block of marks', () => {
  it('returns its entries newest first and in the order of places, for any input order', () => {
    fc.assert(
      fc.property(anyEntries, (entries) => {
        const decoded = decodeBlock(encodeBlock(entries))
        const place = ({ id, markedAt }: ArchivedMark) => ({ oid: id, viewedAt: markedAt, business: 1 })
        expect(decoded).toStrictEqual(entries.toSorted((a, b) => comparePlaces(place(a), place(b))))
      }),
      { numRuns: 3_000 },
    )
  })

  it('has the same bytes for the same marks in any order', () => {
    fc.assert(
      fc.property(anyEntries, (entries) => {
        expect(encodeBlock(entries.toReversed())).toEqual(encodeBlock(entries))
      }),
    )
  })

  it('reads its counts and times without decoding the entries', () => {
    fc.assert(
      fc.property(anyEntries, (entries) => {
        const times = entries.map((entry) => entry.markedAt)
        expect(blockHeader(encodeBlock(entries))).toStrictEqual({
          format: 1,
          likes: entries.filter((entry) => entry.mark === 'LIKE').length,
          dislikes: entries.filter((entry) => entry.mark === 'DISLIKE').length,
          newestAt: Math.max(...times),
          oldestAt: Math.min(...times),
        })
      }),
    )
  })

  it('finds the ids it has and no others', () => {
    fc.assert(
      fc.property(anyEntries, fc.array(anyId), fc.nat(), (entries, others, seed) => {
        const asked = [...entries.filter((_, i) => ((seed >>> (i % 31)) & 1) === 1).map((entry) => entry.id), ...others]
        const expected = entries.filter((entry) => asked.includes(entry.id)).toSorted(compareEntries)
        expect(findInBlock(encodeBlock(entries), wantIds(asked))).toStrictEqual(expected)
      }),
      { numRuns: 1_000 },
    )
  })

  it('is refused with any byte changed, missing or added', () => {
    fc.assert(
      fc.property(anyEntries, fc.integer({ min: 1, max: 255 }), (entries, change) => {
        const block = encodeBlock(entries)
        for (let i = 0; i < block.length; i++) {
          const changed = Buffer.from(block)
          changed[i] = (changed[i] as number) ^ change
          for (const read of [...readers(changed), ...readers(block.subarray(0, i))]) expect(codeOf(read)).toBe('DATA_DAMAGED')
        }
        for (const read of readers(Buffer.concat([block, Buffer.of(change)]))) expect(codeOf(read)).toBe('DATA_DAMAGED')
      }),
      { numRuns: 30 },
    )
  })

  it('with a newer format has a different error than a damaged block', () => {
    const block = encodeBlock([{ id: '7', mark: 'LIKE', markedAt: 5 }])
    block[0] = 0xb2
    for (const read of readers(block)) expect(codeOf(read)).toBe('DATA_DAMAGED')
    block.writeUInt32BE(crc32(block.subarray(5), 0xb2), 1)
    for (const read of readers(block)) expect(codeOf(read)).toBe('DATA_INCOMPATIBLE')
  })

  it('with a valid checksum and invalid columns is refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), fc.nat({ max: 7 }), (noise, claims) => {
        const claim = claims === 0 ? [] : [claims, 20, 3, 9, 1, 9]
        const block = Buffer.concat([Buffer.of(0xb1, 0, 0, 0, 0, ...claim), noise])
        block.writeUInt32BE(crc32(block.subarray(5), 0xb1), 1)
        for (const read of readers(block)) expect([undefined, 'DATA_DAMAGED']).toContain(codeOf(read))
      }),
      { numRuns: 3_000 },
    )
  })

  it('is refused if its header and its columns have different times', () => {
    const block = encodeBlock([
      { id: '7', mark: 'LIKE', markedAt: 5 },
      { id: '8', mark: 'LIKE', markedAt: 4 },
    ])
    expect([...block.subarray(5)]).toEqual([1, 2, 0, 5, 1, 1, 1, 14, 2])
    block[10] = 2
    block.writeUInt32BE(crc32(block.subarray(5), 0xb1), 1)
    expect(codeOf(() => decodeBlock(block))).toBe('DATA_DAMAGED')
  })

  it('refuses an empty list, a duplicate id, an empty id and an invalid time', () => {
    const entry: ArchivedMark = { id: '7', mark: 'LIKE', markedAt: 5 }
    expect(() => encodeBlock([])).toThrow('at least one')
    expect(() => encodeBlock([entry, { ...entry, markedAt: 6 }])).toThrow('each id once')
    expect(codeOf(() => encodeBlock([{ ...entry, id: '' }]))).toBe('ID_INVALID')
    for (const markedAt of [-1, 0.5, Number.NaN, 2 ** 53]) expect(() => encodeBlock([{ ...entry, markedAt }])).toThrow('whole milliseconds')
  })

  it('packs text of few distinct characters into the bits that number them', () => {
    const bytesPerId = (characters: string) => {
      const tail = (i: number) => Array.from({ length: 20 }, (_, place) => characters[(i * 7 + place * 11) % characters.length]).join('')
      const entries = Array.from({ length: 1_000 }, (_, i): ArchivedMark => {
        return { id: `v:${String(i).padStart(4, '0')}${tail(i)}`, mark: 'LIKE', markedAt: 1_000 - i }
      })
      expect(decodeBlock(encodeBlock(entries))).toStrictEqual(entries)
      return encodeBlock(entries).length / 1_000
    }
    // 24 characters after the prefix and a byte of time, besides the shared part of the block.
    expect(bytesPerId('01234')).toBeLessThan(1 + 24 * (4 / 8) + 0.1)
    expect(bytesPerId('0123456789abcdefghijklmnopqrstuv')).toBeLessThan(1 + 24 * (5 / 8) + 0.1)
    const all = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).join('')
    expect(bytesPerId(all)).toBeLessThan(1 + 24 * (7 / 8) + 0.2)
  })

  it('has the layout of its docstring', () => {
    const block = encodeBlock([
      { id: '300', mark: 'LIKE', markedAt: 9_000 },
      { id: 'ab', mark: 'DISLIKE', markedAt: 7_000 },
      { id: '4503599627370496', mark: 'LIKE', markedAt: 6_000 },
      { id: 'ac', mark: 'DISLIKE', markedAt: 6_000 },
    ])
    const low = 599_627_370_496
    const body = [
      ...[7, 2, 2, 0xa8, 0x46, 0xe8, 0x07, 3],
      ...[0 | (2 << 2) | (1 << 4) | (2 << 6), 0b1010, 2, 1, 0],
      ...[0xd8, 0x04],
      ...[0xae, 0x46, ...Array.from({ length: 5 }, (_, i) => Math.floor(low / 256 ** i) % 256)],
      ...[1, 0x61, 1, 0, 0x62, 0x63],
    ]
    expect(block.subarray(5)).toEqual(Buffer.from(body))
    expect(block[0]).toBe(0xb1)
    expect(block.readUInt32BE(1)).toBe(crc32(Buffer.from(body), 0xb1))
  })
})
