/**
 * The ports of what was seen as the service sees them: behind a breaker each, so that a store that is down costs a request
 * nothing (`guarded.ts` says more). The job uses them as they are.
 */
import type { LegacyPlays } from './legacy-plays.ts'
import type { PlayLog } from './play-log.ts'
import type { SeenRecords } from './record-store.ts'
import type { SeenStore } from './hot-store.ts'
import { makeBreaker, type Breaker } from '../../../core/outage/breaker.ts'
import type { Clock } from '../../../core/clock.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { makePartBreaker, type PartBreaker } from '../../../core/outage/part-breaker.ts'
import { apartIfPartIsOut } from '../../../core/outage/part-outage.ts'
import { makeRecordReads, type RecordReads, type RecordReadsFigures } from '../../../core/outage/record-reads.ts'
import { makeWriteWatch, type WriteWatch } from '../../../core/outage/write-watch.ts'
import type { GuardOptions } from '../../../core/outage/guard.ts'

/** `legacy`: while viewers are moved from it. */
export type SeenStores = { hot: SeenStore; log: PlayLog; records: SeenRecords; legacy?: LegacyPlays | undefined }

export type GuardedSeenStores = SeenStores & {
  breakers: { hotStore: PartBreaker; log: Breaker; recordStore: Breaker }
  recordReads(): RecordReadsFigures
  /** Does the hot store, which answers, also take what is written? */
  writes: WriteWatch
  /** Ends the asking; the stores stay open. */
  stop(): void
}

export function guardSeenStores(
  clock: Clock,
  { hot, log, records }: SeenStores,
  options: GuardOptions,
  onError: (error: unknown) => void,
  onRefused: (error: unknown) => void = onError,
): GuardedSeenStores {
  const { checkEveryMs = 1_000, recordPatienceMs = 3_000, logPatienceMs = 5_000 } = options
  const breakers = {
    hotStore: makePartBreaker(clock, hot, { checkEveryMs }, onError),
    log: makeBreaker(clock, 'log', () => log.check(), { checkEveryMs, patienceMs: logPatienceMs }, onError),
    recordStore: makeBreaker(clock, 'recordStore', () => records.check(), { checkEveryMs, patienceMs: recordPatienceMs }, onError),
  }
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

function guardHot(hot: SeenStore, { run }: PartBreaker, writes: WriteWatch): SeenStore {
  function write<T>(viewers: readonly ViewerId[], task: () => Promise<T>): Promise<T> {
    return run(viewers, task).catch((error: unknown) => {
      writes.failed(viewers, error)
      throw error
    })
  }

  return {
    ...hot,
    putIssued: (viewer, business, oids, options) => write([viewer], () => hot.putIssued(viewer, business, oids, options)),
    stagePlays(plays, options) {
      const viewers = plays.map((play) => play.viewer)
      return write(viewers, () => hot.stagePlays(plays, options))
    },
    // What is not confirmed is sent again: so nobody's waits for another's part.
    async confirmRewards(rewards) {
      await apartIfPartIsOut(rewards, async (some) => {
        const viewers = some.map(({ viewer }) => viewer)
        await run(viewers, () => hot.confirmRewards(some))
        return some
      })
    },
    // Of nobody in particular, and wanted before the first play is staged.
    getRingLayouts: () => run([], () => hot.getRingLayouts()),
    putRingLayout: (layout) => write([], () => hot.putRingLayout(layout)),
    getSeen: (viewer, business) => run([viewer], () => hot.getSeen(viewer, business)),
    getSeenMany(of) {
      const viewers = of.map(({ viewer }) => viewer)
      return run(viewers, () => hot.getSeenMany(of))
    },
  }
}

/** Filters cover all businesses together. */
function guardRecords(records: SeenRecords, { run }: RecordReads): SeenRecords {
  return { ...records, getFilters: (keys) => run({ kind: 'getFilters', size: keys.length }, () => records.getFilters(keys)) }
}
