/** Bugs that the simulator found in the real code of thumbup, each as the shortest order of events that shows it. */
import { expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import type { Mark, MarkKey, OwnerSum } from '../../../core/domain.ts'
import { makeFills } from '../../../loaders/mark-fills.ts'
import { publishOutbox } from '../../../subgraphs/thumbup/persist/outbox.ts'
import { persistMarks, type MarkPersistStores } from '../../../subgraphs/thumbup/persist/persist.ts'
import { makeCountReads } from '../../../loaders/counts.ts'
import { makeLikersRead } from '../../../subgraphs/thumbup/read/likers.ts'
import { startReconciler } from '../../../subgraphs/thumbup/persist/reconciler.ts'
import { openModelMarkRecords } from '../../../harness/models/thumbup/record-store-model.ts'
import { makeMarkRecordsState } from '../../../harness/models/thumbup/record-rows.ts'
import { makeMarkStoreState } from '../../../harness/models/thumbup/hot-store-model.ts'
import { markOf } from '../../contracts/thumbup/marks.ts'
import { later } from '../../contracts/reports.ts'
import { openGate } from '../../../harness/simulation/gate.ts'
import { makeCountCacheState, openModelCountCache } from '../../../harness/simulation/thumbup/model-count-cache.ts'
import { makeMarkEventsState, openModelMarkEvents } from '../../../harness/simulation/thumbup/model-events.ts'
import { openModelMarkStore } from '../../../harness/simulation/thumbup/model-store.ts'

const SUBJECT = { business: 1, oid: 'a' }
const OWNER = { business: 1, owner: 'o' }
const OPTIONS = { capOf: () => 10, keysMax: 100, deleted: new Set<number>(), isOurs: () => true }

function openStores() {
  const cacheState = makeCountCacheState()
  const hotState = makeMarkStoreState(1)
  const stores: MarkPersistStores = {
    hot: openModelMarkStore(hotState, openGate),
    cache: openModelCountCache(cacheState, openGate),
    records: openModelMarkRecords(makeMarkRecordsState()),
    events: openModelMarkEvents(makeMarkEventsState(), openGate),
  }
  return { stores, cacheState, hotState }
}

/** Marks the subject, and persists the mark with these stores. */
async function mark(stores: MarkPersistStores, viewer: string, what: Mark, errors: unknown[] = []): Promise<MarkKey> {
  const key = { viewer, ...SUBJECT }
  const now = later(1_000)
  await stores.hot.putMarks([markOf(viewer, SUBJECT.oid, what, now, { blind: true })], { now, cap: 10 })
  await persistMarks(stores, [key], [], OPTIONS, (error) => errors.push(error))
  return key
}

async function ownerSum(stores: MarkPersistStores): Promise<number | undefined> {
  const [sum] = await stores.cache.getOwnerSums([OWNER])
  return sum?.likes
}

async function likersFor(
  viewer: string | undefined,
  { hot, cache, records }: MarkPersistStores,
): Promise<string[] | null | undefined | Error> {
  const counts = makeCountReads(systemClock, Math.random, cache, records, { hotTtlMs: 0, hotBytesMax: 65_536, isCacheDown: () => false })
  const fills = makeFills(hot, records, OPTIONS.capOf, () => undefined)
  const read = makeLikersRead(systemClock, { hot, fills, cache, records, counts })
  const [page] = await read([{ subject: SUBJECT, viewer, before: undefined, first: 10 }], new Set())
  return page == null || page instanceof Error ? page : page.entries.map(({ id }) => id)
}

// Seed 2.
it('a viewer who likes again is at the top of the likers for all viewers, although the counts are unchanged', async () => {
  const { stores } = openStores()
  const likers = () => likersFor(undefined, stores)
  await mark(stores, '1', 'LIKE')
  await mark(stores, '2', 'LIKE')
  expect(await likers()).toEqual(['2', '1'])
  await mark(stores, '1', 'LIKE')
  expect(await likers()).toEqual(['1', '2'])
})

// Seed 602168.
it('a viewer forgotten by the hot store is among the likers, although the cache was down when the like was counted', async () => {
  const { stores, hotState } = openStores()
  expect(await likersFor('2', stores)).toEqual([])
  const down = { ...stores, cache: { ...stores.cache, putCounts: () => Promise.reject(new Error('the cache is down')) } }
  await mark(down, '1', 'LIKE')
  hotState.forgetIdle(() => true)
  expect(await likersFor('2', stores)).toEqual([])
  expect(await likersFor('1', stores)).toEqual(['1'])
})

// Seed 58.
it('a change of owner reaches the cache although the process died, or the cache was down, right after it', async () => {
  const { stores } = openStores()
  await stores.records.registerSubjects([{ ...SUBJECT, owner: OWNER.owner }])
  await mark(stores, '1', 'LIKE')
  expect(await ownerSum(stores)).toBe(1)
  await stores.records.registerSubjects([{ ...SUBJECT, owner: 'another' }])
  expect(await ownerSum(stores)).toBe(1)
  expect(await publishOutbox(stores, () => true)).toBe(1)
  expect(await ownerSum(stores)).toBe(0)
  expect(await stores.records.listOutbox(10)).toEqual([])
})

// Seed 69.
it('a waiting outbox entry does not become the newest in a cache that has lost everything since', async () => {
  const { stores, cacheState } = openStores()
  await stores.records.registerSubjects([{ ...SUBJECT, owner: OWNER.owner }])
  const down = { ...stores, events: { ...stores.events, appendEvents: () => Promise.reject(new Error('the log is down')) } }
  await mark(down, '1', 'LIKE')
  await mark(stores, '1', 'NONE')
  cacheState.lose()
  expect(await publishOutbox(stores, () => true)).toBe(1)
  expect(await stores.cache.getCountsMany([SUBJECT])).toEqual([{ likes: 0, dislikes: 0, version: 2 }])
  expect(await ownerSum(stores)).toBe(0)
})

// Seed 774.
it('the reconciler detects a sum of likes in the cache that is older than the record store', async () => {
  const { stores, cacheState } = openStores()
  await stores.records.registerSubjects([{ ...SUBJECT, owner: OWNER.owner }])
  await mark(stores, '1', 'LIKE')
  await mark(stores, '2', 'LIKE')
  cacheState.lose()
  const late: OwnerSum = { ...OWNER, likes: 1, version: 1 }
  await stores.cache.putOwnerSums([late])
  const reconciler = startReconciler(
    systemClock,
    stores,
    () => true,
    { reconcileEveryMs: 1, businesses: [1] },
    () => undefined,
  )
  await expect.poll(() => ownerSum(stores)).toBe(2)
  await reconciler.stop()
})

// Seed 596.
it('a step whose refresh of counts fails ends when its refresh of sums has ended too', async () => {
  const { stores } = openStores()
  await stores.records.registerSubjects([{ ...SUBJECT, owner: OWNER.owner }])
  let underWay = 0
  const cache = {
    ...stores.cache,
    putCounts: () => Promise.reject(new Error('a node of the cache is down')),
    async putOwnerSums() {
      underWay++
      await new Promise((resolve) => setTimeout(resolve, 20))
      underWay--
    },
  }
  const errors: unknown[] = []
  await mark({ ...stores, cache }, '1', 'LIKE', errors)
  expect(errors).toHaveLength(1)
  expect(underWay).toBe(0)
})
