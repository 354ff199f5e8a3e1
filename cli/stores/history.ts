/** Configuration → adapters. The only file that names them all. */
import { join, relative } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import type { MarkStores } from '../../subgraphs/thumbup/stores/guarded.ts'
import type { SeenStores } from '../../subgraphs/feed-existence/stores/guarded.ts'
import { hasFeed } from '../../config/feed.ts'
import { openDistributedFeed, openEmbeddedFeed, type FeedStores } from './feed.ts'
import { openDistributedSeen, openEmbeddedSeen } from './feed-existence.ts'
import { kafkaConnection, openTogether, type Distributed, type StoreLogger } from './servers.ts'
import { markJournalFolders, openDistributedMarks, openEmbeddedMarks, type TenantStores } from './thumbup.ts'
import type { Config } from '../../config/config.ts'
import type { HotStore } from '../../subgraphs/history/stores/hot-store.ts'
import type { Journals, JournalView } from '../../writeback/journal.ts'
import { openKafkaLog } from '../../writeback/stores/kafka/log.ts'
import { openEnvironment, type Environment } from '../../stores/lmdb/environment.ts'
import type { ChangeRelay, CountRelay } from '../../stores/lmdb/changes.ts'
import { openLmdbHotStore } from '../../subgraphs/history/stores/lmdb/hot-store.ts'
import { openLmdbJournals, viewLmdbJournals } from '../../writeback/stores/lmdb/journal.ts'
import { openLmdbLog } from '../../writeback/stores/lmdb/log.ts'
import { openLmdbRecordStore } from '../../subgraphs/history/stores/lmdb/record-store.ts'
import type { Log } from '../../writeback/log.ts'
import { openMysqlRecordStore } from '../../subgraphs/history/stores/mysql/record-store.ts'
import type { RecordStore } from '../../subgraphs/history/stores/record-store.ts'
import type { ProgressEvents } from '../../subgraphs/history/stores/progress-events.ts'
import { openKafkaProgressEvents } from '../../subgraphs/history/stores/kafka/events.ts'
import { makeClient, type RedisClient } from '../../stores/redis/clients.ts'
import { openRedisHotStore } from '../../subgraphs/history/stores/redis/hot-store.ts'
import { checkRedisAtStart } from '../../stores/redis/verification.ts'

export type OpenStores = {
  hot: HotStore
  log: Log
  records: RecordStore
  /** If `history.progressTopic` is set. */
  progressEvents?: ProgressEvents | undefined
  /** The common stores of marks. */
  marks: MarkStores
  /** The stores of businesses with stores of their own. */
  tenants: ReadonlyMap<BusinessNumber, TenantStores>
  /** The stores of feed existence. */
  seen: SeenStores
  /** The stores of the feed. Undefined: the configuration has none. */
  feed: FeedStores | undefined
  /** The embedded stores: of all businesses, and of those with folders of their own. Undefined in the distributed shape. */
  embedded?: { environment: Environment; tenants: ReadonlyMap<BusinessNumber, Environment> }
  /** False while the embedded stores have no room for writes. Reads work. */
  takesWrites?(): boolean
  /** Rows and statements that a SQL record store sent. */
  sqlFigures?(): { rows: number; statements: number }
  /** Closes all stores. */
  close(): Promise<void>
}

/** Channels for changes between processes that share a data folder. */
export type Relays = { progress: ChangeRelay; counts: CountRelay }

const COUNTING_MAX_MS = 250
const DAY_MS = 86_400_000
/** A request waits this long for a failing hot store. Then the write is journaled. A job tries again anyway. */
const HOT_RETRY_MAX_MS = 2_000

/**
 * Opens the stores of the configured shape. `relays` carry changes between processes that share a data folder.
 * A server that does not answer is not an error here: later calls fail. Wrong credentials, schemas and region counts are errors:
 * DATA_INCOMPATIBLE, CONFIG_INVALID, TOPIC_MISSING.
 */
export async function openStores(config: Config, clock: Clock, logger: StoreLogger, relays?: Partial<Relays>): Promise<OpenStores> {
  const { redis, kafka, mysql } = config.stores
  if (redis && kafka && mysql) return openDistributed(config, clock, logger, { redis, kafka, mysql })
  return openEmbedded(config, clock, relays)
}

/**
 * The journals of a process that takes writes. Undefined in the embedded shape: its hot store is on the same disk and fails only together
 * with a journal.
 */
export function openJournals(config: Config): Journals | undefined {
  const { data, redis, sizeMaxGb } = config.stores
  return redis === undefined ? undefined : openLmdbJournals(data, { sizeMaxGb })
}

/**
 * The shared counters of rate limits: the servers of the hot store, on a separate connection. Undefined in the embedded shape, and if
 * nothing is limited.
 */
export function openCountingStore({ stores, limits }: Config): { client: RedisClient; prefix: string; close(): void } | undefined {
  const isCounted = [limits.viewer, limits.service, limits.client, limits.address, limits.anonymous].some(
    (rate) => rate !== undefined && rate !== 'none',
  )
  if (stores.redis === undefined || !isCounted) return undefined
  // A request waits only this long for its count. Then the process counts for itself.
  const client = makeClient({ ...stores.redis, commandTimeoutMs: COUNTING_MAX_MS })
  // Without a listener, an error would end the process. Failed calls report it, and the process counts in memory.
  client.on('error', () => {})
  return { client, prefix: stores.redis.prefix, close: () => client.disconnect() }
}

/** The journals of the data folder for an operator, with or without running processes. */
export function viewJournals(config: Config): JournalView[] {
  const { data, sizeMaxGb } = config.stores
  return [data, ...markJournalFolders(data)].flatMap((folder) =>
    viewLmdbJournals(folder, { sizeMaxGb }).map((view) => ({ ...view, name: join(relative(data, folder), view.name) })),
  )
}

function openEmbedded(config: Config, clock: Clock, { progress, counts }: Partial<Relays> = {}): OpenStores {
  const { data, regions, sizeMaxGb } = config.stores
  const environment = openEnvironment(data, { regions, sizeMaxGb })
  const hot = openLmdbHotStore(environment, progress === undefined ? {} : { relay: progress })
  const log = openLmdbLog(environment, clock)
  const records = openLmdbRecordStore(environment)
  const { marks, tenants, folders, close: closeMarks } = openEmbeddedMarks(config, clock, environment, counts)
  const { seen, close: closeSeen } = openEmbeddedSeen(config, clock, environment)
  const opened = hasFeed(config) ? openEmbeddedFeed(config, clock, environment) : undefined
  return {
    hot,
    log,
    records,
    marks,
    tenants,
    seen,
    feed: opened?.feed,
    embedded: { environment, tenants: folders },
    takesWrites: () => !environment.isFull(),
    async close() {
      await opened?.close()
      await closeSeen()
      await closeMarks()
      await log.close()
      await hot.close()
      await records.close()
      await environment.close()
    },
  }
}

async function openDistributed(
  config: Config,
  clock: Clock,
  logger: StoreLogger,
  { redis, kafka, mysql }: Distributed,
): Promise<OpenStores> {
  const { regions } = config.stores
  const { retentionDays } = config.history
  const expireMs = retentionDays === 'forever' ? 0 : (retentionDays + 1) * DAY_MS
  return openTogether(async (keep) => {
    const hot = await keep(openRedisHotStore({ ...redis, regions, expireMs, retryMaxMs: HOT_RETRY_MAX_MS }))
    await checkRedisAtStart(hot)
    const records = await keep(openMysqlRecordStore({ ...mysql, regions }, clock))
    const { topicPrefix, groupId } = kafka
    const log = await keep(
      openKafkaLog({ connection: kafkaConnection(kafka), regions, topicPrefix, groupId, mayBeDown: true }, { clock, logger }),
    )
    const connection = kafkaConnection(kafka)
    const progressEvents = config.history.progressTopic
      ? await keep(openKafkaProgressEvents({ connection, regions, topicPrefix }, { clock, logger }))
      : undefined
    const { marks, tenants } = await keep(openDistributedMarks(config, clock, logger, { redis, kafka, mysql }))
    const { seen } = await keep(openDistributedSeen(config, clock, logger, { redis, kafka, mysql }))
    const feed = hasFeed(config) ? (await keep(openDistributedFeed(config, clock, logger, { redis, kafka, mysql }))).feed : undefined
    return { hot, log, records, progressEvents, marks, tenants, seen, feed, sqlFigures: records.figures }
  })
}
