import { expect, test } from 'vitest'
import { HOUR_MS, regionOfShard } from '../../../core/time-ring.ts'
import type { RingLayout } from '../../../stores/seen-store.ts'
import { makeFolding } from '../../../subgraphs/feed-existence/folding.ts'

const REGIONS = 2
const SHAPE = { slots: 5, shards: 2 }
const OLD_SHAPE = { slots: 6, shards: 6 }

/** A ring in which nobody is: what is looked at is noted. */
function makeLookedAt() {
  let owned: readonly number[] = []
  let now = 1_000 * HOUR_MS
  let looked: { slot: number; shard: number }[] = []
  const layouts: RingLayout[] = [
    { ...OLD_SHAPE, since: 0 },
    { ...SHAPE, since: HOUR_MS },
  ]
  const folding = makeFolding(
    { now: () => now, after: () => expect.unreachable('a round waits for nothing') },
    {
      listRing(slot, shard) {
        looked.push({ slot, shard })
        return Promise.resolve([])
      },
      getRingLayouts: () => Promise.resolve(layouts),
    },
    () => Promise.reject(new Error('nobody is there to be folded')),
    () => owned,
    { shape: SHAPE, regions: REGIONS, settleMs: 0, keysMax: 10, foldsAtOnce: 2 },
    (error) => expect.unreachable(String(error)),
  )
  return {
    async hour(regions: readonly number[]): Promise<typeof looked> {
      owned = regions
      now += HOUR_MS
      looked = []
      await folding.round()
      return looked
    },
  }
}

/** How many places of shapes that nobody uses any more were looked at, by region. */
function oldPlaces(looked: readonly { slot: number; shard: number }[]): number[] {
  const old = looked.filter(({ slot, shard }) => slot >= SHAPE.slots || shard >= SHAPE.shards)
  return [0, 1].map((region) => old.filter(({ shard }) => regionOfShard(shard, REGIONS) === region).length)
}

// 6 slots of 3 shards each, without the 5 of the one shard that both shapes have.
const ALL = 13

test('a region that comes from a worker that is gone is walked once, under the shapes of old as well', async () => {
  const ring = makeLookedAt()
  expect(oldPlaces(await ring.hour([0]))).toEqual([ALL, 0])
  expect(oldPlaces(await ring.hour([0]))).toEqual([0, 0])
  expect(oldPlaces(await ring.hour([0, 1]))).toEqual([ALL, ALL])
  expect(oldPlaces(await ring.hour([0, 1]))).toEqual([0, 0])
  expect(oldPlaces(await ring.hour([0]))).toEqual([0, 0])
  expect(oldPlaces(await ring.hour([0, 1]))).toEqual([ALL, ALL])
})
