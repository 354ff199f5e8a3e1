/** Configuration → the stores of marks on the servers: the common ones, and those of businesses with servers of their own. */
import type { BusinessConfig, Config } from '../../../config/config.ts'
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber } from '../../../core/domain.ts'
import { tenantTopicPrefix } from '../../../subgraphs/thumbup/model/streams.ts'
import type { CountCache } from '../../../subgraphs/thumbup/stores/count-cache.ts'
import type { MarkEvents } from '../../../subgraphs/thumbup/stores/events.ts'
import type { MarkStores } from '../../../subgraphs/thumbup/stores/guarded.ts'
import { openKafkaMarkEvents } from '../../../subgraphs/thumbup/stores/kafka/events.ts'
import { openMysqlMarkRecords } from '../../../subgraphs/thumbup/stores/mysql/record-store.ts'
import { openRedisCountCache } from '../../../subgraphs/thumbup/stores/redis/count-cache.ts'
import { openRedisMarkStore } from '../../../subgraphs/thumbup/stores/redis/hot-store.ts'
import { withSecondCache } from '../../../subgraphs/thumbup/stores/second-cache.ts'
import { openKafkaLog } from '../../../writeback/stores/kafka/log.ts'
import {
  HOT_RETRY_MAX_MS,
  kafkaConnection,
  loggerOf,
  openTogether,
  PARTITIONS_AT_ONCE,
  WINDOW_KEYS_MAX,
  type Distributed,
  type StoreLogger,
} from '../servers.ts'
import { redisSettingOf, tenantsOf, type OpenMarks } from '../thumbup.ts'

const DAY_MS = 86_400_000
/** Counts are also in the record store, so a request does not wait long for a cache. */
const COUNTS_RETRY_MAX_MS = 500

export async function openDistributedMarks(
  config: Config,
  clock: Clock,
  logger: StoreLogger,
  { redis, kafka, mysql }: Distributed,
): Promise<OpenMarks> {
  const { regions } = config.stores
  return openTogether(async (keep) => {
    /** A mistake in the settings of a tenant's servers does not stop the start. These servers count as down, and other tenants are unaffected. */
    async function openOf(servers: Distributed, topicPrefix: string, events: MarkEvents, tenant?: BusinessConfig): Promise<MarkStores> {
      const mayBeUnfit = tenant !== undefined
      const redis = { ...servers.redis, regions, mayBeUnfit, setting: redisSettingOf(tenant?.thumbup.stores?.redis && tenant.name) }
      return {
        // While it fails for HOT_RETRY_MAX_MS, a request waits. Then the mark is journaled.
        hot: await keep(openRedisMarkStore({ ...redis, expireMs: idleMsOf(config), retryMaxMs: HOT_RETRY_MAX_MS })),
        cache: await keep(openCountCache(clock, redis)),
        log: await keep(
          openKafkaLog(
            {
              connection: kafkaConnection(kafka),
              regions,
              topicPrefix,
              stream: 'marks',
              mayBeDown: true,
              mayBeUnfit,
              batchKeysMax: WINDOW_KEYS_MAX,
              partitionsAtOnce: PARTITIONS_AT_ONCE,
            },
            { clock, logger: tenant === undefined ? logger : loggerOf(logger, tenant.name) },
          ),
        ),
        records: await keep(openMysqlMarkRecords({ ...servers.mysql, regions, mayBeUnfit }, clock)),
        events,
      }
    }

    const connection = kafkaConnection(kafka)
    const events = await keep(openKafkaMarkEvents({ connection, regions, topicPrefix: kafka.topicPrefix }, { clock, logger }))
    const marks = await openOf({ redis, kafka, mysql }, kafka.topicPrefix, events)
    const tenants = new Map<BusinessNumber, MarkStores>()
    for (const business of tenantsOf(config)) {
      const own = { redis: business.thumbup.stores?.redis ?? redis, kafka, mysql: business.thumbup.stores?.mysql ?? mysql }
      tenants.set(business.number, await openOf(own, tenantTopicPrefix(kafka.topicPrefix, business.name), events, business))
    }
    return { marks, tenants }
  })
}

type CacheServers = Distributed['redis'] & { regions: number; mayBeUnfit: boolean; setting: string }

/** The second Redis is another server, with its own address, account, TLS and prefix. The credentials of the first are never sent to it. */
export function openCountCache(clock: Clock, { second, ...first }: CacheServers): CountCache {
  const cache = openRedisCountCache({ ...first, retryMaxMs: COUNTS_RETRY_MAX_MS })
  if (second === undefined) return cache
  const { regions, mayBeUnfit, setting } = first
  const own = { ...second, regions, mayBeUnfit, setting: `${setting}.second`, retryMaxMs: COUNTS_RETRY_MAX_MS }
  return withSecondCache(clock, cache, openRedisCountCache(own))
}

/** A viewer who is loaded again has no undone marks, so a viewer stays for as long as tombstones do. */
function idleMsOf({ thumbup: { idleMs, tombstoneMs } }: Config): number {
  return Math.max(idleMs, tombstoneMs + DAY_MS)
}
