/**
 * The ports of marks as the service sees them: behind a breaker each, so that a store that is down costs a request nothing
 * (`guarded-stores.ts` says more). The record store is behind two limits: so many reads at once, and so many queries a
 * second. With the hot store down every read of every viewer would go there; what exceeds the limits does without. A read
 * counts as what it costs a database at most, since it is the database that must be spared. Pages and recounts, of which an
 * operation may ask for hundreds, leave a share of the queries to lookups: who reads many lists takes nobody else's marks and
 * counts. Bringing a viewer's marks into the hot store reads a page, once, and is a lookup: his next ones cost nothing.
 *
 * The count cache has a breaker of its own beside the hot store's: it may be another server.
 */
import type { CountCache } from '../stores/count-cache.ts'
import type { Log } from '../stores/log.ts'
import type { MarkEvents } from '../stores/mark-events.ts'
import type { MarkRecords } from '../stores/mark-records.ts'
import type { MarkStore } from '../stores/mark-store.ts'
import { makeBreaker, type Breaker } from './breaker.ts'
import type { Clock } from './clock.ts'
import type { ViewerId } from './domain.ts'
import { TidemarkError } from './errors.ts'
import { guardLog, type GuardOptions } from './guarded-stores.ts'
import { makePartBreaker, type PartBreaker } from './part-breaker.ts'
import { makeRecordReads } from './record-reads.ts'
import { makeTokenBucket } from './token-bucket.ts'
import { makeWriteWatch, type WriteWatch } from './write-watch.ts'

export type MarkStores = { hot: MarkStore; cache: CountCache; log: Log; records: MarkRecords; events: MarkEvents }

export type MarkGuardOptions = GuardOptions & {
  /** Queries that reads of the record store cost a second. Default 2000. */
  recordReadsPerSecondMax?: number
}

export type GuardedMarkStores = Omit<MarkStores, 'events'> & {
  breakers: { hotStore: PartBreaker; countCache: Breaker; log: Breaker; recordStore: Breaker }
  /** Does the hot store, which answers, also take marks? */
  writes: WriteWatch
  /** The record store to whoever brings a viewer's marks into the hot store. */
  fillRecords: Pick<MarkRecords, 'listMarks'>
  /** Queries that reads of the record store were let cost, and reads that were refused for their number. */
  recordReads(): { queries: number; refused: number }
  /** Asks each store once, through its breaker: one that is down opens it. Never rejects. */
  look(): Promise<void>
  /** Ends the asking; the stores stay open. */
  stop(): void
}

export function guardMarkStores(
  clock: Clock,
  stores: Omit<MarkStores, 'events'>,
  options: MarkGuardOptions,
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
  const reads = { queries: 0, refused: 0 }
  const guardedRecords = guardRecords(clock, records, breakers.recordStore, options, reads)
  return {
    hot: guardHot(hot, breakers.hotStore, writes),
    cache: guardCache(cache, breakers.countCache),
    log: guardLog(log, breakers.log),
    ...guardedRecords,
    breakers,
    writes,
    recordReads: () => ({ ...reads }),
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
    followCounts(subjects, listener, onGap) {
      const follow = () => cache.followCounts(subjects, listener, onGap)
      return isOpen() ? run(follow) : follow()
    },
  }
}

/**
 * What reads cost a database at most, in queries: a lookup asks for rows and for the archive, per lot of keys; a page that
 * reaches into the archive, and a recount, is read again as of one moment, in a transaction.
 */
const LOOKUP = 2
const LOT = 128
const PAGE = 8
const RECOUNT = 6
const PLAIN = 1

/** Of the queries of a second, what pages and recounts leave to lookups. */
const LOOKUP_SHARE = 0.25

function guardRecords(
  clock: Clock,
  records: MarkRecords,
  breaker: Breaker,
  options: MarkGuardOptions,
  figures: { queries: number; refused: number },
): Pick<GuardedMarkStores, 'records' | 'fillRecords'> {
  const { recordReadsPerSecondMax = 2_000 } = options
  const readAtOnce = makeRecordReads(breaker, options)
  const bucket = makeTokenBucket(clock, recordReadsPerSecondMax)
  const keptForLookups = Math.floor(recordReadsPerSecondMax * LOOKUP_SHARE)
  async function read<T>(queries: number, task: () => Promise<T>, mustKeep = 0): Promise<T> {
    // One that is known to be down takes nothing from the bucket.
    if (!breaker.isOpen()) {
      // However small the limit is, a full bucket is enough for any read.
      const taken = Math.min(queries, recordReadsPerSecondMax)
      if (!bucket.take(taken, Math.min(mustKeep, recordReadsPerSecondMax - taken))) {
        figures.refused++
        throw new TidemarkError(
          'RECORD_STORE_UNAVAILABLE',
          `reads have cost the record store what they may of its ${recordReadsPerSecondMax} queries this second: try again`,
        )
      }
      figures.queries += queries
    }
    return readAtOnce(task)
  }
  const readPage = <T>(queries: number, task: () => Promise<T>): Promise<T> => read(queries, task, keptForLookups)
  const guarded: MarkRecords = {
    ...records,
    getMarkMany: (keys) => read(LOOKUP * Math.ceil(keys.length / LOT), () => records.getMarkMany(keys)),
    listMarks: (viewer, business, marks, before, count) => readPage(PAGE, () => records.listMarks(viewer, business, marks, before, count)),
    listLikers: (subject, before, count) => readPage(PAGE, () => records.listLikers(subject, before, count)),
    getCountsMany: (subjects) => read(Math.ceil(subjects.length / LOT), () => records.getCountsMany(subjects)),
    getOwnerSums: (owners) => read(PLAIN, () => records.getOwnerSums(owners)),
    listSubjects: (business, after, count) => read(PLAIN, () => records.listSubjects(business, after, count)),
    listMarkedSubjects: (business, after, count) => readPage(PLAIN, () => records.listMarkedSubjects(business, after, count)),
    recount: (subjects) => readPage(RECOUNT, () => records.recount(subjects)),
    recountOwners: (owners) => readPage(RECOUNT, () => records.recountOwners(owners)),
    getOwners: (subjects) => read(PLAIN, () => records.getOwners(subjects)),
    registerSubjects: (registrations) => breaker.run(() => records.registerSubjects(registrations)),
  }
  return {
    records: guarded,
    fillRecords: {
      listMarks: (viewer, business, marks, before, count) => read(PAGE, () => records.listMarks(viewer, business, marks, before, count)),
    },
  }
}
