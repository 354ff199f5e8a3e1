/**
 * The three ports as the service uses them, each behind a breaker, so that a failed store costs a request nothing. The record store also
 * has a limit that follows its latency (`record-reads.ts`): if the hot store is down, every read of every viewer would go there, and it is
 * not sized for that. Jobs use the ports without breakers: they may wait, and they retry without limit.
 *
 * The hot store's breaker has one part per part of the store (`part-breaker.ts`): lost regions of a Cluster do not affect the others.
 *
 * The time that a viewer waits is bounded here only for adapters that are patient on purpose: a record store may need time for a large
 * upsert, and a log for a new leader. Hot stores bound their calls themselves.
 */
import type { HotStore } from './hot-store.ts'
import type { Log } from '../../../writeback/log.ts'
import type { RecordStore } from './record-store.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Breaker } from '../../../core/outage/breaker.ts'
import type { PartBreaker } from '../../../core/outage/part-breaker.ts'
import { makeRecordReads, type RecordReads, type RecordReadsFigures } from '../../../core/outage/record-reads.ts'
import {
  confirmByParts,
  guardMethods,
  makeStoreBreakers,
  viewersOf,
  type GuardOptions,
  type StoreBreakers,
} from '../../../core/outage/guard.ts'
import { guardLog } from '../../../writeback/guarded-log.ts'

export type Stores = { hot: HotStore; log: Log; records: RecordStore }

export type GuardedStores = Stores & {
  breakers: StoreBreakers
  recordReads(): RecordReadsFigures
  /** Ends the checks; the stores stay open. */
  stop(): void
}

export function guardStores(clock: Clock, stores: Stores, options: GuardOptions, onError: (error: unknown) => void): GuardedStores {
  const { hot, log, records } = stores
  const breakers = makeStoreBreakers(clock, stores, options, onError)
  const reads = makeRecordReads(clock, breakers.recordStore, records, options, breakers.hotStore.isOpenForMany)
  return {
    hot: guardHot(hot, breakers.hotStore),
    log: guardLog(log, breakers.log),
    records: guardRecords(records, reads, breakers.recordStore),
    breakers,
    recordReads: reads.figures,
    stop() {
      for (const breaker of Object.values(breakers)) breaker.stop()
    },
  }
}

function guardHot(hot: HotStore, breaker: PartBreaker): HotStore {
  const { run, isOpenFor } = breaker
  const guarded = guardMethods(hot, run, {
    putProgress: viewersOf,
    deleteProgress: viewersOf,
    clearProgress: (viewer) => [viewer],
    setPaused: (viewer) => [viewer],
    getSettings: (viewer) => [viewer],
    getProgressMany: viewersOf,
    listTimeline: (viewer) => [viewer],
    listChanges: (viewer) => [viewer],
    readDirtyProgress: viewersOf,
  })
  return {
    ...guarded,
    confirmRewards: (rewards) => confirmByParts(rewards, breaker, hot.confirmRewards),
    // Following has its own connections. Their failure tells nothing about reads and writes.
    followProgress: (viewer, listener, onGap) => {
      const follow = () => hot.followProgress(viewer, listener, onGap)
      return isOpenFor(viewer) ? run([viewer], follow) : follow()
    },
  }
}

function guardRecords(records: RecordStore, { run }: RecordReads, breaker: Breaker): RecordStore {
  const guarded = guardMethods(records, run, {
    getProgressMany: (keys) => ({ kind: 'getProgressMany', size: keys.length, of: keys }),
    getSettingsMany: (viewers) => ({ kind: 'getSettingsMany', size: viewers.length }),
    listProgress: (_, businesses, _before, limit) => ({
      kind: 'listProgress',
      size: limit,
      of: businesses.map((business) => ({ business })),
      isPage: true,
    }),
  })
  // A walk in the background has one read at a time, and takes no place among those of viewers.
  return { ...guarded, listAllProgress: (...asked) => breaker.run(() => records.listAllProgress(...asked)) }
}
