import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../core/random.ts'
import { hashSeen } from '../../../subgraphs/feed-existence/filter/hash.ts'
import { makeCandidateTable } from '../../../subgraphs/feed-existence/read/candidates.ts'

/** Few ids, so that duplicates occur: texts, integers, and similar ids in other characters. */
const anyId = fc.oneof(
  fc.integer({ min: 0, max: 60 }).map(String),
  fc.integer({ min: 0, max: 60 }).map((number) => `0${number}`),
  fc.integer({ min: 0, max: 30 }).map((number) => `BVxxxxxxxxxxxxxxxxxxxxx${number}`),
  fc.constantFrom('é', 'e\u0301', '９', '9223372036854775807', '9223372036854775808', '4294967296', '4294967297'),
)
const anyIds = fc.array(anyId, { maxLength: 200 })

describe('the table of candidates', () => {
  it('equals a set of the candidates, in their order, after any drops', () => {
    const tableOf = makeCandidateTable(seededRandom(3))
    fc.assert(
      fc.property(anyIds, fc.array(fc.tuple(anyIds, fc.boolean()), { maxLength: 4 }), (ids, drops) => {
        const table = tableOf(1, ids)
        const expected = new Set(ids)
        expect(table.hashes).toEqual(hashSeen(1, ids))
        for (const [known, isMap] of drops) {
          const before = expected.size
          for (const id of known) expected.delete(id)
          expect(table.drop(isMap ? new Map(known.map((id) => [id, 0])) : new Set(known))).toBe(before - expected.size)
        }
        expect(ids.filter((_, at) => table.isLeft(at))).toEqual([...expected])
      }),
      { numRuns: 1_000 },
    )
  })

  it('distinguishes candidates with equal hashes by their characters', () => {
    const [one, other] = ['5162550689792', '628630777037168']
    expect(hashSeen(1, [one])).toEqual(hashSeen(1, [other]))
    const table = makeCandidateTable(seededRandom(4))(1, [one, other, one])
    expect([0, 1, 2].map((at) => table.isLeft(at))).toEqual([true, true, false])
    expect(table.drop(new Set([other]))).toBe(1)
    expect([0, 1, 2].map((at) => table.isLeft(at))).toEqual([true, false, false])
  })

  it('has unpredictable places: each table draws two random numbers', () => {
    let drawn = 0
    const random = seededRandom(6)
    makeCandidateTable(() => (drawn++, random()))
    expect(drawn).toBe(2)
  })

  it('of a small call has no candidates of a larger call before it', () => {
    const tableOf = makeCandidateTable(seededRandom(5))
    const ids = Array.from({ length: 5_000 }, (_, index) => `id${index}`)
    tableOf(1, ids)
    const table = tableOf(1, ids.slice(0, 10))
    expect(ids.slice(0, 10).every((_, at) => table.isLeft(at))).toBe(true)
    expect(table.drop(new Set(ids.slice(5, 15)))).toBe(5)
    expect(tableOf(1, []).drop(new Set(ids))).toBe(0)
  })
})
