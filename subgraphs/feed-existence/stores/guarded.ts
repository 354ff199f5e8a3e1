/**
 * The ports of what was seen as the service sees them: behind a breaker each, so that a store that is down costs a request
 * nothing (`guarded.ts` says more). The job uses them as they are.
 */
import type { LegacyPlays } from './legacy-plays.ts'
import type { PlayLog } from './play-log.ts'
import type { SeenRecords } from './record-store.ts'
import type { SeenStore } from './hot-store.ts'
import type { Clock } from '../../../core/clock.ts'
import type { ViewerId } from '../../../core/domain.ts'
import type { PartBreaker } from '../../../core/outage/part-breaker.ts'
import { makeRecordReads, type RecordReads, type RecordReadsFigures } from '../../../core/outage/record-reads.ts'
import { makeWriteWatch, type WriteWatch } from '../../../core/outage/write-watch.ts'
import {
  confirmByParts,
  guardMethods,
  makeStoreBreakers,
  viewersOf,
  type GuardOptions,
  type StoreBreakers,
} from '../../../core/outage/guard.ts'

/** `legacy`: while viewers are moved from it. */
export type SeenStores = { hot: SeenStore; log: PlayLog; records: SeenRecords; legacy?: LegacyPlays | undefined }

export type GuardedSeenStores = SeenStores & {
  breakers: StoreBreakers
  recordReads(): RecordReadsFigures
  /** Does the hot store, which answers, also take what is written? */
  writes: WriteWatch
  /** Ends the asking; the stores stay open. */
  stop(): void
}

export function guardSeenStores(
  clock: Clock,
  stores: SeenStores,
  options: GuardOptions,
  onError: (error: unknown) => void,
  onRefused: (error: unknown) => void = onError,
): GuardedSeenStores {
  const { hot, log, records } = stores
  const { checkEveryMs = 1_000 } = options
  const breakers = makeStoreBreakers(clock, stores, options, onError)
  const writes = makeWriteWatch(clock, hot, { checkEveryMs }, onRefused)
  const reads = makeRecordReads(clock, breakers.recordStore, records, options, breakers.hotStore.isOpen, 'filters')
  return {
    hot: guardHot(hot, breakers.hotStore, writes),
    log: { ...log, appendPlays: (plays) => breakers.log.run(() => log.appendPlays(plays)) },
    records: guardRecords(records, reads),
    breakers,
    recordReads: reads.figures,
    writes,
    stop() {
      writes.stop()
      for (const breaker of Object.values(breakers)) breaker.stop()
    },
  }
}

function guardHot(hot: SeenStore, breaker: PartBreaker, watch: WriteWatch): SeenStore {
  const { run } = breaker
  function write<T>(viewers: readonly ViewerId[], call: () => Promise<T>): Promise<T> {
    return run(viewers, call).catch((error: unknown) => {
      watch.failed(viewers, error)
      throw error
    })
  }

  const reading = guardMethods(hot, run, {
    // Layouts are of no viewer, and are read before the first play is staged.
    getRingLayouts: () => [],
    getSeen: (viewer) => [viewer],
    getSeenMany: viewersOf,
  })
  return {
    ...guardMethods(reading, write, { putIssued: (viewer) => [viewer], stagePlays: viewersOf, putRingLayout: () => [] }),
    confirmRewards: (rewards) => confirmByParts(rewards, breaker, hot.confirmRewards),
  }
}

/** Filters cover all businesses together. */
function guardRecords(records: SeenRecords, { run }: RecordReads): SeenRecords {
  return guardMethods(records, run, { getFilters: (keys) => ({ kind: 'getFilters', size: keys.length }) })
}
