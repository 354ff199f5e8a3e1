/**
 * The three ports as the service uses them, each behind a breaker, so that a failed store costs a request nothing. A limit that follows its
 * latency protects the record store as well (`record-reads.ts`): with the hot store down, every read of every viewer would go there, and it
 * is not sized for that. Jobs use the ports without breakers: they may wait, and they retry without limit.
 *
 * The hot store's breaker has one part per part of the store (`part-breaker.ts`): lost regions of a Cluster do not affect the others.
 *
 * The time that a viewer waits is bounded here only for adapters that are patient on purpose: a record store may need time for a large
 * upsert, and a log for a new leader. Hot stores bound their calls themselves.
 */
import type { HotStore } from './hot-store.ts'
import type { Log } from '../../../writeback/log.ts'
import type { RecordStore } from './record-store.ts'
import { makeBreaker, type Breaker } from '../../../core/outage/breaker.ts'
import type { Clock } from '../../../core/clock.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { makePartBreaker, type PartBreaker } from '../../../core/outage/part-breaker.ts'
import { apartIfPartIsOut } from '../../../core/outage/part-outage.ts'
import { makeRecordReads, type RecordReads, type RecordReadsFigures } from '../../../core/outage/record-reads.ts'
import type { GuardOptions } from '../../../core/outage/guard.ts'
import { guardLog } from '../../../writeback/guarded-log.ts'

export type Stores = { hot: HotStore; log: Log; records: RecordStore }

export type GuardedStores = Stores & {
  breakers: { hotStore: PartBreaker; log: Breaker; recordStore: Breaker }
  recordReads(): RecordReadsFigures
  /** Ends the asking; the stores stay open. */
  stop(): void
}

export function guardStores(clock: Clock, stores: Stores, options: GuardOptions, onError: (error: unknown) => void): GuardedStores {
  const { checkEveryMs = 1_000, recordPatienceMs = 3_000, logPatienceMs = 5_000 } = options
  const { hot, log, records } = stores
  const breakers = {
    hotStore: makePartBreaker(clock, hot, { checkEveryMs }, onError),
    log: makeBreaker(clock, 'log', () => log.check(), { checkEveryMs, patienceMs: logPatienceMs }, onError),
    recordStore: makeBreaker(clock, 'recordStore', () => records.check(), { checkEveryMs, patienceMs: recordPatienceMs }, onError),
  }
  const reads = makeRecordReads(clock, breakers.recordStore, records, options, breakers.hotStore.isOpen)
  return {
    hot: guardHot(hot, breakers.hotStore),
    log: guardLog(log, breakers.log),
    records: guardRecords(records, reads),
    breakers,
    recordReads: reads.figures,
    stop() {
      for (const breaker of Object.values(breakers)) breaker.stop()
    },
  }
}

function guardHot(hot: HotStore, { run, isOpenFor }: PartBreaker): HotStore {
  return {
    ...hot,
    putProgress: (writes, options) => run(viewersOf(writes), () => hot.putProgress(writes, options)),
    deleteProgress: (keys, now) => run(viewersOf(keys), () => hot.deleteProgress(keys, now)),
    clearProgress: (viewer, business, now) => run([viewer], () => hot.clearProgress(viewer, business, now)),
    setPaused: (viewer, paused, now) => run([viewer], () => hot.setPaused(viewer, paused, now)),
    getSettings: (viewer) => run([viewer], () => hot.getSettings(viewer)),
    getProgressMany: (keys) => run(viewersOf(keys), () => hot.getProgressMany(keys)),
    listTimeline: (viewer, businesses, before, limit) => run([viewer], () => hot.listTimeline(viewer, businesses, before, limit)),
    listChanges: (viewer, businesses, since) => run([viewer], () => hot.listChanges(viewer, businesses, since)),
    readDirtyProgress: (keys) => run(viewersOf(keys), () => hot.readDirtyProgress(keys)),
    // What is not confirmed is sent again: so nobody's waits for another's part.
    async confirmRewards(rewards) {
      await apartIfPartIsOut(rewards, async (some) => {
        await run(viewersOf(some), () => hot.confirmRewards(some))
        return some
      })
    },
    // Following has connections of its own: that they fail says nothing about reads and writes.
    followProgress: (viewer, listener, onGap) => {
      const follow = () => hot.followProgress(viewer, listener, onGap)
      return isOpenFor(viewer) ? run([viewer], follow) : follow()
    },
  }
}

function viewersOf(items: readonly { viewer: ViewerId }[]): ViewerId[] {
  return items.map((item) => item.viewer)
}

function guardRecords(records: RecordStore, { run }: RecordReads): RecordStore {
  return {
    ...records,
    getProgressMany: (keys) => run({ kind: 'getProgressMany', size: keys.length, of: keys }, () => records.getProgressMany(keys)),
    getSettingsMany: (viewers) => run({ kind: 'getSettingsMany', size: viewers.length }, () => records.getSettingsMany(viewers)),
    listProgress(viewer, businesses, before, limit) {
      const read = { kind: 'listProgress', size: limit, of: businesses.map((business) => ({ business })), isPage: true }
      return run(read, () => records.listProgress(viewer, businesses, before, limit))
    },
  }
}
