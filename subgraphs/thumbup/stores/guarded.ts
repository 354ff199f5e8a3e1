/**
 * The ports of marks as the service uses them, each behind a breaker, so that a failed store costs a request nothing (`guarded.ts`
 * says more). The latency of the record store limits the concurrent reads (`record-reads.ts`). One operation may ask for hundreds of pages
 * and recounts. They wait in a lane of their own, so that lookups of the same tenant do not wait behind them. Loading a viewer's marks into
 * the hot store reads a page once and counts as a lookup: the viewer's next reads do not reach the record store.
 *
 * The count cache has its own breaker, separate from the hot store's: it may be another server.
 */
import type { CountCache } from './count-cache.ts'
import type { Log } from '../../../writeback/log.ts'
import type { MarkEvents } from './events.ts'
import type { MarkRecords } from './record-store.ts'
import type { MarkStore } from './hot-store.ts'
import { makeBreaker, type Breaker } from '../../../core/outage/breaker.ts'
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { makePartBreaker, type PartBreaker } from '../../../core/outage/part-breaker.ts'
import { makeRecordReads, type RecordRead, type RecordReads, type RecordReadsFigures } from '../../../core/outage/record-reads.ts'
import { makeWriteWatch, type WriteWatch } from '../../../core/outage/write-watch.ts'
import type { GuardOptions } from '../../../core/outage/guard.ts'
import { guardLog } from '../../../writeback/guarded-log.ts'

export type MarkStores = { hot: MarkStore; cache: CountCache; log: Log; records: MarkRecords; events: MarkEvents }

export type GuardedMarkStores = Omit<MarkStores, 'events'> & {
  breakers: { hotStore: PartBreaker; countCache: Breaker; log: Breaker; recordStore: Breaker }
  /** Does the hot store, which answers, also take marks? */
  writes: WriteWatch
  /** The record store to whoever brings a viewer's marks into the hot store. */
  fillRecords: Pick<MarkRecords, 'listMarks'>
  recordReads(): RecordReadsFigures
  /** Asks each store once, through its breaker: one that is down opens it. Never rejects. */
  look(): Promise<void>
  /** Ends the asking; the stores stay open. */
  stop(): void
}

export function guardMarkStores(
  clock: Clock,
  stores: Omit<MarkStores, 'events'>,
  options: GuardOptions,
  onError: (error: unknown) => void,
): GuardedMarkStores {
  const { checkEveryMs = 1_000, recordPatienceMs = 3_000, logPatienceMs = 5_000 } = options
  const { hot, cache, log, records } = stores
  const breakers = {
    hotStore: makePartBreaker(clock, hot, { checkEveryMs }, onError),
    countCache: makeBreaker(clock, 'hotStore', () => cache.check(), { checkEveryMs }, onError),
    log: makeBreaker(clock, 'log', () => log.check(), { checkEveryMs, patienceMs: logPatienceMs }, onError),
    recordStore: makeBreaker(clock, 'recordStore', () => records.check(), { checkEveryMs, patienceMs: recordPatienceMs }, onError),
  }
  const writes = makeWriteWatch(clock, hot, { checkEveryMs }, onError)
  const reads = makeRecordReads(clock, breakers.recordStore, records, options, breakers.hotStore.isOpen)
  return {
    hot: guardHot(hot, breakers.hotStore, writes),
    cache: guardCache(cache, breakers.countCache),
    log: guardLog(log, breakers.log),
    ...guardRecords(records, breakers.recordStore, reads),
    breakers,
    writes,
    recordReads: reads.figures,
    async look() {
      await Promise.allSettled([
        breakers.hotStore.run([], () => hot.check()),
        breakers.countCache.run(() => cache.check()),
        breakers.log.run(() => log.check()),
        breakers.recordStore.run(() => records.check()),
      ])
    },
    stop() {
      writes.stop()
      for (const breaker of Object.values(breakers)) breaker.stop()
    },
  }
}

function guardHot(hot: MarkStore, { run }: PartBreaker, watch: WriteWatch): MarkStore {
  return {
    ...hot,
    async putMarks(writes, options) {
      try {
        return await run(viewersOf(writes), () => hot.putMarks(writes, options))
      } catch (error) {
        watch.failed(viewersOf(writes), error)
        throw error
      }
    },
    getMarkMany: (keys) => run(viewersOf(keys), () => hot.getMarkMany(keys)),
    listLikes: (viewer, business, before, limit) => run([viewer], () => hot.listLikes(viewer, business, before, limit)),
    beginFill: (viewer, business) => run([viewer], () => hot.beginFill(viewer, business)),
    fillMarks: (viewer, business, rows, options) => run([viewer], () => hot.fillMarks(viewer, business, rows, options)),
    readDirtyMarks: (keys) =>
      run(
        keys.map((key) => key.viewer),
        () => hot.readDirtyMarks(keys),
      ),
  }
}

function viewersOf(items: readonly { viewer: ViewerId }[]): ViewerId[] {
  return items.map((item) => item.viewer)
}

function guardCache(cache: CountCache, { run, isOpen }: Breaker): CountCache {
  // That something cannot be put says nothing about reads: of two caches the second answers while the first takes nothing.
  const put = (task: () => Promise<void>): Promise<void> => (isOpen() ? run(task) : task())
  return {
    ...cache,
    getCountsMany: (subjects) => run(() => cache.getCountsMany(subjects)),
    putCounts: (counted) => put(() => cache.putCounts(counted)),
    getLikers: (subject) => run(() => cache.getLikers(subject)),
    putLikers: (subject, likers) => put(() => cache.putLikers(subject, likers)),
    getOwnerSums: (owners) => run(() => cache.getOwnerSums(owners)),
    putOwnerSums: (sums) => put(() => cache.putOwnerSums(sums)),
    // Following has connections of its own: that they fail says nothing about reads.
    followCounts(listener, onGap) {
      const following = cache.followCounts(listener, onGap)
      return {
        ...following,
        async add(subjects) {
          const added = following.add(subjects)
          // A caller does not wait for a store that is down. The store adds the subjects as soon as it is back.
          added.catch(() => undefined)
          await (isOpen() ? run(() => added) : added)
        },
      }
    },
  }
}

function guardRecords(records: MarkRecords, breaker: Breaker, { run }: RecordReads): Pick<GuardedMarkStores, 'records' | 'fillRecords'> {
  const of = (kind: string, items: readonly { business: BusinessNumber }[]): RecordRead => ({ kind, size: items.length, of: items })
  const page = (kind: string, business: BusinessNumber, limit: number): RecordRead => ({
    kind,
    size: limit,
    of: [{ business }],
    isPage: true,
  })
  const guarded: MarkRecords = {
    ...records,
    getMarkMany: (keys) => run(of('getMarkMany', keys), () => records.getMarkMany(keys)),
    listMarks: (viewer, business, marks, before, limit) =>
      run(page('listMarks', business, limit), () => records.listMarks(viewer, business, marks, before, limit)),
    listLikers: (subject, before, limit) =>
      run(page('listLikers', subject.business, limit), () => records.listLikers(subject, before, limit)),
    getCountsMany: (subjects) => run(of('getCountsMany', subjects), () => records.getCountsMany(subjects)),
    getOwnerSums: (owners) => run(of('getOwnerSums', owners), () => records.getOwnerSums(owners)),
    listSubjects: (business, after, limit) =>
      run(page('listSubjects', business, limit), () => records.listSubjects(business, after, limit)),
    listMarkedSubjects: (business, after, limit) =>
      run(page('listMarkedSubjects', business, limit), () => records.listMarkedSubjects(business, after, limit)),
    recount: (subjects) => run({ ...of('recount', subjects), isPage: true }, () => records.recount(subjects)),
    recountOwners: (owners) => run({ ...of('recountOwners', owners), isPage: true }, () => records.recountOwners(owners)),
    getOwners: (subjects) => run(of('getOwners', subjects), () => records.getOwners(subjects)),
    registerSubjects: (registrations) => breaker.run(() => records.registerSubjects(registrations)),
  }
  return {
    records: guarded,
    fillRecords: {
      listMarks: (viewer, business, marks, before, limit) =>
        run({ ...page('fill', business, limit), isPage: false }, () => records.listMarks(viewer, business, marks, before, limit)),
    },
  }
}
