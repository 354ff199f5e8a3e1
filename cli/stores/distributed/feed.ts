/** Configuration → the stores of the feed on the servers. */
import type { Clock } from '../../../core/clock.ts'
import type { Config } from '../../../config/config.ts'
import { counterSchemasOf } from '../../../subgraphs/feed/counters/schemas.ts'
import { openMysqlCounterRecords } from '../../../subgraphs/feed/stores/mysql/counters/counter-records.ts'
import { openMysqlFeedRecords } from '../../../subgraphs/feed/stores/mysql/record-store.ts'
import { openRedisCounterStore } from '../../../subgraphs/feed/stores/redis/counters/counter-store.ts'
import { openRedisFeedStore } from '../../../subgraphs/feed/stores/redis/hot-store.ts'
import { openRedisLongsets } from '../../../subgraphs/feed/stores/redis/longsets.ts'
import { openKafkaLog } from '../../../writeback/stores/kafka/log.ts'
import type { FeedRecordStores, OpenFeedStores } from '../feed.ts'
import {
  HOT_RETRY_MAX_MS,
  kafkaConnection,
  openTogether,
  PARTITIONS_AT_ONCE,
  WINDOW_KEYS_MAX,
  type Distributed,
  type StoreLogger,
} from '../servers.ts'

export async function openDistributedFeed(
  config: Config,
  clock: Clock,
  logger: StoreLogger,
  { redis, kafka, mysql }: Distributed,
): Promise<OpenFeedStores> {
  const { regions } = config.stores
  return openTogether(async (keep) => {
    // While it fails for HOT_RETRY_MAX_MS, a request waits. Then a publication is refused, and a page is read without it.
    const servers = { ...redis, regions, retryMaxMs: HOT_RETRY_MAX_MS }
    const hot = await keep(openRedisFeedStore(servers))
    const longsets = await keep(openRedisLongsets(servers))
    const records = await keep(openMysqlFeedRecords({ ...mysql, regions }, clock))
    const counters = {
      hot: await keep(openRedisCounterStore(counterSchemasOf(config), servers)),
      records: await keep(openMysqlCounterRecords({ ...mysql, regions }, clock)),
    }
    const log = await keep(
      openKafkaLog(
        {
          connection: kafkaConnection(kafka),
          regions,
          topicPrefix: kafka.topicPrefix,
          stream: 'feed',
          mayBeDown: true,
          batchKeysMax: WINDOW_KEYS_MAX,
          partitionsAtOnce: PARTITIONS_AT_ONCE,
        },
        { clock, logger },
      ),
    )
    return { feed: { hot, longsets, log, records, counters } }
  })
}

export async function openMysqlRecords(mysql: Distributed['mysql'] & { regions: number }, clock: Clock): Promise<FeedRecordStores> {
  return openTogether(async (keep) => {
    const posts = await keep(openMysqlFeedRecords(mysql, clock))
    return { posts, counters: await keep(openMysqlCounterRecords(mysql, clock)) }
  })
}
