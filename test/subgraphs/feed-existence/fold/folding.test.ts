import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { TidemarkError } from '../../../../core/errors.ts'
import { makeTurns } from '../../../../core/event-loop-yield.ts'
import { HOUR_MS, regionOfShard } from '../../../../subgraphs/feed-existence/model/time-ring.ts'
import type { RingLayout } from '../../../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeFolding } from '../../../../subgraphs/feed-existence/fold/folding.ts'

const REGIONS = 2
const SHAPE = { slots: 5, shards: 2 }
const OLD_SHAPE = { slots: 6, shards: 6 }
/** Each shard is listed, also if it turns out to be empty. */
const filledShards = (_: number, shards: readonly number[]) => Promise.resolve([...shards])

/** A ring without viewers that notes each look. */
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
      filledShards,
      listRing(slot, shard) {
        looked.push({ slot, shard })
        return Promise.resolve([])
      },
      getRingLayouts: () => Promise.resolve(layouts),
    },
    () => Promise.reject(new Error('no viewer is there to be folded')),
    () => owned,
    { shape: SHAPE, regions: REGIONS, settleMs: 0, keysMax: 10, foldsAtOnce: 2, nextTurn: makeTurns() },
    (error) => expect.unreachable(String(error)),
  )
  return {
    folded: () => folding.figures().foldedHour,
    async again(regions: readonly number[]): Promise<void> {
      owned = regions
      await folding.round()
    },
    async hour(regions: readonly number[]): Promise<typeof looked> {
      owned = regions
      now += HOUR_MS
      looked = []
      await folding.round()
      return looked
    },
  }
}

/** The number of looked-at places of old shapes, by region. */
function oldPlaces(looked: readonly { slot: number; shard: number }[]): number[] {
  const old = looked.filter(({ slot, shard }) => slot >= SHAPE.slots || shard >= SHAPE.shards)
  return [0, 1].map((region) => old.filter(({ shard }) => regionOfShard(shard, REGIONS) === region).length)
}

// 6 slots of 3 shards each, without the 5 of the one shard that both shapes have.
const ALL = 13

test('an hour is folded once no owned region has an unfolded shard, and never without an owned region', async () => {
  const ring = makeLookedAt()
  expect(ring.folded()).toBe(-1)
  await ring.hour([])
  expect(ring.folded()).toBe(-1)
  await ring.hour([0])
  expect(ring.folded()).toBe(1_001)
  await ring.hour([0, 1])
  expect(ring.folded()).toBe(1_002)
  await ring.hour([])
  expect(ring.folded()).toBe(1_002)
  await ring.again([0])
  expect(ring.folded()).toBe(1_003)
})

test('a region taken over from another worker is walked once, under the old shapes as well', async () => {
  const ring = makeLookedAt()
  expect(oldPlaces(await ring.hour([0]))).toEqual([ALL, 0])
  expect(oldPlaces(await ring.hour([0]))).toEqual([0, 0])
  expect(oldPlaces(await ring.hour([0, 1]))).toEqual([ALL, ALL])
  expect(oldPlaces(await ring.hour([0, 1]))).toEqual([0, 0])
  expect(oldPlaces(await ring.hour([0]))).toEqual([0, 0])
  expect(oldPlaces(await ring.hour([0, 1]))).toEqual([ALL, ALL])
})

const HOT_DOWN = new TidemarkError('HOT_STORE_UNAVAILABLE', 'the hot store does not answer')

/** A ring with one viewer in each shard. The viewer is named after the shard and stays in it. */
function makeFull(answers: (viewer: string) => boolean) {
  let now = 1_000 * HOUR_MS
  const asked: string[] = []
  const errors: unknown[] = []
  const folding = makeFolding(
    { now: () => now, after: () => expect.unreachable('a round waits for nothing') },
    {
      filledShards,
      listRing: (slot, shard) => Promise.resolve([`${slot}/${shard}`]),
      getRingLayouts: () => Promise.resolve([]),
    },
    (_, viewers) => {
      asked.push(...viewers)
      return viewers.every(answers)
        ? Promise.resolve({ plays: 1, writes: 1, refused: 0, closed: 0, quarantined: 0, failed: [] })
        : Promise.reject(HOT_DOWN)
    },
    () => [0, 1],
    { shape: OLD_SHAPE, regions: REGIONS, settleMs: 0, keysMax: 10, foldsAtOnce: 1, nextTurn: makeTurns() },
    (error) => errors.push(error),
  )
  return {
    ...{ folding, errors },
    later: () => void (now += HOUR_MS),
    /** The visited viewers of a round, and its result. */
    async round(): Promise<{ asked: string[]; ended: unknown }> {
      asked.length = 0
      const ended = await folding.round().catch((error: unknown) => error)
      return { asked: [...asked], ended }
    },
  }
}

test.each([
  ['shards without viewers are not listed', (shards: readonly number[]) => Promise.resolve(shards.filter((shard) => shard === 3)), ['3']],
  [
    'all shards are listed if the store does not say which of them have viewers',
    () => Promise.reject(HOT_DOWN),
    ['0', '2', '4', '1', '3', '5'],
  ],
])('%s', async (_, filled, expected) => {
  const listed: string[] = []
  const folding = makeFolding(
    { now: () => 1_000 * HOUR_MS, after: () => expect.unreachable('a round waits for nothing') },
    {
      filledShards: (_slot, shards) => filled(shards),
      listRing(slot, shard) {
        if (slot === 0) listed.push(String(shard))
        return Promise.resolve([])
      },
      getRingLayouts: () => Promise.resolve([]),
    },
    () => expect.unreachable('no viewer is there to be folded'),
    () => [0, 1],
    { shape: OLD_SHAPE, regions: REGIONS, settleMs: 0, keysMax: 5, foldsAtOnce: 1, nextTurn: makeTurns() },
    (error) => expect.unreachable(String(error)),
  )
  await folding.round()
  expect(listed).toEqual(expected)
  expect(folding.figures()).toMatchObject({ shards: (OLD_SHAPE.slots - 1) * OLD_SHAPE.shards, shardsLeft: 0 })
})

test('shards with a failing store delay no others, for any number and order of them', async () => {
  const bad = new Set([0, 1, 2, 3, 5].flatMap((slot) => [0, 2, 4, 1].map((shard) => `${slot}/${shard}`)))
  const { folding, round } = makeFull((viewer) => !bad.has(viewer))
  const found = new Set<string>()
  for (let turn = 0; turn < 12; turn++) {
    const { asked, ended } = await round()
    expect(ended).toBe(HOT_DOWN)
    for (const viewer of asked) found.add(viewer)
    expect(new Set(asked).size).toBe(asked.length)
  }
  const { shards, slots } = OLD_SHAPE
  // The slot of the current hour is skipped.
  expect(folding.figures()).toMatchObject({ shards: (slots - 1) * shards - bad.size, shardsLeft: bad.size, foldedHour: -1 })
  expect(found.size).toBe((slots - 1) * shards)
  bad.clear()
  expect(await round()).toMatchObject({ ended: undefined })
  expect(folding.figures()).toMatchObject({ shardsLeft: 0, foldedHour: folding.figures().runHour - 1 })
})

test('a store that fails for every viewer is asked a few times per round', async () => {
  const { round } = makeFull(() => false)
  for (let turn = 0; turn < 3; turn++) expect((await round()).asked).toHaveLength(3)
})

test('a fold with an unexpected error leaves only the affected viewer staged, and folds the others of the shard', async () => {
  const failing = new Set(['3', '7'])
  const ring = new Set(Array.from({ length: 12 }, (_, at) => String(at)))
  const errors: unknown[] = []
  let now = 1_000 * HOUR_MS
  const folding = makeFolding(
    { now: () => now, after: () => expect.unreachable('a round waits for nothing') },
    {
      filledShards,
      listRing: (slot, shard, limit) => Promise.resolve(slot === 0 && shard === 0 ? [...ring].slice(0, limit) : []),
      getRingLayouts: () => Promise.resolve([]),
    },
    (_, viewers) => {
      if (viewers.some((viewer) => failing.has(viewer))) return Promise.reject(new RangeError('out of range'))
      for (const viewer of viewers) ring.delete(viewer)
      return Promise.resolve({ plays: viewers.length, writes: 1, refused: 0, closed: 0, quarantined: 0, failed: [] })
    },
    () => [0, 1],
    { shape: OLD_SHAPE, regions: REGIONS, settleMs: 0, keysMax: 5, foldsAtOnce: 1, nextTurn: makeTurns() },
    (error) => errors.push(error),
  )
  await folding.round()
  expect([...ring]).toEqual(['3', '7'])
  expect(folding.figures()).toMatchObject({ shardsLeft: 0, shardsFailed: 0, viewers: 10, viewersFailed: 2, plays: 10 })
  expect(errors.map(String)).toEqual(['RangeError: out of range', 'RangeError: out of range'])
  failing.clear()
  now += HOUR_MS
  await folding.round()
  now += HOUR_MS
  for (let lap = 0; lap < 6; lap++, now += HOUR_MS) await folding.round()
  expect([...ring]).toEqual([])
})

test('more failing viewers than a page at the front of a shard do not block the viewers behind them', async () => {
  const keysMax = 5
  const viewers = Array.from({ length: 4 * keysMax }, (_, at) => String(at))
  const failing = new Set(viewers.slice(0, 2 * keysMax + 1))
  const ring = new Set(viewers)
  const errors: unknown[] = []
  const folding = makeFolding(
    { now: () => 1_000 * HOUR_MS, after: () => expect.unreachable('a round waits for nothing') },
    {
      filledShards,
      listRing: (slot, shard, limit) => Promise.resolve(slot === 0 && shard === 0 ? [...ring].slice(0, limit) : []),
      getRingLayouts: () => Promise.resolve([]),
    },
    (_, some) => {
      expect(some.length).toBeLessThanOrEqual(keysMax)
      const failed = some.filter((viewer) => failing.has(viewer)).map((viewer) => ({ viewer, error: new Error(viewer) }))
      for (const viewer of some) if (!failing.has(viewer)) ring.delete(viewer)
      return Promise.resolve({ plays: some.length - failed.length, writes: 1, refused: 0, closed: 0, quarantined: 0, failed })
    },
    () => [0, 1],
    { shape: OLD_SHAPE, regions: REGIONS, settleMs: 0, keysMax, foldsAtOnce: 1, nextTurn: makeTurns() },
    (error) => errors.push(error),
  )
  await folding.round()
  expect([...ring]).toEqual([...failing])
  // Each failing viewer was tried once.
  expect(errors.map((error) => (error as Error).message)).toEqual([...failing])
  expect(folding.figures()).toMatchObject({ shardsLeft: 0, viewers: viewers.length - failing.size, viewersFailed: failing.size })
})

test('shards that move to another worker during a round are left to it, and are folded here if they return', async () => {
  const owned = new Set([0, 1])
  const looked: number[] = []
  const folding = makeFolding(
    { now: () => 1_000 * HOUR_MS, after: () => expect.unreachable('a round waits for nothing') },
    {
      filledShards,
      listRing(_, shard) {
        looked.push(regionOfShard(shard, REGIONS))
        // The first look is the last one that finds region 1 here.
        owned.delete(1)
        return Promise.resolve([])
      },
      getRingLayouts: () => Promise.resolve([]),
    },
    () => expect.unreachable('no viewer is there to be folded'),
    () => [...owned],
    { shape: OLD_SHAPE, regions: REGIONS, settleMs: 0, keysMax: 5, foldsAtOnce: 1, nextTurn: makeTurns() },
    (error) => expect.unreachable(String(error)),
  )
  const places = ((OLD_SHAPE.slots - 1) * OLD_SHAPE.shards) / REGIONS
  await folding.round()
  expect(looked).toEqual(Array.from({ length: places }, () => 0))
  expect(folding.figures()).toMatchObject({ shards: places, shardsLeft: places })
  owned.add(1)
  looked.length = 0
  await folding.round()
  expect(looked).toEqual([1])
})

test('a round over many empty shards yields to the event loop between them', async () => {
  const ring = makeFolding(
    { now: () => 1_000 * HOUR_MS, after: () => expect.unreachable('a round waits for nothing') },
    { filledShards, listRing: () => Promise.resolve([]), getRingLayouts: () => Promise.resolve([]) },
    () => Promise.reject(new Error('no viewer is there to be folded')),
    () => [0],
    { shape: { slots: 25, shards: 400 }, regions: 1, settleMs: 0, keysMax: 10, foldsAtOnce: 2, nextTurn: makeTurns() },
    (error) => expect.unreachable(String(error)),
  )
  let turns = 0
  const looking = { isOver: false }
  const watched = (async () => {
    for (; !looking.isOver; turns++) await setImmediate()
  })()
  await ring.round()
  looking.isOver = true
  await watched
  expect(ring.figures().shards).toBeGreaterThan(9_000)
  expect(turns).toBeGreaterThan(200)
})
