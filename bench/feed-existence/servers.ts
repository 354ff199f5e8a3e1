/** The stores of both shapes for the benchmarks of feed existence: real ones, in their own folder and on their own ports. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { systemClock, type Clock } from '../../core/clock.ts'
import { TidemarkError } from '../../core/errors.ts'
import type { SeenStores } from '../../subgraphs/feed-existence/stores/guarded.ts'
import { openEnvironment, type Environment } from '../../stores/lmdb/environment.ts'
import { openLmdbPlayLog } from '../../subgraphs/feed-existence/stores/lmdb/play-log.ts'
import { openLmdbSeenRecords } from '../../subgraphs/feed-existence/stores/lmdb/record-store.ts'
import { openLmdbSeenStore } from '../../subgraphs/feed-existence/stores/lmdb/hot-store.ts'
import { openDatabase, type Database } from '../../stores/mysql/database.ts'
import { migrateMysql } from '../../stores/mysql/schema-version.ts'
import { openMysqlSeenRecords } from '../../subgraphs/feed-existence/stores/mysql/record-store.ts'
import type { PlayLog } from '../../subgraphs/feed-existence/stores/play-log.ts'
import { openRedisSeenStore } from '../../subgraphs/feed-existence/stores/redis/hot-store.ts'
import type { SeenStore } from '../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeOwnServers, startOwnServers } from '../../harness/deployment/own-servers.ts'
import { startRedis } from '../../harness/deployment/redis-servers.ts'

export const REGIONS = 100
export const SHAPE = { slots: 6, shards: 5_000 }

export type EmbeddedStores = SeenStores & {
  folder: string
  /** Bytes of the file. */
  bytes(): number
  /** Bytes of the table of filters. */
  filterBytes(): number
  /** Bytes of the tables of the hot tier. */
  hotFigures(): { entries: number; bytes: number }
  close(): Promise<void>
}

const HOT_TABLES = ['seen', 'seen-ring', 'seen-layouts']

/** `given`: a folder that the caller removes. Absent: a temporary folder. */
export function openEmbeddedStores(clock: Clock = systemClock, given?: string): EmbeddedStores {
  const folder = given ?? mkdtempSync(join(tmpdir(), 'tidemark-bench-'))
  const environment = openEnvironment(folder, { regions: REGIONS, sizeMaxGb: 64 })
  const log = openLmdbPlayLog(environment, clock)
  return {
    folder,
    hot: openLmdbSeenStore(environment, SHAPE),
    log,
    records: openLmdbSeenRecords(environment),
    bytes: () => statSync(join(folder, 'tidemark.mdb')).size,
    filterBytes: () => tableFigures(environment, ['seen-filters', 'seen-expiring']).bytes,
    hotFigures: () => tableFigures(environment, HOT_TABLES),
    async close() {
      await log.close()
      await environment.close()
      if (given === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The figures of `mdb_stat`, with the names of the library. */
type TableFigures = { pageSize: number; treeBranchPageCount: number; treeLeafPageCount: number; overflowPages: number; entryCount: number }

function tableFigures(environment: Environment, names: readonly string[]): { entries: number; bytes: number } {
  const all = names.map((name) => environment.table(name).getStats() as TableFigures)
  return {
    entries: all.reduce((sum, { entryCount }) => sum + entryCount, 0),
    bytes: all.reduce((sum, each) => sum + each.pageSize * (each.treeBranchPageCount + each.treeLeafPageCount + each.overflowPages), 0),
  }
}

export type DistributedStores = SeenStores & { redisUrl: string; database: Database; close(): Promise<void> }

/** Without Kafka, because no play comes from the log here. */
export async function openDistributedStores(): Promise<DistributedStores> {
  const servers = await makeOwnServers()
  await startOwnServers(servers, ['redis', 'mariadb'])
  const url = `mysql://tidemark:tidemark@127.0.0.1:${servers.mariadb.port}/tidemark`
  const redisUrl = `redis://127.0.0.1:${servers.redis.port}`
  const database = openDatabase(systemClock, { url })
  await migrateMysql(database)
  const records = await openMysqlSeenRecords({ url, regions: REGIONS })
  const hot = openRedisSeenStore({ urls: [redisUrl], regions: REGIONS, ...SHAPE })
  return {
    hot,
    records,
    log: NO_LOG,
    redisUrl,
    database,
    async close() {
      await hot.close()
      await records.close()
      await database.close()
      await servers.remove()
    },
  }
}

const noLog = async (): Promise<never> => {
  throw new TidemarkError('LOG_UNAVAILABLE', 'the benchmark has no log')
}

const NO_LOG: PlayLog = {
  appendPlays: noLog,
  consumePlays: noLog,
  lag: noLog,
  end: noLog,
  isStaged: noLog,
  check: noLog,
  close: async () => {},
}

export type OwnRedis = { redis: Redis; url: string; stop(): Promise<void> }

/** A Redis without persistence, because only memory and commands are measured. */
export async function startOwnRedis(settings: readonly string[] = []): Promise<OwnRedis> {
  const servers = await startRedis(['appendonly no', ...settings])
  const [url] = servers.urls as [string]
  const redis = new Redis(url)
  return {
    redis,
    url,
    async stop() {
      redis.disconnect()
      await servers.stop()
    },
  }
}

export function openHotOn(url: string): SeenStore {
  return openRedisSeenStore({ urls: [url], regions: REGIONS, ...SHAPE })
}

/** Milliseconds of CPU that the server has used. */
export async function redisCpuMs(redis: Redis): Promise<number> {
  return 1_000 * ((await redisFigure(redis, 'cpu', 'used_cpu_user')) + (await redisFigure(redis, 'cpu', 'used_cpu_sys')))
}

export async function redisFigure(redis: Redis, section: string, name: string): Promise<number> {
  const match = new RegExp(`^${name}:([0-9.]+)`, 'm').exec(await redis.info(section))
  if (match === null) throw new Error(`Redis has no figure ${name}`)
  return Number(match[1])
}

export async function memoryOf(redis: Redis, key: string): Promise<number> {
  return Number((await redis.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')) ?? 0)
}
