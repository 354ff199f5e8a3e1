/**
 * The three ports as the service sees them: behind a breaker each, so that a store that is down costs a request nothing.
 * The record store is behind a limit as well: with the hot store down every read of every viewer would go there, and it
 * was never meant to take them. Jobs use the ports as they are: they may wait, and they retry without limit.
 *
 * The hot store's breaker falls into one per part of the store (`part-breaker.ts`): what a Cluster lost of its regions
 * concerns nobody else.
 *
 * What a viewer waits for is bounded here only where the adapter is patient for good reasons of its own: a record store
 * may take its time for a large upsert and a log for a new leader. Hot stores bound their calls themselves.
 */
import type { HotStore } from '../stores/hot-store.ts'
import type { Log } from '../stores/log.ts'
import type { RecordStore } from '../stores/record-store.ts'
import { makeBreaker, type Breaker } from './breaker.ts'
import type { Clock } from './clock.ts'
import type { ViewerId } from './domain.ts'
import { makePartBreaker, type PartBreaker } from './part-breaker.ts'
import { apartIfPartIsOut } from './part-outage.ts'
import { makeRecordReads, type RecordReadsOptions } from './record-reads.ts'

export type Stores = { hot: HotStore; log: Log; records: RecordStore }

export type GuardOptions = RecordReadsOptions & {
  /** Milliseconds between two questions to a store that is down. Default 1000. */
  checkEveryMs?: number
  /** Milliseconds a read of the record store may take. Default 3000. */
  recordPatienceMs?: number
  /** Milliseconds an append to the log may take. Default 5000. */
  logPatienceMs?: number
}

export type GuardedStores = Stores & {
  breakers: { hotStore: PartBreaker; log: Breaker; recordStore: Breaker }
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
  return {
    hot: guardHot(hot, breakers.hotStore),
    log: guardLog(log, breakers.log),
    records: guardRecords(records, breakers.recordStore, options),
    breakers,
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

export function guardLog(log: Log, { run }: Breaker): Log {
  return {
    ...log,
    appendFlushes: (messages) => run(() => log.appendFlushes(messages)),
    appendRewards: (events) => run(() => log.appendRewards(events)),
  }
}

function guardRecords(records: RecordStore, breaker: Breaker, options: GuardOptions): RecordStore {
  const read = makeRecordReads(breaker, options)
  return {
    ...records,
    getProgressMany: (keys) => read(() => records.getProgressMany(keys)),
    getSettingsMany: (viewers) => read(() => records.getSettingsMany(viewers)),
    listProgress: (viewer, businesses, before, limit) => read(() => records.listProgress(viewer, businesses, before, limit)),
  }
}
