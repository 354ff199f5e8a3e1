import { mkdtempSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../../core/clock.ts'
import type { FlushedKey, Subject } from '../../../../core/domain.ts'
import { TidemarkError } from '../../../../core/errors.ts'
import { regionOf } from '../../../../core/regions.ts'
import { until } from '../../../../harness/until.ts'
import { openEnvironment, type Environment } from '../../../../stores/lmdb/environment.ts'
import { flushedCountsOf } from '../../../../subgraphs/feed/model/counts.ts'
import { flushedKeyOf } from '../../../../subgraphs/feed/model/dirty-keys.ts'
import type { Post, PostDraft } from '../../../../subgraphs/feed/model/post.ts'
import { startFeedJob, type FeedJob, type FeedJobOptions } from '../../../../subgraphs/feed/persist/job.ts'
import { persistFeed } from '../../../../subgraphs/feed/persist/persist.ts'
import { unpackIds } from '../../../../subgraphs/feed/packed/vector.ts'
import { openLmdbFeedStore } from '../../../../subgraphs/feed/stores/lmdb/hot-store.ts'
import { openLmdbFeedRecords } from '../../../../subgraphs/feed/stores/lmdb/record-store.ts'
import type { Log } from '../../../../writeback/log.ts'
import { openLmdbLog } from '../../../../writeback/stores/lmdb/log.ts'
import { KEEP_MS, POSTS, REGIONS, makeCounted, publish, remove, type Stores } from './persisted-feed.ts'

const NEVER = 3_600_000
const OPTIONS: FeedJobOptions = {
  regions: REGIONS,
  keepMs: KEEP_MS,
  tombstoneMs: KEEP_MS,
  purgeEveryMs: NEVER,
  persistKeysMax: 3,
  sweepAfterMs: NEVER,
  sweepEveryMs: NEVER,
  countsWindowMs: 50,
}

let folder: string
let environment: Environment
let stores: Stores
let log: Log
let job: FeedJob | undefined
let persistedCounts: (readonly Subject[])[]
let dirtyCounts: Subject[]
let stepSizes: number[]
let errors: unknown[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-feed-job-'))
  environment = openEnvironment(folder, { regions: REGIONS, sizeMaxGb: 1 })
  stores = { hot: openLmdbFeedStore(environment), records: openLmdbFeedRecords(environment), adjust: makeCounted().adjust }
  log = openLmdbLog(environment, systemClock, { stream: 'feed', retryMinMs: 10 })
  persistedCounts = []
  dirtyCounts = []
  stepSizes = []
  errors = []
})
afterEach(async () => {
  await job?.stop()
  job = undefined
  await log.close()
  await environment.close()
  rmSync(folder, { recursive: true, force: true })
})

async function start(options: Partial<FeedJobOptions> = {}, failing = () => false): Promise<FeedJob> {
  const persist = (keys: readonly FlushedKey[]) => {
    stepSizes.push(keys.length)
    if (failing()) throw new TidemarkError('RECORD_STORE_UNAVAILABLE', 'the record store is down')
    return persistFeed(stores, keys, { now: systemClock.now(), keepMs: KEEP_MS, business: POSTS }, (error) => errors.push(error))
  }
  const counters = {
    persist: (subjects: readonly Subject[]) => {
      persistedCounts.push(subjects)
      dirtyCounts = dirtyCounts.filter((dirty) => !subjects.some(({ oid }) => oid === dirty.oid))
      return Promise.resolve({ rows: subjects.length })
    },
    listDirty: (_: readonly number[], __: number, limit: number) => Promise.resolve(dirtyCounts.slice(0, limit)),
  }
  job = await startFeedJob(
    systemClock,
    { ...stores, log },
    { persist: async (keys) => persist(keys), counters },
    { ...OPTIONS, ...options },
    (error) => errors.push(error),
  )
  return job
}

let drafts = 0
const draft = (author: string, fields: Partial<PostDraft> = {}): PostDraft => ({
  ...{ author, text: 'hello', media: [], source: undefined, audience: undefined, clientKey: `key-${++drafts}` },
  ...fields,
})

async function somePosts(count: number, author = '7'): Promise<Post[]> {
  const posts: Post[] = []
  for (let at = 0; at < count; at++) posts.push((await publish(stores, draft(author))) as Post)
  return posts
}

const flush = (keys: readonly FlushedKey[]) =>
  log.appendFlushes([...Map.groupBy(keys, ({ viewer }) => regionOf(viewer, REGIONS))].map(([region, some]) => ({ region, keys: some })))
const keyOf = ({ author, id }: Post): FlushedKey => flushedKeyOf({ viewer: author, post: id })
const persisted = async (posts: readonly Post[]) =>
  (await stores.records.getPostMany(posts.map(({ id }) => id))).filter((post) => post !== undefined).length

it('keys of a flush are persisted in steps of bounded size, and keys of counters in one window', async () => {
  const posts = [...(await somePosts(5)), ...(await somePosts(2, 'ann'))]
  const running = await start()
  for (let round = 0; round < 3; round++) await flush([...posts.map(keyOf), flushedCountsOf({ business: POSTS, oid: '9' })])
  await until('everything is persisted', async () => (await persisted(posts)) === 7 && (await log.lag()) === 0)
  expect(await stores.hot.countDirty()).toBe(0)
  expect(Math.max(...stepSizes)).toBe(3)
  expect(running.figures()).toMatchObject({
    steps: stepSizes.length,
    posts: stepSizes.reduce((sum, size) => sum + size),
    counted: persistedCounts.flat().length,
    missing: 0,
    swept: 0,
  })
  expect(persistedCounts.flat().every(({ business, oid }) => business === POSTS && oid === '9')).toBe(true)
  expect(persistedCounts.length).toBeLessThanOrEqual(3)
  expect(errors).toEqual([])
})

it('a failed step keeps its message, and a later one persists it', async () => {
  const posts = await somePosts(2)
  let isDown = true
  await start({}, () => isDown)
  await flush(posts.map(keyOf))
  await until('the step failed twice', () => stepSizes.length >= 2)
  expect([await persisted(posts), await log.lag()]).toEqual([0, 1])
  isDown = false
  await until('the message is persisted', async () => (await log.lag()) === 0)
  expect([await persisted(posts), await stores.hot.countDirty()]).toEqual([2, 0])
})

it('posts, words and counters that no flush carried are swept, page by page', async () => {
  const posts = [...(await somePosts(4)), ...(await somePosts(3, 'ann'))]
  await stores.hot.setWords('7', ['spoiler'], { now: systemClock.now() - 1_000, keepMs: KEEP_MS })
  dirtyCounts = Array.from({ length: 7 }, (_, at) => ({ business: POSTS, oid: String(at) }))
  const running = await start({ sweepAfterMs: 1, sweepEveryMs: 20 })
  await until('everything is swept', async () => (await stores.hot.countDirty()) === 0 && dirtyCounts.length === 0)
  expect(await persisted(posts)).toBe(7)
  expect(await stores.records.getWordsMany(['7'])).toMatchObject([{ words: ['spoiler'] }])
  expect(persistedCounts.flat()).toHaveLength(7)
  await until('the sweep is counted', () => running.figures().swept === 15)
  expect(running.figures().counted).toBe(7)
})

it('old changes are forgotten, and old tombstones are removed', async () => {
  const [kept, gone] = (await somePosts(2)) as [Post, Post]
  await remove(stores, gone)
  await persistFeed(stores, [kept, gone].map(keyOf), { now: systemClock.now(), keepMs: KEEP_MS, business: POSTS }, () => undefined)
  const running = await start({ keepMs: 1, tombstoneMs: 1, purgeEveryMs: 20 })
  const ids = [kept, gone].map(({ id }) => id)
  await until('the tombstone is removed', () => running.figures().removed === 1)
  await until('the rest is forgotten', async () => (await stores.hot.getPostMany(ids)).every((post) => post === undefined))
  expect(await stores.records.getPostMany(ids)).toMatchObject([{ id: kept.id }, undefined])
})

it('a restricted post that is not persisted for longer than changes are kept stays in its inbox', async () => {
  const keepMs = 600_000
  const options = (now: number) => ({ now, keepMs })
  const publishAt = async (now: number): Promise<Post> => {
    const outcome = await stores.hot.publish(draft('7', { audience: ['9'] }), options(now))
    if (outcome.status !== 'published') throw new Error(outcome.status)
    await stores.hot.addToInboxes(outcome.post.id, ['9'], options(now))
    return outcome.post
  }
  const inbox = async (): Promise<string[]> => unpackIds((await stores.hot.getInboxMany(['9']))[0]?.added ?? Buffer.alloc(0))
  const now = systemClock.now()
  const unpersisted = await publishAt(now - 10 * keepMs)
  await persistFeed(stores, [keyOf(await publishAt(now - 9 * keepMs))], { ...options(now), business: POSTS }, () => undefined)
  const running = await start({ keepMs, purgeEveryMs: 5 })
  await sleep(100)
  const later = await publishAt(now)
  expect([running.figures().forgotten, (await inbox()).length]).toEqual([0, 3])
  expect((await inbox())[0]).toBe(unpersisted.id)

  await persistFeed(stores, [unpersisted, later].map(keyOf), { ...options(now), business: POSTS }, () => undefined)
  await until('old changes are forgotten', () => running.figures().forgotten > 0)
  await publishAt(now)
  expect(await stores.hot.getPostMany([unpersisted.id])).toEqual([undefined])
  expect(await stores.records.getPostMany([unpersisted.id])).toMatchObject([{ audience: ['9'] }])
})
