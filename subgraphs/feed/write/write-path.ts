/** The write path of one process: the service, the counters, and the way of changed keys to the record store. */
import { requireEnabled } from '../../../config/businesses.ts'
import { postBusinessOf } from '../../../config/feed.ts'
import { liveView } from '../../../config/live/live-view.ts'
import type { Config } from '../../../config/config.ts'
import type { Clock } from '../../../core/clock.ts'
import type { FlushedKey, Subject } from '../../../core/domain.ts'
import type { GuardOptions } from '../../../core/outage/guard.ts'
import type { WriteBack } from '../../../writeback/write-back.ts'
import { guardCounterStores, type CounterStores } from '../counters/guarded.ts'
import { persistCounts } from '../counters/persist.ts'
import { counterSchemasOf } from '../counters/schemas.ts'
import { makeReadSamples, type ReadSamples } from '../counters/read-samples.ts'
import { makeCounterService, type CounterService } from '../counters/service.ts'
import { flushedKeyOf } from '../model/dirty-keys.ts'
import { persistFeed } from '../persist/persist.ts'
import type { FeedPersistSteps } from '../persist/steps.ts'
import type { FeedStores, GuardedFeedStores } from '../stores/guarded.ts'
import { makeFeedService, type FeedService, type FeedServiceParts } from './service.ts'
import { makeFeedWriteBack } from './write-back.ts'

export type FeedWriteStores = FeedStores & { counters: CounterStores }

export type FeedWritePath = {
  service: FeedService
  counters: CounterService
  reads: ReadSamples
  /** Resolves when no read waits to be counted, and no fill is under way. */
  settled(): Promise<void>
  /** The persist steps, from store to store, without guards. */
  steps: FeedPersistSteps
  writeBack: WriteBack
}

/** `posts`: as in `FeedServiceParts`. */
export function makeFeedWritePath(
  clock: Clock,
  stores: FeedWriteStores,
  guarded: GuardedFeedStores,
  posts: FeedServiceParts['posts'],
  config: Config,
  guard: GuardOptions,
  onError: (error: unknown) => void,
): FeedWritePath {
  const { feed } = config
  const { regions } = config.stores
  /** A live version never renames or removes it. */
  const posted = () => postBusinessOf(config) as Config['businesses'][number]
  const business = posted().number
  const schemas = counterSchemasOf(config)
  const counters = makeCounterService(
    clock,
    guardCounterStores(clock, stores.counters, guarded.breakers, guard),
    schemas,
    { aggregate: (key) => writeBack.aggregate(key), fillsReads: config.stores.redis !== undefined },
    onError,
  )
  const persistStores = { ...stores, adjust: counters.adjust }
  const steps: FeedPersistSteps = {
    persist: (keys: readonly FlushedKey[]) =>
      persistFeed(persistStores, keys, { now: clock.now(), keepMs: feed.keepMs, business }, onError),
    counters: {
      persist: (subjects: readonly Subject[]) => persistCounts(stores.counters, schemas, subjects),
      listDirty: stores.counters.hot.listDirty,
    },
  }
  const writeBack = makeFeedWriteBack(clock, guarded, steps, { regions, feed: liveView(() => config.feed) }, onError)
  const service = makeFeedService(
    clock,
    { hot: guarded.hot, posts, count: counters.adjust, aggregate: (key) => writeBack.aggregate(flushedKeyOf(key)), onError },
    { business, regions, keepMs: feed.keepMs, admit: () => void requireEnabled(posted()) },
  )
  const reads = makeReadSamples({ posts, count: counters.adjust }, { business: posted, regions, oneIn: feed.readSample }, onError)
  async function settled(): Promise<void> {
    await reads.settled()
    await counters.settled()
  }
  return { service, counters, reads, settled, steps, writeBack }
}
