/** Configuration → the stores of what viewers were served and watched, beside those of progress (`open.ts`): on the same servers, or in the same data folder. */
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { ringOf } from '../core/config-existence.ts'
import type { SeenStores } from '../core/guarded-seen-stores.ts'
import { openKafkaPlayLog } from './kafka/play-log.ts'
import type { Environment } from './lmdb/environment.ts'
import { openLmdbPlayLog } from './lmdb/play-log.ts'
import { openLmdbSeenRecords } from './lmdb/seen-records.ts'
import { openLmdbSeenStore } from './lmdb/seen-store.ts'
import { openMysqlSeenRecords } from './mysql/seen-records.ts'
import { openRedisLegacyPlays } from './redis/legacy-plays.ts'
import { openRedisSeenStore } from './redis/seen-store.ts'
import type { LegacyPlays } from './legacy-plays.ts'
import { kafkaConnection, type Distributed, type StoreLogger } from './servers.ts'

export type OpenSeen = { seen: SeenStores; close(): Promise<void> }

/** A viewer waits this long for a hot store that is just failing; then his plays go to the log. */
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
