/**
 * The ports of marks as the service uses them, each behind a breaker, so that a failed store costs a request nothing (see
 * `subgraphs/history/stores/guarded.ts`). The latency of the record store limits the concurrent reads (`record-reads.ts`). One operation
 * may ask for hundreds of pages and recounts. They wait in a lane of their own, so that lookups of the same tenant do not wait behind them.
 * Loading a viewer's marks into the hot store reads a page once and counts as a lookup: the viewer's next reads do not reach the record
 * store.
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
import type { BusinessNumber } from '../../../core/domain.ts'
import type { PartBreaker } from '../../../core/outage/part-breaker.ts'
import { makeRecordReads, type RecordRead, type RecordReads, type RecordReadsFigures } from '../../../core/outage/record-reads.ts'
import { makeWriteWatch, type WriteWatch } from '../../../core/outage/write-watch.ts'
import { guardMethods, makeStoreBreakers, viewersOf, type GuardOptions, type StoreBreakers } from '../../../core/outage/guard.ts'
import { guardLog } from '../../../writeback/guarded-log.ts'

export type MarkStores = { hot: MarkStore; cache: CountCache; log: Log; records: MarkRecords; events: MarkEvents }

export type GuardedMarkStores = Omit<MarkStores, 'events'> & {
  breakers: StoreBreakers & { countCache: Breaker }
  /** True if the hot store answers and accepts marks. */
  writes: WriteWatch
  /** The record store for fills of viewers' marks. */
  fillRecords: Pick<MarkRecords, 'listMarks'>
  recordReads(): RecordReadsFigures
  /** Asks each store once, through its breaker. A store that is down opens it. Never rejects. */
  look(): Promise<void>
  /** Stops the breakers' probes. The stores stay open. */
  stop(): void
}

export function guardMarkStores(
  clock: Clock,
  stores: Omit<MarkStores, 'events'>,
  options: GuardOptions,
  onError: (error: unknown) => void,
): GuardedMarkStores {
  const { hot, cache, log, records } = stores
  const { checkEveryMs = 1_000 } = options
  const breakers = {
    ...makeStoreBreakers(clock, stores, options, onError),
    countCache: makeBreaker(clock, 'hotStore', () => cache.check(), { checkEveryMs }, onError),
  }
  const writes = makeWriteWatch(clock, hot, { checkEveryMs }, onError)
  const reads = makeRecordReads(clock, breakers.recordStore, records, options, breakers.hotStore.isOpenForMany)
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
    ...guardMethods(hot, run, {
      getMarkMany: viewersOf,
      listLikes: (viewer) => [viewer],
      beginReads: viewersOf,
      fillMarks: (viewer) => [viewer],
      readDirtyMarks: viewersOf,
    }),
    async putMarks(writes, options) {
      try {
        return await run(viewersOf(writes), () => hot.putMarks(writes, options))
      } catch (error) {
        watch.failed(viewersOf(writes), error)
        throw error
      }
    },
  }
}

function guardCache(cache: CountCache, { run, isOpen }: Breaker): CountCache {
  // A failed put does not affect reads: of two caches, the second answers while the first accepts nothing.
  const put = (task: () => Promise<void>): Promise<void> => (isOpen() ? run(task) : task())
  return {
    ...cache,
    getCountsMany: (subjects) => run(() => cache.getCountsMany(subjects)),
    putCounts: (counted) => put(() => cache.putCounts(counted)),
    getLikers: (subject) => run(() => cache.getLikers(subject)),
    putLikers: (subject, likers) => put(() => cache.putLikers(subject, likers)),
    getOwnerSums: (owners) => run(() => cache.getOwnerSums(owners)),
    putOwnerSums: (sums) => put(() => cache.putOwnerSums(sums)),
    // Subscriptions have their own connections: their failure does not affect reads.
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
  const guarded = guardMethods(records, run, {
    getMarkMany: (keys) => of('getMarkMany', keys),
    listMarks: (_, business, _marks, _before, limit) => page('listMarks', business, limit),
    listLikers: ({ business }, _, limit) => page('listLikers', business, limit),
    getCountsMany: (subjects) => of('getCountsMany', subjects),
    getOwnerSums: (owners) => of('getOwnerSums', owners),
    listSubjects: (business, _, limit) => page('listSubjects', business, limit),
    listMarkedSubjects: (business, _, limit) => page('listMarkedSubjects', business, limit),
    recount: (subjects) => ({ ...of('recount', subjects), isPage: true }),
    recountOwners: (owners) => ({ ...of('recountOwners', owners), isPage: true }),
    getOwners: (subjects) => of('getOwners', subjects),
  })
  return {
    records: { ...guarded, registerSubjects: (registrations) => breaker.run(() => records.registerSubjects(registrations)) },
    fillRecords: {
      listMarks: (viewer, business, marks, before, limit) =>
        run({ ...page('fill', business, limit), isPage: false }, () => records.listMarks(viewer, business, marks, before, limit)),
    },
  }
}
