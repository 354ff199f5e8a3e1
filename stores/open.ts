/** Configuration → adapters. The only file that names them all. */
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { HotStore } from './hot-store.ts'
import type { Journals, JournalView } from './journal.ts'
import { openKafkaLog } from './kafka/kafka-log.ts'
import { openEnvironment } from './lmdb/environment.ts'
import type { ChangeRelay } from './lmdb/changes.ts'
import { openLmdbHotStore } from './lmdb/hot-store.ts'
import { openLmdbJournals, viewLmdbJournals } from './lmdb/journal.ts'
import { openLmdbLog } from './lmdb/log.ts'
import { openLmdbRecordStore } from './lmdb/record-store.ts'
import type { Log } from './log.ts'
import { openMysqlRecordStore } from './mysql/record-store.ts'
import type { RecordStore } from './record-store.ts'
import { makeClient, type RedisClient } from './redis/clients.ts'
import { openRedisHotStore } from './redis/hot-store.ts'
import { checkRedisAtStart } from './redis/verification.ts'

export type OpenStores = {
  hot: HotStore
  log: Log
  records: RecordStore
  /** Of a record store that speaks SQL: the rows it sent, and the statements they went in. */
  sqlFigures?(): { rows: number; statements: number }
  /** Closes what is open, what was acknowledged first. */
  close(): Promise<void>
}

/** Where adapters say what they do by themselves, such as connecting again. pino's fits. */
export type StoreLogger = Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>

type Redis = NonNullable<Config['stores']['redis']>
type Kafka = NonNullable<Config['stores']['kafka']>
type Mysql = NonNullable<Config['stores']['mysql']>

const COUNTING_MAX_MS = 250
const DAY_MS = 86_400_000
/** A viewer waits this long for a hot store that is just failing; then his write is journaled. A job tries again anyway. */
const HOT_RETRY_MAX_MS = 2_000

/**
 * Opens the three stores of the configured shape. `relay` carries changes between processes that share a data folder.
 * Servers that do not answer are no error here, calls say so; wrong credentials, schemas and region counts are:
 * DATA_INCOMPATIBLE, CONFIG_INVALID, TOPIC_MISSING.
 */
export async function openStores(config: Config, clock: Clock, logger: StoreLogger, relay?: ChangeRelay): Promise<OpenStores> {
  const { redis, kafka, mysql } = config.stores
  if (redis && kafka && mysql) return openDistributed(config, clock, logger, { redis, kafka, mysql })
  return openEmbedded(config, clock, relay)
}

/**
 * The journals of a process that takes writes. Undefined in the embedded shape: its hot store is on the same disk, and down
 * only when the journal would be too.
 */
export function openJournals(config: Config): Journals | undefined {
  const { data, redis, sizeMaxGb } = config.stores
  return redis === undefined ? undefined : openLmdbJournals(data, { sizeMaxGb })
}

/**
 * Where rate limits are counted together by all processes: the servers of the hot store, on a connection of its own.
 * Undefined in the embedded shape, and where nothing is limited.
 */
export function openCountingStore({ stores, limits }: Config): { client: RedisClient; prefix: string; close(): void } | undefined {
  if (stores.redis === undefined || Object.keys(limits).length === 0) return undefined
  // Nobody's request waits long for being counted: after this the process counts for itself.
  const client = makeClient({ ...stores.redis, commandTimeoutMs: COUNTING_MAX_MS })
  // Without a listener an error would end the process; each call says what is wrong, and counting goes on in memory.
  client.on('error', () => {})
  return { client, prefix: stores.redis.prefix, close: () => client.disconnect() }
}

/** The journals of the data folder, for an operator, whether their processes run or not. */
export function viewJournals(config: Config): JournalView[] {
  const { data, sizeMaxGb } = config.stores
  return viewLmdbJournals(data, { sizeMaxGb })
}

function openEmbedded(config: Config, clock: Clock, relay: ChangeRelay | undefined): OpenStores {
  const { data, regions, sizeMaxGb } = config.stores
  const environment = openEnvironment(data, { regions, sizeMaxGb })
  const hot = openLmdbHotStore(environment, relay === undefined ? {} : { relay })
  const log = openLmdbLog(environment, clock)
  const records = openLmdbRecordStore(environment)
  return {
    hot,
    log,
    records,
    async close() {
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
  { redis, kafka, mysql }: { redis: Redis; kafka: Kafka; mysql: Mysql },
): Promise<OpenStores> {
  const { regions } = config.stores
  const { retentionDays } = config.history
  const expireMs = retentionDays === 'forever' ? 0 : (retentionDays + 1) * DAY_MS
  const hot = openRedisHotStore({ ...redis, regions, expireMs, retryMaxMs: HOT_RETRY_MAX_MS })
  try {
    await checkRedisAtStart(hot)
    const records = await openMysqlRecordStore({ ...mysql, regions }, clock)
    try {
      const { topicPrefix, groupId } = kafka
      const log = await openKafkaLog(
        { connection: kafkaConnection(kafka), regions, topicPrefix, groupId, mayBeDown: true },
        { clock, logger },
      )
      return { hot, log, records, sqlFigures: records.figures, close: () => closeAll([log, hot, records]) }
    } catch (error) {
      await records.close()
      throw error
    }
  } catch (error) {
    await hot.close()
    throw error
  }
}

export function kafkaConnection({ brokers, tls, sasl }: Kafka) {
  return { brokers, ...(tls && { tls }), ...(sasl && { sasl }) }
}

async function closeAll(stores: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const store of stores) await store.close()
}
