/** Millions of events on Redis, Kafka and MariaDB, with redeliveries and kills of processes and of Redis: are the totals exact? */
import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrateStores } from '../../cli/stores/operate.ts'
import { makeConfig } from '../../config/config.ts'
import { systemClock } from '../../core/clock.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'
import { makeOwnServers, startOwnServers, type OwnServers } from '../../harness/deployment/own-servers.ts'
import type { Counts } from '../../subgraphs/feed/model/counts.ts'
import { openMysqlCounterRecords } from '../../subgraphs/feed/stores/mysql/counters/counter-records.ts'
import { openRedisCounterStore } from '../../subgraphs/feed/stores/redis/counters/counter-store.ts'
import type { Measure } from '../support/report.ts'
import type { BatchAnswer } from './count-worker.ts'
import { BASE, BATCH, BUSINESS, REGIONS, SCHEMAS, postAt, totalsAfter } from './counted-events.ts'

const WORKERS = 2
const AT_ONCE = 6
/** One acknowledged batch of this many is delivered once more. */
const REDELIVERED = 25
const PERSISTED_MAX_MS = 180_000
const STARTS_MAX = 30
const WORKER = join(import.meta.dirname, 'count-worker.ts')

export async function measureExactness(quick: boolean, progress: (text: string) => void): Promise<Measure[]> {
  const [batches, posts, kills] = quick ? [400, 5_000, 4] : [20_000, 100_000, 40]
  const servers = await makeOwnServers()
  try {
    progress('starting Redis, Kafka and MariaDB')
    await startOwnServers(servers, ['redis', 'kafka', 'mariadb'])
    const settings = settingsOf(servers)
    const config = makeConfig([{ name: 'the benchmark', values: settings }])
    await migrateStores(config, systemClock, {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: () => undefined,
    })
    const redis = { urls: settings.stores.redis.urls, regions: REGIONS }
    const [hot, records] = [
      openRedisCounterStore(SCHEMAS, redis),
      await openMysqlCounterRecords({ url: settings.stores.mysql.url, regions: REGIONS }),
    ]
    try {
      const subjects = Array.from({ length: posts }, (_, place) => ({ business: BUSINESS, oid: postAt(place) }))
      await records.putTotals(subjects.map((subject) => ({ subject, counts: BASE, version: 1 })))
      progress(`counting ${batches * BATCH} events, with ${kills} kills of processes and one of Redis`)
      const run = await countAll(JSON.stringify(settings), { batches, posts, kills }, servers, progress)
      progress('waiting until everything is persisted')
      const begun = performance.now()
      while ((await hot.countDirty()) > 0 && performance.now() - begun < PERSISTED_MAX_MS) await sleep(200)
      const expected = totalsAfter(batches, posts)
      const persisted = await records.getTotalsMany(subjects)
      const live = await hot.getMany(subjects)
      // A post without an event is only in the record store.
      const wrongLive = expected.filter((counts, at) => live[at] !== undefined && !isSame(counts, live[at])).length
      const wrongRows = expected.filter((counts, at) => !isSame(counts, persisted[at]?.counts)).length
      for (const worker of run.workers) worker.kill('SIGKILL')
      return [
        { metric: 'events', value: batches * BATCH, unit: '' },
        { metric: 'kill -9 of a process while it counted', value: run.kills, unit: '', target: kills },
        { metric: 'deliveries of a batch beyond the first', value: run.deliveries - batches, unit: '', target: kills },
        { metric: 'events that were found counted', value: run.repeated, unit: '', target: 1 },
        { metric: 'posts with a wrong total in Redis', value: wrongLive, unit: '', target: 0, atMost: true },
        { metric: 'posts with a wrong total in MariaDB', value: wrongRows, unit: '', target: 0, atMost: true },
        { metric: 'posts that are not persisted', value: await hot.countDirty(), unit: '', target: 0, atMost: true },
        { metric: 'events counted', value: (batches * BATCH) / run.seconds, unit: 'per second' },
      ]
    } finally {
      await hot.close()
      await records.close()
    }
  } finally {
    await servers.remove()
  }
}

function isSame(expected: Counts, found: Counts = {}): boolean {
  return Object.keys(expected).every((name) => expected[name] === (found[name] ?? 0))
}

function settingsOf({ redis, kafka, mariadb }: OwnServers) {
  return {
    businesses: [
      { number: 1, name: 'video', entity: 'Video' },
      { number: BUSINESS, name: 'post', entity: 'Post' },
    ],
    feed: { flushAgeMaxMs: 1_000, countsWindowMs: 3_000, sweepAfterMs: 10_000, sweepEveryMs: 2_000 },
    stores: {
      regions: REGIONS,
      redis: { urls: [`redis://127.0.0.1:${redis.port}`] },
      kafka: { brokers: [`127.0.0.1:${kafka.port}`] },
      mysql: { url: `mysql://tidemark:tidemark@127.0.0.1:${mariadb.port}/tidemark` },
    },
  }
}

type Run = { kills: number; deliveries: number; repeated: number; seconds: number; workers: ChildProcess[] }

/** Delivers every batch until a worker has acknowledged it, as a queue with at-least-once delivery does. */
async function countAll(
  settings: string,
  { batches, posts, kills }: { batches: number; posts: number; kills: number },
  servers: OwnServers,
  progress: (text: string) => void,
): Promise<Run> {
  const random = seededRandom(11)
  const waiting = Array.from({ length: batches }, (_, batch) => batches - 1 - batch)
  const acknowledged = new Set<number>()
  const done = Promise.withResolvers<void>()
  const run: Run = { kills: 0, deliveries: 0, repeated: 0, seconds: 0, workers: [] }
  let isRedisKilled = false

  function start(place: number): Promise<void> {
    const worker = fork(WORKER, [settings, String(posts)])
    const sent = new Set<number>()
    run.workers[place] = worker
    const send = (): void => {
      while (sent.size < AT_ONCE && worker.connected) {
        const batch = waiting.pop()
        if (batch === undefined) return
        sent.add(batch)
        run.deliveries++
        worker.send(batch)
      }
    }
    worker.on('exit', (_, signal) => {
      waiting.push(...sent)
      if (signal !== 'SIGKILL') done.reject(new Error(`a worker ended by itself (${signal})`))
      else if (acknowledged.size < batches) start(place).catch(done.reject)
    })
    return new Promise((resolve) => {
      worker.on('message', (message: 'ready' | BatchAnswer) => {
        if (message === 'ready') resolve()
        else {
          sent.delete(message.batch)
          run.repeated += message.repeated
          if (message.outcome === 'failed') return void setTimeout(() => (waiting.push(message.batch), send()), 200)
          const isNew = !acknowledged.has(message.batch)
          if (isNew && randomBelow(random, REDELIVERED) === 0) waiting.unshift(message.batch)
          acknowledged.add(message.batch)
          if (isNew && acknowledged.size % (batches / 10) === 0) progress(`${acknowledged.size * BATCH} events are counted`)
          disturb(worker)
          if (acknowledged.size === batches && waiting.length === 0 && sent.size === 0) done.resolve()
        }
        send()
      })
    })
  }

  /** The kills are spread over the run: the worker that has just answered is counting its other batches. */
  function disturb(worker: ChildProcess): void {
    if (acknowledged.size >= ((run.kills + 1) * batches) / (kills + 1) && run.kills < kills) {
      run.kills++
      worker.kill('SIGKILL')
    }
    if (acknowledged.size < batches / 2 || isRedisKilled) return
    isRedisKilled = true
    servers.redis
      .kill()
      .then(() => startAgain(servers))
      .catch(done.reject)
  }

  const begun = performance.now()
  await Promise.all(Array.from({ length: WORKERS }, (_, place) => start(place)))
  await done.promise
  run.seconds = (performance.now() - begun) / 1_000
  return run
}

/** A connection of another process may have taken the port meanwhile, as its own local one. It gives the port back after a while. */
async function startAgain({ redis }: OwnServers): Promise<void> {
  for (let left = STARTS_MAX; ; left--) {
    try {
      return await redis.start()
    } catch (error) {
      if (left === 0) throw error
      await sleep(1_000)
    }
  }
}
