/** How the cache opens filters. The tests of the subgraph cover the effects on readers. */
import { describe, expect, test } from 'vitest'
import { makeFilterCache } from '../../../../subgraphs/feed-existence/read/filter-cache.ts'
import { seededRandom, type Random } from '../../../../core/random.ts'
import { addToFilter } from '../../../../subgraphs/feed-existence/filter/filter.ts'
import type { SeenHashes } from '../../../../subgraphs/feed-existence/filter/hash.ts'
import { monthOf } from '../../../../subgraphs/feed-existence/model/time-ring.ts'
import { makeSharedLookup } from '../../../../loaders/lookup/shared.ts'
import type { FilterKey, StoredFilter } from '../../../../subgraphs/feed-existence/stores/record-store.ts'
import { makeSteppedClock } from '../../../../harness/stepped-clock.ts'

const clock = makeSteppedClock()
const options = { bytesMax: 100_000_000, ttlMs: 3_600_000, monthsBefore: 3, futureMaxMs: 300_000 }

function open(filter: Buffer, damaged: (key: FilterKey) => boolean = () => false) {
  const unreadable: string[] = []
  const records = {
    async getFilters(keys: readonly FilterKey[]): Promise<(StoredFilter | undefined)[]> {
      return keys.map((key) => {
        if (key.month > monthOf(clock.now())) return undefined
        return { version: 1, filter: damaged(key) ? filter.subarray(1) : filter }
      })
    },
  }
  const cache = makeFilterCache(
    clock,
    records,
    (load) => makeSharedLookup(load, (viewer: string) => viewer, { callsMax: 4, keysMax: 25 }),
    options,
    (viewer) => void unreadable.push(viewer),
  )
  return { cache, unreadable }
}

function hashesOf(count: number, random: Random): SeenHashes {
  return new Uint32Array(2 * count).map(() => random() * 2 ** 32)
}

describe('cold viewers at the same time', () => {
  test('are answered one after the other, a few per turn of the event loop', async () => {
    const filter = addToFilter(undefined, hashesOf(5_000, seededRandom(1)), { rate: 0.0025 })
    const { cache } = open(filter)
    const answered = new Map<number, number>()
    let turn = 0
    let timer: NodeJS.Immediate | undefined
    const count = (): void => {
      turn++
      timer = setImmediate(count)
    }
    count()
    const viewers = Array.from({ length: 60 }, (_, id) => String(id))
    const all = await Promise.all(
      viewers.map(async (viewer) => {
        const { filters } = await cache.get(viewer, 1)
        answered.set(turn, (answered.get(turn) ?? 0) + 1)
        return filters.length
      }),
    )
    clearImmediate(timer)
    expect(all).toEqual(viewers.map(() => 4))
    // A turn starts at most one filter more than its share.
    const viewersOfTurn = (128 * 1024) / (4 * filter.length) + 1
    expect(filter.length * 4 * viewers.length).toBeGreaterThan(10 * 128 * 1024)
    expect(Math.max(...answered.values())).toBeLessThanOrEqual(Math.ceil(viewersOfTurn))
  })

  test('have shared filters opened once, and a damaged filter affects only its own viewer', async () => {
    const filter = addToFilter(undefined, hashesOf(10, seededRandom(1)), { rate: 0.0025 })
    const { cache, unreadable } = open(filter, ({ viewer, month }) => viewer === '8' && month === monthOf(clock.now()))
    const [first, second, other, last] = await Promise.all(['7', '7', '8', '9'].map((viewer) => cache.get(viewer, 1)))
    expect(second?.filters).toBe(first?.filters)
    expect([first, other, last].map((each) => [each?.filters.length, each?.unreadable])).toEqual([
      [4, 0],
      [3, 1],
      [4, 0],
    ])
    expect(unreadable).toEqual(['8'])
  })
})
