import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unpackId } from '../../../../core/keys.ts'
import { makeSteppedClock } from '../../../../harness/stepped-clock.ts'
import { encodeSection } from '../../../../subgraphs/feed/packed/section.ts'
import { packIds, packOne } from '../../../../subgraphs/feed/packed/vector.ts'
import { makeIdColumns, makeNewestIds, type NewestIds } from '../../../../subgraphs/feed/read/newest-ids.ts'

const headOf = (ids: readonly string[], hasMore = false): Buffer =>
  encodeSection({ ids: packIds(ids), hasMore, floor: packOne('1'), lacks: 0 })

/** The id of each key, "0" for none, or undefined if it is not known. */
function ask(newest: NewestIds, keys: readonly string[], floor = 0): (string | undefined)[] {
  const ids = makeIdColumns(keys.length)
  const unknown = newest.lookUp(keys, () => floor, ids)
  return keys.map((_, place) => {
    const packed = Buffer.alloc(8)
    packed.writeUInt32BE(ids.highs[place] as number, 0)
    packed.writeUInt32BE(ids.lows[place] as number, 4)
    return unknown.includes(place) ? undefined : unpackId(packed, 0)
  })
}

describe('the newest ids of authors', () => {
  it('are those of the noted heads, or their floor if all ids of a head were deleted', () => {
    const newest = makeNewestIds(makeSteppedClock())
    newest.note('ha', { value: headOf(['3', '4294967296', '9']), version: 1, endsAt: Infinity })
    newest.note('hb', { value: headOf([]), version: 1, endsAt: Infinity })
    newest.note('hc', { value: headOf(['7', '8'], true), version: 1, endsAt: Infinity })
    newest.note('he', {
      value: encodeSection({ ids: packIds([]), hasMore: true, floor: packOne('6'), lacks: 0 }),
      version: 1,
      endsAt: Infinity,
    })
    expect(ask(newest, ['hc', 'hb', 'ha', 'hd', 'he'])).toStrictEqual(['8', '0', '4294967296', undefined, '6'])
    expect(newest.figures()).toStrictEqual({ hits: 4, misses: 1 })
  })

  it('are not known below the lowest acceptable version, after their end, or if the head was not in a pool', () => {
    const clock = makeSteppedClock()
    const newest = makeNewestIds(clock)
    newest.note('ha', { value: headOf(['5']), version: 10, endsAt: clock.now() + 100 })
    newest.note('hb', { value: headOf(['5']), version: 10 })
    expect(ask(newest, ['ha', 'hb'], 10)).toStrictEqual(['5', undefined])
    expect(ask(newest, ['ha'], 11)).toStrictEqual([undefined])
    clock.advance(100)
    expect(ask(newest, ['ha'], 10)).toStrictEqual([undefined])
  })

  it('are found in the older generation if the newer one has them in a version that is too low', () => {
    const newest = makeNewestIds(makeSteppedClock(), 2)
    newest.note('ha', { value: headOf(['7']), version: 9, endsAt: Infinity })
    newest.note('hb', { value: headOf(['1']), version: 9, endsAt: Infinity })
    newest.note('ha', { value: headOf(['7']), version: 9, endsAt: Infinity })
    newest.note('hc', { value: headOf(['1']), version: 9, endsAt: Infinity })
    newest.note('ha', { value: headOf(['6']), version: 5, endsAt: Infinity })
    expect(ask(newest, ['ha'], 9)).toStrictEqual(['7'])
    expect(ask(newest, ['ha'], 5)).toStrictEqual(['6'])
  })

  it('are forgotten in order of age, and never exchanged between authors', () => {
    const key = fc.nat({ max: 30 }).map((author) => `h${author}`)
    fc.assert(
      fc.property(fc.array(fc.tuple(key, fc.integer({ min: 1, max: 2 ** 40 })), { maxLength: 100 }), (notes) => {
        const newest = makeNewestIds(makeSteppedClock(), 8)
        const last = new Map<string, string>()
        for (const [author, id] of notes) {
          newest.note(author, { value: headOf([String(id)]), version: 1, endsAt: Infinity })
          last.delete(author)
          last.set(author, String(id))
        }
        const known = ask(newest, [...last.keys()])
        ;[...last.values()].forEach((id, at) => expect([id, undefined]).toContain(known[at]))
        expect(known.slice(-8)).toStrictEqual([...last.values()].slice(-8))
      }),
    )
  })
})
