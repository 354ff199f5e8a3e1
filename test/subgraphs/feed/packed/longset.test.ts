import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  LONGSET_HEADER_BYTES,
  SLOT_BYTES,
  buildLongset,
  longsetCount,
  longsetHas,
  longsetHash,
  longsetHeader,
  longsetIds,
  probesOf,
} from '../../../../subgraphs/feed/packed/longset.ts'

import { anyId } from '../../../support/marks.ts'

const id = fc.oneof(anyId, fc.nat({ max: 30 }).map(String), fc.constantFrom('0', '9223372036854775807', '9223372036854775808', '007'))
const ids = fc.array(id, { maxLength: 60 })

describe('a longset', () => {
  it('has the members of a set', () => {
    fc.assert(
      fc.property(ids, ids, (some, others) => {
        const set = buildLongset(some)
        const model = new Set(some)
        expect(longsetIds(set).sort()).toStrictEqual([...model].sort())
        expect(longsetCount(set)).toBe(model.size)
        for (const one of [...some, ...others]) expect(longsetHas(set, one)).toBe(model.has(one))
      }),
    )
  })

  it('finds a member within the probes that its header says, and no empty slot before it', () => {
    fc.assert(
      fc.property(ids, (some) => {
        const set = buildLongset(some)
        const { slots, probesMax } = longsetHeader(set)
        for (const one of some) {
          const contents = [...probesOf(one, slots)].map((slot) =>
            set.subarray(LONGSET_HEADER_BYTES + slot * SLOT_BYTES, LONGSET_HEADER_BYTES + (slot + 1) * SLOT_BYTES).toString('hex'),
          )
          const found = contents.indexOf(longsetHash(one).slot.toString('hex'))
          expect(found).toBeGreaterThanOrEqual(0)
          expect(found).toBeLessThan(probesMax)
          expect(contents.slice(0, found)).not.toContain('f'.repeat(16))
        }
      }),
    )
  })

  it('visits each slot once before it would visit one again', () => {
    for (const slots of [5, 7, 101, 4_001]) expect(new Set(probesOf('424242', slots)).size).toBe(slots)
  })

  it('needs few probes for 5,000 ids in sequence, spread, or with names', () => {
    const kinds: ((at: number) => string)[] = [(at) => String(at), (at) => String(at * 65_536 * 1_024), (at) => `name-${at}`]
    for (const kind of kinds) {
      const set = buildLongset(Array.from({ length: 5_000 }, (_, at) => kind(at)))
      expect(longsetHeader(set).slots).toBe(10_007)
      expect(longsetHeader(set).probesMax).toBeLessThan(32)
    }
  })

  it('keeps a name and an integer with the bytes of its hash apart', () => {
    const set = buildLongset(['alice'])
    const { slot } = longsetHash('alice')
    expect(longsetHas(set, slot.readBigUInt64BE().toString())).toBe(false)
    expect(longsetHas(set, (slot.readBigUInt64BE() & (2n ** 63n - 1n)).toString())).toBe(false)
  })

  it('refuses damaged bytes', () => {
    const set = buildLongset(['1', 'alice'])
    for (const damaged of [
      Buffer.alloc(0),
      set.subarray(0, 15),
      set.subarray(0, -1),
      Buffer.concat([set, Buffer.alloc(1)]),
      Buffer.alloc(64),
    ]) {
      expect(() => longsetIds(damaged)).toThrow(expect.objectContaining({ code: 'DATA_DAMAGED' }))
    }
  })
})
