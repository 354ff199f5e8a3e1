/**
 * The ports of feed existence as the service uses them, each behind a breaker, so that a failed store costs a request nothing
 * (`core/outage/guard.ts` has the details). The job uses the ports without breakers.
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

/** `legacy`: set during a migration. */
export type SeenStores = { hot: SeenStore; log: PlayLog; records: SeenRecords; legacy?: LegacyPlays | undefined }

export type GuardedSeenStores = SeenStores & {
  breakers: StoreBreakers
  recordReads(): RecordReadsFigures
  /** Watches whether the hot store, while it answers, also accepts writes. */
  writes: WriteWatch
  /** Ends the checks; the stores stay open. */
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
  const reads = makeRecordReads(clock, breakers.recordStore, records, options, breakers.hotStore.isOpenForMany, 'filters')
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
    // Layouts belong to no viewer. They are read before the first play is staged.
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
