import { afterEach, beforeEach, expect, test } from 'vitest'
import { complete, type Degraded } from '../../core/outage/degraded.ts'
import { makeOwnerReads, type OwnerReads } from '../../loaders/owner-likes.ts'
import { openMarkedStores, type MarkedStores } from '../subgraphs/thumbup/marked-stores.ts'
import { makeSteppedClock, type SteppedClock } from '../../harness/stepped-clock.ts'

let stores: MarkedStores
let reads: OwnerReads
let clock: SteppedClock
let isCacheDown: boolean
const star = { business: 1, owner: 'star' }
const sum = (likes: number) => ({ likes, version: likes })
const count = () => stores.count('records.getOwnerSums')
beforeEach(async () => {
  stores = openMarkedStores({ records: 'lmdb' })
  clock = makeSteppedClock()
  isCacheDown = false
  const options = { hotTtlMs: 1_000, hotBytesMax: 65_536, isCacheDown: () => isCacheDown }
  reads = makeOwnerReads(clock, stores.stores.cache, stores.stores.records, options)
  await like('1')
  await stores.plain.records.registerSubjects([{ business: 1, oid: 'a', owner: 'star' }])
})
afterEach(() => stores.close())

const like = (viewer: string) =>
  stores.plain.records.applyMarks([{ key: { viewer, business: 1, oid: 'a' }, record: { mark: 'LIKE', markedAt: 5, version: 5 } }], [])
const likes = async () => (await reads.getMany([star], new Set()))[0]?.likes

test('a hundred concurrent reads of an uncached sum share a read of the record store, and later reads need none', async () => {
  expect(await Promise.all(Array.from({ length: 100 }, likes))).toEqual(Array(100).fill(1))
  expect(count()).toBeLessThan(20)
  stores.calls.length = 0
  expect(await likes()).toBe(1)
  expect(count()).toBe(0)
})

test('while the count cache is down the process serves its own reads for a while, and newer sums it learns of', async () => {
  stores.set('cache', 'down')
  isCacheDown = true
  for (let at = 0; at < 100; at++) expect(await likes()).toBe(1)
  expect(count()).toBe(1)
  await like('2')
  clock.advance(1_001)
  expect(await likes()).toBe(2)
  await like('3')
  reads.learn(await stores.plain.records.getOwnerSums([star]))
  expect(await likes()).toBe(3)
})

test('without an available store the newest known value is served, and null for an unknown owner', async () => {
  expect(await likes()).toBe(1)
  stores.set('cache', 'down')
  stores.set('records', 'down')
  const degraded: Degraded = new Set()
  const read = () => reads.getMany([star, { business: 2, owner: 'star' }], degraded)
  expect((await read()).map((each) => each?.likes)).toEqual([1, undefined])
  expect([...degraded].sort()).toEqual(['hotStore', 'recordStore'])
  reads.learn([{ ...star, ...sum(7_000_000_000_000_000) }])
  reads.learn([{ ...star, ...sum(2) }])
  expect((await read())[0]?.likes).toBe(7_000_000_000_000_000)
  await expect(complete((without) => reads.getMany([star], without))).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
})
