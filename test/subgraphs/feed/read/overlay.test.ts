import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { below, lengthOf, newestOf, packIds, packOne, partOf, unpackIds } from '../../../../subgraphs/feed/packed/vector.ts'
import { combine } from '../../../../subgraphs/feed/read/overlay.ts'
import { LACKS_BOTH, LACKS_HOT_STORE, LACKS_RECORD_STORE } from '../../../../subgraphs/feed/packed/section.ts'

const id = fc.integer({ min: 1, max: 40 }).map(String)
const ids = fc.array(id, { maxLength: 30 })
const before = fc.option(id, { nil: undefined })
const limit = fc.integer({ min: 1, max: 6 })
const HORIZON = packOne('20')

const isBelow = (one: string, bound: string | undefined): boolean => bound === undefined || Number(one) < Number(bound)
const newestFirst = (all: Iterable<string>): string[] => [...new Set(all)].sort((a, b) => Number(b) - Number(a))

describe('a section of both stores', () => {
  it('has exactly the ids of the list from its floor to its bound, and reaches the end if there is no more', () => {
    fc.assert(
      fc.property(ids, ids, ids, before, limit, fc.boolean(), (persisted, added, gone, bound, count, isWhole) => {
        const stored = below(packIds(persisted), bound)
        const part = { ids: newestOf(stored, count), hasMore: lengthOf(stored) > count }
        const removed = gone.filter((one) => !added.includes(one))
        const hot = partOf(packIds(added), isWhole ? undefined : { before: bound, limit: count })
        const changes = { ...hot, removed: packIds(removed), version: 1 }
        const section = combine(changes, part, { before: bound, limit: count, horizon: HORIZON })
        const list = newestFirst([...persisted, ...added]).filter((one) => isBelow(one, bound) && !removed.includes(one))
        const floor = section.floor === undefined ? '0' : (unpackIds(section.floor)[0] as string)
        expect(unpackIds(section.ids).toReversed()).toStrictEqual(list.filter((one) => !isBelow(one, floor)))
        expect(section.hasMore).toBe(section.floor !== undefined)
        expect(section.lacks).toBe(0)
        if (section.hasMore) expect(isBelow(floor, bound)).toBe(true)
      }),
      { numRuns: 3_000 },
    )
  })

  it('without the record store has what the hot store keeps, and no older id', () => {
    const changes = { added: packIds(['30', '25', '5']), hasMore: false, removed: packIds([]), version: 1 }
    const section = combine(changes, undefined, { before: undefined, limit: 10, horizon: HORIZON })
    expect(section).toStrictEqual({ ids: packIds(['30', '25']), hasMore: true, floor: HORIZON, lacks: LACKS_RECORD_STORE })
  })

  it('without the record store ends above the horizon if the hot store gave only a part', () => {
    const changes = { added: packIds(['35', '30']), hasMore: true, removed: packIds([]), version: 1 }
    const section = combine(changes, undefined, { before: undefined, limit: 10, horizon: HORIZON })
    expect(section).toStrictEqual({ ids: packIds(['35', '30']), hasMore: true, floor: packOne('30'), lacks: LACKS_RECORD_STORE })
  })

  it('without the hot store has what is persisted', () => {
    const section = combine(undefined, { ids: packIds(['30', '5']), hasMore: false }, { before: undefined, limit: 10, horizon: HORIZON })
    expect(section).toStrictEqual({ ids: packIds(['30', '5']), hasMore: false, floor: undefined, lacks: LACKS_HOT_STORE })
  })

  it('without both has nothing, and may go on anywhere', () => {
    const { ids, hasMore, lacks } = combine(undefined, undefined, { before: undefined, limit: 10, horizon: HORIZON })
    expect([ids.length, hasMore, lacks]).toStrictEqual([0, true, LACKS_BOTH])
  })
})
