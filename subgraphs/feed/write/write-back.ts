/**
 * The write-back of the feed: changed keys go to the log, and from there to the record store. There is no journal. While the hot store is
 * down, publications are refused, and the client repeats them with the same key.
 */
import type { Clock } from '../../../core/clock.ts'
import type { FeedConfig } from '../../../config/feed.ts'
import { liveSettings } from '../../../config/live/live-view.ts'
import { AGGREGATOR_SETTINGS } from '../../../writeback/aggregator.ts'
import { makeWriteBack, type WriteBack, type WriteBackStores } from '../../../writeback/write-back.ts'
import { persistByKind, subjectsOf, type FeedPersistSteps } from '../persist/steps.ts'

const DIRECT_PERSISTS_MAX = 4
const DIRECT_PERSISTS_WAITING_MAX = 1_000

/** `steps`: from store to store, without guards. */
export function makeFeedWriteBack(
  clock: Clock,
  stores: Pick<WriteBackStores, 'log' | 'breakers'>,
  { persist, counters }: FeedPersistSteps,
  { regions, feed }: { regions: number; feed: Pick<FeedConfig, 'flushKeysMax' | 'flushAgeMaxMs' | 'aggregatorKeysMax'> },
  onError: (error: unknown) => void,
): WriteBack {
  return makeWriteBack(
    clock,
    { ...stores, journals: undefined },
    { persist: (keys) => persistByKind(keys, persist, (counts) => counters.persist(subjectsOf(counts))) },
    {
      regions,
      aggregator: liveSettings(() => feed, AGGREGATOR_SETTINGS),
      flusher: { directMax: DIRECT_PERSISTS_MAX, directWaitingMax: DIRECT_PERSISTS_WAITING_MAX },
      journaling: {},
    },
    onError,
  )
}
