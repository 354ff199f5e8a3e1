/**
 * History and feed existence in one process, composed as by the command: on the embedded stores, or on their own Redis and MariaDB with the
 * embedded logs. Calls are counted together with the number of their inputs, and any call can be refused.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock, type Clock } from '../../../core/clock.ts'
import { makeConfig, type Config } from '../../../config/config.ts'
import { guardsResume } from '../../../config/feed-existence.ts'
import { complete, type Degraded } from '../../../core/outage/degraded.ts'
import { TidemarkError, type ErrorCode } from '../../../core/errors.ts'
import { seededRandom } from '../../../core/random.ts'
import { openEnvironment, type Environment } from '../../../stores/lmdb/environment.ts'
import { openLmdbHotStore } from '../../../subgraphs/history/stores/lmdb/hot-store.ts'
import { listRewards, openLmdbLog } from '../../../writeback/stores/lmdb/log.ts'
import { openLmdbPlayLog } from '../../../subgraphs/feed-existence/stores/lmdb/play-log.ts'
import { openLmdbRecordStore } from '../../../subgraphs/history/stores/lmdb/record-store.ts'
import { openLmdbSeenRecords } from '../../../subgraphs/feed-existence/stores/lmdb/record-store.ts'
import { openLmdbSeenStore } from '../../../subgraphs/feed-existence/stores/lmdb/hot-store.ts'
import { openMysqlRecordStore } from '../../../subgraphs/history/stores/mysql/record-store.ts'
import { migrateMysql } from '../../../stores/mysql/schema-version.ts'
import { openMysqlSeenRecords } from '../../../subgraphs/feed-existence/stores/mysql/record-store.ts'
import { openRedisHotStore } from '../../../subgraphs/history/stores/redis/hot-store.ts'
import { openRedisSeenStore } from '../../../subgraphs/feed-existence/stores/redis/hot-store.ts'
import { makeExistenceFold, makeExistenceSubgraph } from '../../../subgraphs/feed-existence/index.ts'
import { makeHistorySubgraph } from '../../../subgraphs/history/index.ts'
import { makeDatabase, mariadb } from '../../stores/mysql/databases.ts'
import { redisIsHere, startRedis } from '../../../harness/deployment/redis-servers.ts'
import { until } from '../../../harness/until.ts'

const REGIONS = 4
const SHAPE = { slots: 6, shards: 4 }

export const CAP = 10

/** The shapes that are available on this machine. */
export const BOTH_SHAPES: { name: string; open: typeof openEmbedded }[] = [
  { name: 'embedded', open: openEmbedded },
  ...(mariadb !== undefined && (await redisIsHere()) ? [{ name: 'on Redis and MariaDB', open: openDistributed }] : []),
]

type Opened = Awaited<ReturnType<typeof openEmbedded>>

async function openEmbedded() {
  const { environment, logs, remove } = openLogs()
  return {
    environment,
    redisUrls: undefined as readonly string[] | undefined,
    ...logs,
    hot: openLmdbHotStore(environment),
    records: openLmdbRecordStore(environment),
    seenHot: openLmdbSeenStore(environment, SHAPE),
    seenRecords: openLmdbSeenRecords(environment),
    close: remove,
  }
}

async function openDistributed(): Promise<Opened> {
  const { environment, logs, remove } = openLogs()
  const [servers, { url, database, drop }] = await Promise.all([startRedis(), makeDatabase()])
  await migrateMysql(database)
  const redis = { urls: servers.urls, regions: REGIONS, retryMaxMs: 500 }
  const stores = {
    hot: openRedisHotStore({ ...redis, expireMs: 0 }),
    records: await openMysqlRecordStore({ url, regions: REGIONS }, systemClock),
    seenHot: openRedisSeenStore({ ...redis, ...SHAPE }),
    seenRecords: await openMysqlSeenRecords({ url, regions: REGIONS }),
  }
  return {
    environment,
    redisUrls: servers.urls,
    ...logs,
    ...stores,
    async close() {
      await Promise.all(Object.values(stores).map((store) => store.close()))
      await drop()
      await servers.stop()
      await remove()
    },
  }
}

function openLogs() {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-help-'))
  const environment: Environment = openEnvironment(folder, { regions: REGIONS, sizeMaxGb: 1 })
  const logs = { log: openLmdbLog(environment, systemClock), plays: openLmdbPlayLog(environment, systemClock) }
  async function remove(): Promise<void> {
    await logs.log.close()
    await logs.plays.close()
    await environment.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { environment, logs, remove }
}

export const helpConfig = (values: { existence?: object; history?: object; video?: object; rewards?: object } = {}): Config =>
  makeConfig([
    {
      name: 'test',
      values: {
        stores: { regions: REGIONS },
        history: { timelineCap: CAP, flushAgeMaxMs: 20, flushKeysMax: 500, sweepAfterMs: 200, sweepEveryMs: 50, ...values.history },
        existence: { ...SHAPE, sampleEvery: 0, foldEveryMs: 3_600_000, ...values.existence },
        rewards: { ...values.rewards },
        businesses: [
          { number: 1, name: 'video', entity: 'Video', ...values.video },
          { number: 2, name: 'article', entity: 'Article', glanceMax: 0 },
        ],
      },
    },
  ])

type Call = { name: string; asked: number }

export type Together = Awaited<ReturnType<typeof startTogether>>

/** With a clock that does not move by itself, the worker of each part stands still too. */
export async function startTogether(open: () => Promise<Opened>, config: Config = helpConfig(), clock: Clock = systemClock) {
  const stores = await open()
  const refused = new Map<string, ErrorCode>()
  const calls: Call[] = []
  const errors: unknown[] = []
  const watched = <T extends object>(name: string, store: T): T => watch(name, store, calls, refused)
  const seen = {
    hot: watched('seenHot', stores.seenHot),
    log: watched('plays', stores.plays),
    records: watched('seenRecords', stores.seenRecords),
  }
  const records = watched('records', stores.records)
  const onError = (error: unknown): void => void errors.push(error)
  const guard = { checkEveryMs: 10 }
  const log = watched('log', stores.log)
  const existence = makeExistenceSubgraph(clock, { ...seen, history: records, rewards: log }, config, onError, {
    random: seededRandom(1),
    guard,
  })
  const history = makeHistorySubgraph(clock, { hot: watched('hot', stores.hot), log, records }, config, onError, guard, {
    mayHavePlayed: guardsResume(config.existence) ? existence.mayHavePlayed : undefined,
    recordPlays: config.existence.fromHistory ? existence.recordPlays : undefined,
    stageWritten: config.existence.fromHistory ? existence.stageWritten : undefined,
  })
  let job = await history.startJob()
  const viewerOf = (id: string) => ({ id, scopes: [] })

  return {
    stores,
    config,
    history,
    existence,
    errors,
    calls,
    /** The number of calls with these names, and of their inputs. */
    count: (...names: string[]) => calls.filter(({ name }) => names.includes(name)).length,
    asked: (name: string) => calls.reduce((sum, call) => sum + (call.name === name ? call.asked : 0), 0),
    refuse(call: string, code: ErrorCode | undefined): void {
      if (code === undefined) refused.delete(call)
      else refused.set(call, code)
    },
    async report(
      viewer: string,
      reports: readonly { oid: string; position?: number; viewedAt?: number; finished?: boolean; business?: string }[],
    ) {
      for (let from = 0; from < reports.length; from += 50) {
        const inputs = reports.slice(from, from + 50).map(({ oid, ...each }) => ({ business: 'video', id: oid, position: 60_000, ...each }))
        const answers = await history.service.report(viewerOf(viewer), inputs, new Set())
        for (const { outcome } of answers) if (outcome !== 'ACCEPTED') throw new Error(`a report was ${outcome}`)
      }
    },
    /** Waits until nothing is dirty: every record is persisted and trimmed if possible. */
    persisted: () => until('everything is persisted', async () => (await stores.hot.countDirty()) === 0),
    async lookUp(viewer: string, oids: readonly string[], business = 1) {
      const degraded: Degraded = new Set()
      const loaders = history.makeLoaders(degraded)
      const found = await Promise.all(oids.map((oid) => loaders.progress.load({ viewer, business, oid })))
      return { positions: found.map((record) => record?.position ?? null), degraded: [...degraded] }
    },
    unseen: async (viewer: string, ids: readonly string[], business = 'video') =>
      (await complete((without) => existence.service.unseen(viewerOf(viewer), business, ids, [], without))).ids,
    /** Folds all staged plays of this viewer into the filters, as the job does at the end of an hour. */
    async foldAll(viewer: string) {
      const { fold } = makeExistenceFold(systemClock, { hot: stores.seenHot, records: stores.seenRecords }, config, seededRandom(2))
      for (let slot = 0; slot < SHAPE.slots; slot++) await fold(slot, [viewer])
    },
    /** The ids of the rewards in the log, each as often as it was sent. */
    rewards: () => listRewards(stores.environment, 0, 1_000).map(({ reward }) => reward.id),
    stopJob: () => job.stop(),
    async startJob() {
      job = await history.startJob()
    },
    async stop() {
      refused.clear()
      await history.drain()
      await job.stop()
      await existence.drain()
      await stores.close()
    },
  }
}

/** The store with its calls noted, and refused where a code stands for the call or for the whole store. */
function watch<T extends object>(name: string, store: T, calls: Call[], refused: ReadonlyMap<string, ErrorCode>): T {
  const entries = Object.entries(store).map(([method, value]: [string, unknown]) => {
    if (typeof value !== 'function' || method === 'close' || method === 'partOf' || method.startsWith('consume')) return [method, value]
    const call = async (...args: unknown[]): Promise<unknown> => {
      calls.push({ name: `${name}.${method}`, asked: Array.isArray(args[0]) ? args[0].length : 1 })
      const code = refused.get(`${name}.${method}`) ?? refused.get(name)
      if (code !== undefined) throw new TidemarkError(code, `the ${name} of the test refuses ${method}`)
      return (value as (...args: unknown[]) => unknown)(...args)
    }
    return [method, call]
  })
  return Object.fromEntries(entries) as T
}

export const numbered = (count: number, from = 1): string[] => Array.from({ length: count }, (_, index) => String(from + index))
