/** Configuration → the stores of the feed, on the servers or in the data folder of history (`history.ts`). */
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { openEnvironment, type Environment } from '../../stores/lmdb/environment.ts'
import type { CounterStores } from '../../subgraphs/feed/counters/guarded.ts'
import { counterSchemasOf } from '../../subgraphs/feed/counters/schemas.ts'
import type { FeedStores as GuardableStores } from '../../subgraphs/feed/stores/guarded.ts'
import { openLmdbCounterRecords } from '../../subgraphs/feed/stores/lmdb/counters/counter-records.ts'
import { openLmdbCounterStore } from '../../subgraphs/feed/stores/lmdb/counters/counter-store.ts'
import { openLmdbFeedStore } from '../../subgraphs/feed/stores/lmdb/hot-store.ts'
import { openLmdbLongsets } from '../../subgraphs/feed/stores/lmdb/longsets.ts'
import { openLmdbFeedRecords } from '../../subgraphs/feed/stores/lmdb/record-store.ts'
import type { CounterRecords } from '../../subgraphs/feed/stores/counter-records.ts'
import type { FeedRecords } from '../../subgraphs/feed/stores/record-store.ts'
import type { LongsetStore } from '../../subgraphs/feed/stores/longset-store.ts'
import { openLmdbLog } from '../../writeback/stores/lmdb/log.ts'
import { closeAll, WINDOW_KEYS_MAX } from './servers.ts'

export type FeedStores = GuardableStores & { longsets: LongsetStore; counters: CounterStores }

export type OpenFeedStores = { feed: FeedStores; close(): Promise<void> }

/** Keys of counters wait for the end of a window, so a batch takes all waiting messages at once. */
const WINDOW_MESSAGES_MAX = 50_000

export function openEmbeddedFeed(config: Config, clock: Clock, environment: Environment): OpenFeedStores {
  const counters = { hot: openLmdbCounterStore(environment, counterSchemasOf(config)), records: openLmdbCounterRecords(environment) }
  const feed: FeedStores = {
    hot: openLmdbFeedStore(environment),
    longsets: openLmdbLongsets(environment, clock),
    log: openLmdbLog(environment, clock, { stream: 'feed', keysMax: WINDOW_KEYS_MAX, messagesMax: WINDOW_MESSAGES_MAX }),
    records: openLmdbFeedRecords(environment),
    counters,
  }
  return { feed, close: () => closeAll([counters.records, counters.hot, feed.records, feed.longsets, feed.hot, feed.log]) }
}

/** The record stores alone, for exports and imports. */
export type FeedRecordStores = { posts: FeedRecords; counters: CounterRecords; close(): Promise<void> }

export async function openFeedRecords(config: Config, clock: Clock): Promise<FeedRecordStores> {
  const { data, regions, sizeMaxGb, mysql } = config.stores
  if (mysql === undefined) {
    const environment = openEnvironment(data, { regions, sizeMaxGb })
    const [posts, counters] = [openLmdbFeedRecords(environment), openLmdbCounterRecords(environment)]
    return { posts, counters, close: () => closeAll([counters, posts, environment]) }
  }
  const { openMysqlRecords } = await import('./distributed/feed.ts')
  return openMysqlRecords({ ...mysql, regions }, clock)
}
