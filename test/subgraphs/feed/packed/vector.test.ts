import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  below,
  hasId,
  insertId,
  lengthOf,
  newestOf,
  packIds,
  removeId,
  subtract,
  union,
  unpackIds,
} from '../../../../subgraphs/feed/packed/vector.ts'

const LARGEST = '9223372036854775807'
/** Few small ids, so that repetitions occur, ids that differ in one half only, and the ends of the range. */
const id = fc.oneof(
  fc.nat({ max: 12 }).map(String),
  fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 3 })).map(([high, low]) => String((BigInt(high) << 32n) + BigInt(low) + 0x7ffffffen)),
  fc.constantFrom('0', LARGEST, '4294967295', '4294967296', '9007199254740993'),
)
const ids = fc.array(id, { maxLength: 40 })

function sorted(set: ReadonlySet<string>): string[] {
  return [...set].sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
}

describe('a vector', () => {
  it('has the distinct ids in ascending order', () => {
    fc.assert(
      fc.property(ids, (some) => {
        const vector = packIds(some)
        expect(unpackIds(vector)).toStrictEqual(sorted(new Set(some)))
        expect(lengthOf(vector)).toBe(new Set(some).size)
      }),
    )
  })

  it('has the order of ids in its bytes', () => {
    fc.assert(
      fc.property(ids, (some) => {
        const parts = unpackIds(packIds(some)).map((one) => packIds([one]))
        expect(parts.toSorted(Buffer.compare)).toStrictEqual(parts)
      }),
    )
  })

  it('does with ids what a set does', () => {
    fc.assert(
      fc.property(ids, ids, id, fc.nat({ max: 50 }), (some, others, one, count) => {
        const [a, b] = [packIds(some), packIds(others)]
        const [aSet, bSet] = [new Set(some), new Set(others)]
        expect(hasId(a, one)).toBe(aSet.has(one))
        expect(unpackIds(insertId(a, one))).toStrictEqual(sorted(new Set([...some, one])))
        expect(unpackIds(removeId(a, one))).toStrictEqual(sorted(aSet).filter((each) => each !== one))
        expect(unpackIds(union(a, b))).toStrictEqual(sorted(new Set([...aSet, ...bSet])))
        expect(unpackIds(subtract(a, b))).toStrictEqual(sorted(aSet).filter((each) => !bSet.has(each)))
        expect(unpackIds(below(a, one))).toStrictEqual(sorted(aSet).filter((each) => BigInt(each) < BigInt(one)))
        expect(unpackIds(below(a, undefined))).toStrictEqual(sorted(aSet))
        expect(unpackIds(newestOf(a, count))).toStrictEqual(count === 0 ? [] : sorted(aSet).slice(-count))
        expect(unpackIds(a)).toStrictEqual(sorted(aSet))
        expect(unpackIds(b)).toStrictEqual(sorted(bSet))
      }),
    )
  })

  it('with one id is its 8 bytes, big endian', () => {
    expect(packIds(['72623859790382856']).toString('hex')).toBe('0102030405060708')
  })
})
