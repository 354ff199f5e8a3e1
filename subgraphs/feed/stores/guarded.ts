/**
 * The ports of the feed as the service uses them, each behind a breaker, so that a failed store costs a request nothing
 * (`core/outage/guard.ts` has the details). The job uses the ports without breakers.
 */
import type { Clock } from '../../../core/clock.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { guardMethods, makeStoreBreakers, type GuardOptions, type StoreBreakers } from '../../../core/outage/guard.ts'
import type { PartBreaker } from '../../../core/outage/part-breaker.ts'
import { makeRecordReads, type RecordReads, type RecordReadsFigures } from '../../../core/outage/record-reads.ts'
import { guardLog } from '../../../writeback/guarded-log.ts'
import type { Log } from '../../../writeback/log.ts'
import { regionOfPost } from '../packed/post-id.ts'
import type { FeedHotStore } from './hot-store.ts'
import type { LongsetStore } from './longset-store.ts'
import type { FeedRecords } from './record-store.ts'

export type FeedStores = { hot: FeedHotStore; log: Log; records: FeedRecords }

export type GuardedFeedStores = FeedStores & {
  breakers: StoreBreakers
  recordReads(): RecordReadsFigures
  /** Calls of the hot store, longsets and counters included, and the sum of their durations in ms. */
  hotCalls(): { calls: number; ms: number }
  /** Ends the checks; the stores stay open. */
  stop(): void
}

/** `onDown` is called when a breaker opens. */
export function guardFeedStores(
  clock: Clock,
  stores: FeedStores,
  options: GuardOptions,
  onDown: (error: unknown) => void,
): GuardedFeedStores {
  const { hot, log, records } = stores
  const { hotStore, ...others } = makeStoreBreakers(clock, stores, options, onDown)
  const hotCalls = { calls: 0, ms: 0 }
  async function run<T>(viewers: readonly ViewerId[], task: () => Promise<T>): Promise<T> {
    const begun = clock.now()
    try {
      return await hotStore.run(viewers, task)
    } finally {
      hotCalls.calls++
      hotCalls.ms += clock.now() - begun
    }
  }
  const breakers = { ...others, hotStore: { ...hotStore, run } }
  const reads = makeRecordReads(clock, breakers.recordStore, records, options, breakers.hotStore.isOpenForMany)
  return {
    hot: guardHot(hot, breakers.hotStore),
    log: guardLog(log, breakers.log),
    records: guardRecords(records, reads),
    breakers,
    recordReads: reads.figures,
    hotCalls: () => ({ ...hotCalls }),
    stop() {
      for (const breaker of Object.values(breakers)) breaker.stop()
    },
  }
}

/** Longsets are in the hot store. Writers of marks forget sets without this guard (`cli/stores/follow-changes.ts`). */
export function guardLongsets(longsets: LongsetStore, { run }: PartBreaker): LongsetStore {
  return guardMethods(longsets, run, {
    get: (viewer) => [viewer],
    has: (viewer) => [viewer],
    countMany: (viewers) => [...viewers],
    beginBuild: (viewer) => [viewer],
    put: (viewer) => [viewer],
  })
}

function guardHot(hot: FeedHotStore, { run }: PartBreaker): FeedHotStore {
  return guardMethods(hot, run, {
    publish: ({ author }) => [author],
    addToInboxes: (_, viewers) => [...viewers],
    removeFromInboxes: (_, viewers) => [...viewers],
    delete: ({ author }) => [author],
    removeFromAudience: ({ author }) => [author],
    setWords: (viewer) => [viewer],
    getWords: (viewer) => [viewer],
    // A viewer whose id is the number of a region belongs to that region.
    getPostMany: (ids) => ids.map((id) => String(regionOfPost(id))),
    getOutboxMany: (authors) => [...authors],
    getInboxMany: (viewers) => [...viewers],
    listChanges: (since) => Array.from(since.keys(), String),
    noteChange: (viewer) => [viewer],
  })
}

function guardRecords(records: FeedRecords, { run }: RecordReads): FeedRecords {
  return guardMethods(records, run, {
    getPostMany: (ids) => ({ kind: 'getPostMany', size: ids.length }),
    getWordsMany: (viewers) => ({ kind: 'getWordsMany', size: viewers.length }),
    listOutboxMany: (authors, _, limit) => ({ kind: 'listOutboxMany', size: authors.length * limit, isPage: true }),
    listInboxMany: (viewers, _, limit) => ({ kind: 'listInboxMany', size: viewers.length * limit, isPage: true }),
  })
}
