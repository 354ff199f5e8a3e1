/** Configuration → all stores of the distributed shape. */
import type { Clock } from '../../../core/clock.ts'
import type { Config } from '../../../config/config.ts'
import { hasFeed } from '../../../config/feed.ts'
import { checkRedisAtStart } from '../../../stores/redis/verification.ts'
import { openKafkaProgressEvents } from '../../../subgraphs/history/stores/kafka/events.ts'
import { openMysqlRecordStore } from '../../../subgraphs/history/stores/mysql/record-store.ts'
import { openRedisHotStore } from '../../../subgraphs/history/stores/redis/hot-store.ts'
import { openKafkaLog } from '../../../writeback/stores/kafka/log.ts'
import type { OpenStores } from '../history.ts'
import { HOT_RETRY_MAX_MS, kafkaConnection, openTogether, type Distributed, type StoreLogger } from '../servers.ts'
import { openDistributedSeen } from './feed-existence.ts'
import { openDistributedFeed } from './feed.ts'
import { openDistributedMarks } from './thumbup.ts'

const DAY_MS = 86_400_000

export async function openDistributed(
  config: Config,
  clock: Clock,
  logger: StoreLogger,
  { redis, kafka, mysql }: Distributed,
): Promise<OpenStores> {
  const { regions } = config.stores
  const { retentionDays } = config.history
  const expireMs = retentionDays === 'forever' ? 0 : (retentionDays + 1) * DAY_MS
  return openTogether(async (keep) => {
    // While it fails for HOT_RETRY_MAX_MS, a request waits. Then the write is journaled. A job tries again anyway.
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
