/**
 * What an erasure leaves to time: bytes that no command reaches, each with the moment at which they are gone at the latest. Topics carry
 * keys and transitions, never a post, and positions only with `history.progressTopic`.
 */
import type { Config } from '../../config/config.ts'
import { hasFeed } from '../../config/feed.ts'
import { readRetentions } from '../../stores/kafka/retention.ts'
import { DAY_FLAG_MAX_MS } from '../../subgraphs/feed-existence/stores/redis/day-flags.ts'
import { kafkaConnection, type StoreLogger } from '../stores/servers.ts'
import type { Expiry } from './report.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

export type ExpiryOptions = {
  /** Milliseconds since the epoch: the end of the erasure. */
  now: number
  /** The free pages of the data folder are gone. */
  isCompacted: boolean
}

/** Rejects with LOG_UNAVAILABLE if Kafka does not tell how long it keeps messages. */
export async function expiriesOf(config: Config, logger: StoreLogger, { now, isCompacted }: ExpiryOptions): Promise<Expiry[]> {
  const after = (what: string, ms: number): Expiry => ({ what, until: new Date(now + ms).toISOString() })
  const open = (what: string): Expiry => ({ what, until: null })
  const { existence, cache, feed } = config
  const { kafka, redis } = config.stores
  const common: Expiry[] = [
    after('cached values of the feed, in Memcached and in the memory of processes', cache.ttlMs + MINUTE_MS),
    after('filters in the memory of processes', existence.cacheTtlMs),
    ...(hasFeed(config) ? [after('notes of changes in the hot store of the feed', feed.keepMs + feed.purgeEveryMs)] : []),
    open('backups that were made before: erase again after one is restored'),
    open('keys and marks of businesses that are no longer configured: configure the business again, and erase again'),
    open('answers in the caches of clients and proxies'),
  ]
  if (redis === undefined || kafka === undefined) {
    return [
      ...common,
      ...(isCompacted ? [] : [open('free pages of the data file, until LMDB uses them again: `viewer erase --compact` removes them')]),
    ]
  }
  const topics = await readRetentions(kafkaConnection(kafka), kafka.topicPrefix, logger)
  return [
    ...topics.map(({ topic, keptMs }) =>
      keptMs === undefined ? open(`topic ${topic}, which keeps messages without limit: set retention.ms`) : after(`topic ${topic}`, keptMs),
    ),
    after('lists of likers in the count cache, of subjects whose like was undone before', DAY_MS),
    after('day flags in the hot store of feed existence', DAY_FLAG_MAX_MS),
    after('counts of the rate limits', DAY_MS),
    ...common,
    open('append-only file and snapshots of Redis, until the next rewrite: BGREWRITEAOF and BGSAVE'),
    open('binary log of MySQL, until binlog_expire_logs_seconds'),
    open('redo log, undo log and free space in the data files of MySQL, until the server uses it again: OPTIMIZE TABLE'),
    open('journals in the data folders of other machines: erase there with --data'),
    ...(isCompacted ? [] : [open('free pages of journals in the data folder: `viewer erase --compact` removes them')]),
  ]
}
