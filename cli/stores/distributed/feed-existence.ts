/** Configuration → the stores of feed existence on the servers. */
import type { Clock } from '../../../core/clock.ts'
import type { Config } from '../../../config/config.ts'
import { ringOf } from '../../../config/feed-existence.ts'
import { openKafkaPlayLog } from '../../../subgraphs/feed-existence/stores/kafka/play-log.ts'
import { openMysqlSeenRecords } from '../../../subgraphs/feed-existence/stores/mysql/record-store.ts'
import { openRedisSeenStore } from '../../../subgraphs/feed-existence/stores/redis/hot-store.ts'
import { closeSeen, type OpenSeen } from '../feed-existence.ts'
import { HOT_RETRY_MAX_MS, kafkaConnection, type Distributed, type StoreLogger } from '../servers.ts'
import { openLegacy } from './legacy.ts'

export async function openDistributedSeen(
  config: Config,
  clock: Clock,
  logger: StoreLogger,
  { redis, kafka, mysql }: Distributed,
): Promise<OpenSeen> {
  const { regions } = config.stores
  // While it fails for HOT_RETRY_MAX_MS, a request waits. Then the plays go to the log.
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
