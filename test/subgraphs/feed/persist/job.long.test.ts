/** The way of posts from the hot store to the record store, on Redis, Kafka and MariaDB, with jobs that end and servers that are cut off. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDistributedFeed } from '../../../../cli/stores/distributed/feed.ts'
import type { FeedStores } from '../../../../cli/stores/feed.ts'
import { migrateStores } from '../../../../cli/stores/operate.ts'
import { makeConfig, type Config } from '../../../../config/config.ts'
import { FOLLOW_BUSINESS } from '../../../../config/feed.ts'
import { systemClock } from '../../../../core/clock.ts'
import type { FlushedKey, Subject } from '../../../../core/domain.ts'
import { isTidemarkError } from '../../../../core/errors.ts'
import { randomBelow, seededRandom } from '../../../../core/random.ts'
import { service } from '../../../../harness/deployment/services.ts'
import { makeTcpProxy, type TcpProxy } from '../../../../harness/faults/tcp-proxy.ts'
import { until } from '../../../../harness/until.ts'
import type { CounterStores } from '../../../../subgraphs/feed/counters/guarded.ts'
import { persistCounts } from '../../../../subgraphs/feed/counters/persist.ts'
import { counterSchemasOf } from '../../../../subgraphs/feed/counters/schemas.ts'
import { makeCounterService } from '../../../../subgraphs/feed/counters/service.ts'
import { flushedKeyOf, type DirtyKey } from '../../../../subgraphs/feed/model/dirty-keys.ts'
import type { Post, PostDraft } from '../../../../subgraphs/feed/model/post.ts'
import { startFeedJob, type FeedJob } from '../../../../subgraphs/feed/persist/job.ts'
import { persistFeed } from '../../../../subgraphs/feed/persist/persist.ts'
import type { FeedPersistSteps } from '../../../../subgraphs/feed/persist/steps.ts'
import { guardFeedStores } from '../../../../subgraphs/feed/stores/guarded.ts'
import { openMysqlCounterRecords } from '../../../../subgraphs/feed/stores/mysql/counters/counter-records.ts'
import { openRedisCounterStore } from '../../../../subgraphs/feed/stores/redis/counters/counter-store.ts'
import { makeFeedWriteBack } from '../../../../subgraphs/feed/write/write-back.ts'
import type { WriteBack } from '../../../../writeback/write-back.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../../../stores/mysql/databases.ts'
import { KEEP_MS, POSTS, REGIONS, expectPersisted, publish, remove, type Adjust } from './persisted-feed.ts'

const [redis, kafka] = [await service('redis'), await service('kafka')]
type Opened = FeedStores & { counters: CounterStores }

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const AUTHORS = Array.from({ length: 40 }, (_, at) => (at % 4 === 0 ? `author-${at}` : String(at * 13)))
const PUBLISHING_MS = 30_000
const SEED = 7

describe.skipIf(redis === undefined || kafka === undefined || mariadb === undefined)('posts on their way to the record store', () => {
  let database: TestDatabase
  let proxies: { redis: TcpProxy; mariadb: TcpProxy }
  let config: Config
  const opened: { close(): Promise<void> }[] = []

  beforeAll(async () => {
    database = await makeDatabase()
    const direct = new URL(database.url)
    proxies = { redis: await makeTcpProxy(Number(new URL(redis as string).port)), mariadb: await makeTcpProxy(Number(direct.port)) }
    direct.port = String(proxies.mariadb.port)
    const name = `feed-job-${process.pid}-${Date.now()}`
    const stores = {
      regions: REGIONS,
      redis: { urls: [`redis://127.0.0.1:${proxies.redis.port}`], prefix: name },
      kafka: { brokers: [kafka as string], topicPrefix: name, partitions: 4, replicationFactor: 1 },
      mysql: { url: direct.href },
    }
    config = makeConfig([{ name: 'test', values: { stores } }])
    await migrateStores(config, systemClock, logger)
  }, 60_000)
  afterAll(async () => {
    for (const each of opened) await each.close()
    await proxies.redis.close()
    await proxies.mariadb.close()
    await database.drop()
  })

  async function open(): Promise<Opened> {
    const { redis: own, kafka: topics, mysql } = config.stores
    if (own === undefined || topics === undefined || mysql === undefined) throw new Error('the configuration has servers')
    const { feed, close } = await openDistributedFeed(config, systemClock, logger, { redis: own, kafka: topics, mysql })
    opened.push({ close })
    const counters = {
      hot: openRedisCounterStore(counterSchemasOf(config), { ...own, regions: REGIONS }),
      records: await openMysqlCounterRecords({ ...mysql, regions: REGIONS }),
    }
    opened.push(counters.hot, counters.records)
    return { ...feed, counters }
  }

  /** The steps of a process, and its way to count. */
  function stepsOf(stores: Opened, aggregate: (key: FlushedKey) => void): FeedPersistSteps & { adjust: Adjust } {
    const schemas = counterSchemasOf(config)
    const { adjust } = makeCounterService(systemClock, stores.counters, schemas, { aggregate, fillsReads: true }, onError)
    return {
      adjust,
      persist: (keys) => persistFeed({ ...stores, adjust }, keys, { now: systemClock.now(), keepMs: KEEP_MS, business: POSTS }, onError),
      counters: {
        persist: (subjects) => persistCounts(stores.counters, schemas, subjects),
        listDirty: stores.counters.hot.listDirty,
      },
    }
  }

  const failures = new Map<string, number>()
  const onError = (error: unknown): void => {
    const code = isTidemarkError(error) ? error.code : String(error)
    failures.set(code, (failures.get(code) ?? 0) + 1)
  }
  const startJob = (stores: Opened): Promise<FeedJob> =>
    startFeedJob(
      systemClock,
      stores,
      // The sweeper finds what a job counts.
      stepsOf(stores, () => undefined),
      { ...config.feed, regions: config.stores.regions, persistKeysMax: 200, sweepAfterMs: 3_000, sweepEveryMs: 500, purgeEveryMs: 5_000 },
      onError,
    )

  /** Repeats a call until it succeeds, as a client does. */
  async function insist<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        onError(error)
        await sleep(50)
      }
    }
  }

  it('all arrive, each is counted once, and inboxes have them all, whatever dies on the way', { timeout: 240_000 }, async () => {
    const random = seededRandom(SEED)
    const writer = await open()
    const guarded = guardFeedStores(systemClock, writer, {}, onError)
    const steps = stepsOf(writer, (key) => writeBack.aggregate(key))
    const writeBack: WriteBack = makeFeedWriteBack(systemClock, guarded, steps, { regions: REGIONS, feed: config.feed }, onError)
    const jobStores = [await open(), await open()] as const
    const jobs: (FeedJob | undefined)[] = [await startJob(jobStores[0]), await startJob(jobStores[1])]
    const published: Post[] = []
    const stopAt = Date.now() + PUBLISHING_MS
    const work = [
      ...AUTHORS.slice(0, 8).map((_, client) =>
        publishing(client, { ...writer, adjust: steps.adjust }, writeBack, published, stopAt, seededRandom(SEED + client)),
      ),
      cutting(stopAt),
      restarting(jobs, jobStores, stopAt, random),
    ]
    await Promise.all(work)
    await writeBack.drain()
    guarded.stop()
    for (const [at, stores] of jobStores.entries()) jobs[at] ??= await startJob(stores)
    const waiting = async () => [await writer.hot.countDirty(), await writer.counters.hot.countDirty(), await writer.log.lag()]
    await until('nothing is dirty, and the log is empty', async () => (await waiting()).every((count) => count === 0))
    const ids = published.map(({ id }) => id)
    expect(new Set(ids).size).toBeGreaterThan(200)
    await expectPersisted(writer, await persistedTotals(writer.counters, ids), [...new Set(ids)], AUTHORS)
    expect(failures.get('RECORD_STORE_UNAVAILABLE')).toBeGreaterThan(0)
    expect(failures.get('HOT_STORE_UNAVAILABLE')).toBeGreaterThan(0)
    for (const job of jobs) await job?.stop()
  })

  async function persistedTotals({ records }: CounterStores, ids: readonly string[]) {
    const subjects: Subject[] = [
      ...AUTHORS.map((oid) => ({ business: FOLLOW_BUSINESS, oid })),
      ...[...new Set(ids)].map((oid) => ({ business: POSTS, oid })),
    ]
    const totals = await records.getTotalsMany(subjects)
    const bySubject = new Map(subjects.map(({ business, oid }, at) => [`${business}:${oid}`, totals[at]?.counts ?? {}]))
    return { total: (business: number, oid: string, counter: string) => bySubject.get(`${business}:${oid}`)?.[counter] ?? 0 }
  }

  /** Publishes, shares, restricts and deletes; a part of the calls stops after its first or second step. */
  async function publishing(
    client: number,
    stores: Opened & { adjust: Adjust },
    writeBack: WriteBack,
    published: Post[],
    stopAt: number,
    random: () => number,
  ): Promise<void> {
    const own: Post[] = []
    const one = (): string => AUTHORS[randomBelow(random, AUTHORS.length)] as string
    const aggregate = (key: DirtyKey): void => writeBack.aggregate(flushedKeyOf(key))
    for (let at = 0; Date.now() < stopAt; at++) {
      const source = published[randomBelow(random, Math.max(1, published.length))]
      const draft: PostDraft = {
        author: one(),
        text: `post ${at} of client ${client}`,
        media: [],
        source: random() < 0.3 && source?.audience === undefined ? source?.id : undefined,
        audience: random() < 0.3 ? [...new Set(Array.from({ length: 5 }, one))] : undefined,
        clientKey: `${client}-${at}`,
      }
      const steps = 1 + randomBelow(random, 3)
      const post = await insist(() => publish(stores, draft, steps, systemClock.now()))
      if (post === undefined) throw new Error('each post has a key of its own')
      own.push(post)
      published.push(post)
      // The others are left to the sweeper, as if the process had died.
      if (random() < 0.7) aggregate({ viewer: post.author, post: post.id })
      if (random() < 0.2) {
        const gone = own[randomBelow(random, own.length)] as Post
        await insist(() => remove(stores, gone, 1 + randomBelow(random, 3), systemClock.now()))
        if (random() < 0.7) aggregate({ viewer: gone.author, post: gone.id })
      }
      if (random() < 0.1) await insist(() => stores.hot.setWords(one(), [`word ${at}`], { now: systemClock.now(), keepMs: KEEP_MS }))
      await sleep(randomBelow(random, 60))
    }
  }

  async function cutting(stopAt: number): Promise<void> {
    const cuts = [
      [proxies.mariadb, 'broken', 2_000],
      [proxies.redis, 'broken', 4_000],
      [proxies.mariadb, 'silent', 3_000],
      [proxies.redis, 'silent', 3_500],
    ] as const
    for (let at = 0; Date.now() < stopAt; at++) {
      await sleep(1_500)
      const [proxy, kind, ms] = cuts[at % cuts.length] as (typeof cuts)[number]
      proxy.cut(kind)
      await sleep(ms)
      proxy.mend()
    }
  }

  async function restarting(jobs: (FeedJob | undefined)[], stores: readonly Opened[], stopAt: number, random: () => number): Promise<void> {
    while (Date.now() < stopAt) {
      await sleep(2_000 + randomBelow(random, 2_000))
      const at = randomBelow(random, jobs.length)
      await jobs[at]?.stop()
      jobs[at] = undefined
      await sleep(randomBelow(random, 1_500))
      jobs[at] = await startJob(stores[at] as Opened)
    }
  }
})
