/** Configuration → the stores of feed existence, on the servers or in the data folder of history (`history.ts`). */
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { ringOf } from '../../config/feed-existence.ts'
import type { SeenStores } from '../../subgraphs/feed-existence/stores/guarded.ts'
import { openKafkaPlayLog } from '../../subgraphs/feed-existence/stores/kafka/play-log.ts'
import type { Environment } from '../../stores/lmdb/environment.ts'
import { openLmdbPlayLog } from '../../subgraphs/feed-existence/stores/lmdb/play-log.ts'
import { openLmdbSeenRecords } from '../../subgraphs/feed-existence/stores/lmdb/record-store.ts'
import { openLmdbSeenStore } from '../../subgraphs/feed-existence/stores/lmdb/hot-store.ts'
import { openMysqlSeenRecords } from '../../subgraphs/feed-existence/stores/mysql/record-store.ts'
import { openRedisLegacyPlays } from '../../subgraphs/feed-existence/stores/redis/legacy-plays.ts'
import { openRedisSeenStore } from '../../subgraphs/feed-existence/stores/redis/hot-store.ts'
import type { LegacyPlays } from '../../subgraphs/feed-existence/stores/legacy-plays.ts'
import { kafkaConnection, type Distributed, type StoreLogger } from './servers.ts'

export type OpenSeen = { seen: SeenStores; close(): Promise<void> }

/** A request waits this long for a failing hot store. Then the plays go to the log. */
const HOT_RETRY_MAX_MS = 2_000

export function openEmbeddedSeen(config: Config, clock: Clock, environment: Environment): OpenSeen {
  const seen = {
    hot: openLmdbSeenStore(environment, ringOf(config)),
    log: openLmdbPlayLog(environment, clock),
    records: openLmdbSeenRecords(environment),
    legacy: openLegacy(config, clock),
  }
  return { seen, close: () => closeSeen(seen) }
}

export async function openDistributedSeen(
  config: Config,
  clock: Clock,
  logger: StoreLogger,
  { redis, kafka, mysql }: Distributed,
): Promise<OpenSeen> {
  const { regions } = config.stores
  const hot = openRedisSeenStore({ ...redis, ...ringOf(config), regions, retryMaxMs: HOT_RETRY_MAX_MS })
  try {
    const records = await openMysqlSeenRecords({ ...mysql, regions }, clock)
    const { topicPrefix } = kafka
    const log = openKafkaPlayLog({ connection: kafkaConnection(kafka), regions, topicPrefix }, { clock, logger })
    const seen = { hot, log, records, legacy: openLegacy(config, clock) }
    return { seen, close: () => closeSeen(seen) }
  } catch (error) {
    await hot.close()
    throw error
  }
}

/** Connects in the background and never fails. */
export function openLegacy({ existence: { legacy }, businesses }: Config, clock: Clock): LegacyPlays | undefined {
  if (legacy === undefined) return undefined
  return openRedisLegacyPlays({ ...legacy, names: new Map(businesses.map(({ number, name }) => [number, name])) }, clock)
}

async function closeSeen({ hot, log, records, legacy }: SeenStores): Promise<void> {
  await legacy?.close()
  await log.close()
  await hot.close()
  await records.close()
}
