/** A server that loses its data while pools of the cache and processes keep older values. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { seededRandom } from '../../../../../core/random.ts'
import { startRedis, type TestServers } from '../../../../../harness/deployment/redis-servers.ts'
import { makeFeedRecordsState, openModelFeedRecords } from '../../../../../harness/models/feed/record-store-model.ts'
import type { FeedHotStore } from '../../../../../subgraphs/feed/stores/hot-store.ts'
import { openRedisFeedStore } from '../../../../../subgraphs/feed/stores/redis/hot-store.ts'
import { makeFeedWorld } from '../../read/feed-world.ts'

const SIZES = { head: 32, outbox: 500, inbox: 500, rest: 100 }
let servers: TestServers
let admin: Redis
let hot: FeedHotStore

beforeAll(async () => {
  servers = await startRedis()
  admin = new Redis(servers.urls[0] as string)
  hot = openRedisFeedStore({ urls: servers.urls, regions: 4 })
})

afterAll(async () => {
  admin.disconnect()
  await hot.close()
  await servers.stop()
})

it('a persisted deletion holds although the server came back empty, also for values that pools still have', async () => {
  const stores = { hot, records: openModelFeedRecords(makeFeedRecordsState()) }
  const world = makeFeedWorld({ random: seededRandom(1), turnsMax: 0, hasGoodPools: true, sizes: SIZES, stores })
  world.clock.advance(Date.now() - world.clock.now())
  const reader = world.openProcess()
  const draft = { author: '2', text: 'secret', media: [], source: undefined, audience: undefined, clientKey: 'a' }
  const outcome = await world.hot.publish(draft, world.options())
  expect.assert(outcome.status === 'published')
  const { id } = outcome.post
  expect((await reader.posts([id]))[0]?.text).toBe('secret')
  await world.hot.delete(outcome.post, world.options())
  world.clock.advance(5_000)
  await world.persist()
  await admin.flushall()
  world.clock.advance(1_000)
  for (const process of [reader, world.openProcess()]) expect((await process.posts([id]))[0]).toMatchObject({ deleted: true, text: '' })
})

it.each([
  { first: 'a question', begin: () => hot.listChanges(new Map([[0, 0]])) },
  { first: 'a change', begin: () => hot.noteChange('0', 'g0', { now: Date.now(), keepMs: 3_600_000 }) },
])('after a loss, the first tick of a region stands for all lost changes, also if $first begins it', async ({ begin }) => {
  // The clock of an earlier test may be ahead of this one by a millisecond.
  await admin.flushall()
  const before = await hot.noteChange('0', 'g0', { now: Date.now() - 1_000, keepMs: 3_600_000 })
  await admin.flushall()
  await begin()
  const [lost] = await hot.listChanges(new Map([[0, before]]))
  expect.assert(lost !== undefined)
  expect(lost.isPartial).toBe(true)
  expect(lost.version).toBeGreaterThan(before)
  expect(await hot.listChanges(new Map([[0, lost.version]]))).toEqual([])
})
