/**
 * One set of stores with everything that works on it: guards, journal, aggregator, the way to the log, reads, the persist step and the job.
 * Most deployments have one set. A business with stores of its own has its own set, so that its load does not affect other businesses. The
 * subgraph and each process of the simulator are built from pipelines.
 */
import type { Clock } from '../../../core/clock.ts'
import { liveSettings, withLive } from '../../../config/live/live-view.ts'
import type { Businesses } from '../../../config/businesses.ts'
import type { BusinessConfig } from '../../../config/config.ts'
import type { ThumbupConfig } from '../../../config/thumbup.ts'
import type { BusinessNumber, MarkKey } from '../../../core/domain.ts'
import { guardMarkStores, type GuardedMarkStores, type MarkStores } from '../stores/guarded.ts'
import type { JournalingBreakers, JournalingOptions } from '../../../writeback/journaling.ts'
import { AGGREGATOR_SETTINGS } from '../../../writeback/aggregator.ts'
import { makeWriteBack, type WriteBackFigures } from '../../../writeback/write-back.ts'
import { makeFills, type Fills } from '../../../loaders/mark-fills.ts'
import { persistMarks, type MarkPersistReport } from '../persist/persist.ts'
import type { Random } from '../../../core/random.ts'
import { makeCountReads, type CountReads, type CountReadsFigures, type CountReadsOptions } from '../../../loaders/counts.ts'
import { makeOwnerReads, type OwnerReads } from '../../../loaders/owner-likes.ts'
import type { Journals } from '../../../writeback/journal.ts'
import type { ConsumerHooks } from '../../../writeback/log.ts'
import type { StreamOffset } from '../stores/record-store.ts'
import { makeThumbupBusinesses } from '../businesses.ts'
import { startThumbupJob, type ThumbupJob } from '../persist/job.ts'
import { makeMarkReplay, makeMarkWrites, type MarkWrites, type ReplayTarget } from './writes.ts'
import type { GuardOptions } from '../../../core/outage/guard.ts'

/** With journals, marks are accepted while the hot store is down. */
export type ThumbupStores = MarkStores & { journals?: Journals | undefined }

export type PipelineOptions = {
  regions: number
  /** The name under which the record store keeps the offsets of the log. */
  stream: string
  /** The configured businesses of these stores, as for `makeBusinesses`. */
  businesses: readonly BusinessConfig[] | (() => readonly BusinessConfig[])
  /** True for a business whose marks belong in these stores. The common stores also own businesses that left the configuration. */
  isOurs(business: BusinessNumber): boolean
  /** True if the stores belong to one business. */
  isTenant?: boolean
  /** The target of journaled marks that belong in other stores. Without it they stay in the journal. */
  targetOf?(business: BusinessNumber): ReplayTarget
  /** Read at each use, because a live version may change it. */
  thumbup: ThumbupConfig
  guard: GuardOptions
  journaling?: JournalingOptions
}

export type Pipeline = {
  guarded: GuardedMarkStores
  writes: MarkWrites
  /** The target of journaled marks of our businesses, from any journal. */
  replayTarget: ReplayTarget
  fills: Fills
  counts: CountReads
  owners: OwnerReads
  /** Called when the hot store has the change of this key: the key may be flushed. */
  aggregate(key: MarkKey): void
  /** Persists these keys from store to store, without guards. */
  persist(keys: readonly MarkKey[], offsets?: readonly StreamOffset[]): Promise<MarkPersistReport>
  startJob(onParked?: NonNullable<ConsumerHooks['parked']>): Promise<ThumbupJob>
  /** Applies the journal if the hot store answers. No replay is under way when it resolves. */
  stopReplay(): Promise<void>
  /** Stops the replay, sends everything aggregated to the log and waits until it is there. */
  drain(): Promise<void>
  figures(): PipelineFigures
}

export type PipelineFigures = WriteBackFigures & {
  counts: CountReadsFigures
  fills: number
  recordReads: ReturnType<GuardedMarkStores['recordReads']>
}

const DIRECT_PERSISTS_MAX = 4
const DIRECT_PERSISTS_WAITING_MAX = 1_000
const LIKES_CAP = 1_000
/** The share of the memory for counts that likes received may use. */
const OWNERS_SHARE = 0.125

/** `onDown` is called when a breaker opens, `onError` when a background step fails. */
export function makePipeline(
  clock: Clock,
  random: Random,
  stores: ThumbupStores,
  options: PipelineOptions,
  onError: (error: unknown) => void,
  onDown: (error: unknown) => void = onError,
): Pipeline {
  const { thumbup } = options
  const businesses = makeThumbupBusinesses(options.businesses)
  // A live version never changes which businesses are deleted.
  const { deleted } = businesses
  const capOf = (business: BusinessNumber): number => businesses.configured.byNumber(business)?.thumbup.likesCap ?? LIKES_CAP
  const guarded = guardMarkStores(clock, stores, options.guard, onDown)
  const fills = makeFills(guarded.hot, guarded.fillRecords, capOf, onError)
  const isCacheDown = guarded.breakers.countCache.isOpen
  /** `share` of the memory for counts. */
  const readOptions = (share: number): CountReadsOptions => ({
    get hotTtlMs() {
      return thumbup.hotTtlMs
    },
    get hotBytesMax() {
      return thumbup.hotBytesMax * share
    },
    isCacheDown,
  })
  const counts = makeCountReads(clock, random, guarded.cache, guarded.records, readOptions(1 - OWNERS_SHARE))
  const owners = makeOwnerReads(clock, guarded.cache, guarded.records, readOptions(OWNERS_SHARE))

  // The job's own process serves new counts at once. Other processes serve them when their cached counts expire. A new mark does not make
  // cached counts old: public counts change when the mark is persisted, and the viewer's own mark is added on read.
  const cache = {
    ...stores.cache,
    async putCounts(counted: Parameters<MarkStores['cache']['putCounts']>[0]) {
      await stores.cache.putCounts(counted)
      counts.learn(counted)
    },
    async putOwnerSums(sums: Parameters<MarkStores['cache']['putOwnerSums']>[0]) {
      await stores.cache.putOwnerSums(sums)
      owners.learn(sums)
    },
  }
  const persistStores = { ...stores, cache }
  const persistOptions = withLive(
    liveSettings(() => thumbup, { keysMax: 'persistKeysMax' }),
    { isOurs: options.isOurs, capOf, deleted },
  )
  const persist = (keys: readonly MarkKey[], offsets: readonly StreamOffset[] = []) =>
    persistMarks(persistStores, keys, offsets, persistOptions, onError)

  const isDeleted = (business: BusinessNumber): boolean => deleted.has(business)
  const aggregate = ({ viewer, business, oid }: MarkKey): void => writeBack.aggregate({ viewer, business, oid })
  const writeStores: ReplayTarget = { hot: guarded.hot, records: guarded.records, fills, capOf, aggregate, isDeleted }
  const targetOf = (business: BusinessNumber): ReplayTarget | undefined =>
    options.isOurs(business) ? writeStores : options.targetOf?.(business)
  const reportMoved = makeMovedReport(onError)
  const writeBack = makeWriteBack(
    clock,
    { log: guarded.log, breakers: guarded.breakers, journals: stores.journals, journaledFor: takingMarks(guarded) },
    {
      persist,
      makeReplay: (_, dropped) => makeMarkReplay(writeStores, targetOf, dropped, reportMoved),
      settle: fills.settled,
    },
    {
      regions: options.regions,
      aggregator: liveSettings(() => thumbup, AGGREGATOR_SETTINGS),
      flusher: { directMax: DIRECT_PERSISTS_MAX, directWaitingMax: DIRECT_PERSISTS_WAITING_MAX },
      journaling: options.journaling ?? {},
    },
    onError,
  )

  return {
    guarded,
    writes: makeMarkWrites(writeStores, writeBack.journaling),
    replayTarget: writeStores,
    fills,
    counts,
    owners,
    aggregate,
    persist,
    startJob: (onParked) =>
      startThumbupJob(clock, persistStores, stores.log, persist, jobOptions(options, businesses.configured, deleted), onError, onParked),
    stopReplay: writeBack.stopReplay,
    async drain() {
      await writeBack.drain()
      guarded.stop()
    },
    figures: () => ({
      ...writeBack.figures(),
      counts: counts.figures(),
      fills: fills.count(),
      recordReads: guarded.recordReads(),
    }),
  }
}

/** Reports each business once. An operator must learn that marks of a moved business wait, but not once per mark. */
function makeMovedReport(onError: (error: unknown) => void): (business: BusinessNumber) => void {
  const reported = new Set<BusinessNumber>()
  return (business) => {
    if (reported.has(business)) return
    reported.add(business)
    onError(
      new Error(
        `marks of business ${business} wait in the journal of its former stores: they go to its current stores, ` +
          'once those answer (see `tidemark journal`)',
      ),
    )
  }
}

/** For the journal, a full hot store counts as down. */
function takingMarks({ hot, writes, breakers: { hotStore } }: GuardedMarkStores): JournalingBreakers['hotStore'] {
  return {
    isOpenFor: (viewer) => hotStore.isOpenFor(viewer) || writes.isRefusing(viewer),
    isOpenForAll: () => hotStore.isOpenForAll() || (hot.partOf === undefined && writes.isOpen()),
    onClose(listener) {
      hotStore.onClose(listener)
      writes.onClose((part) => listener(part ?? 0))
    },
  }
}

const DAY_MS = 86_400_000

function jobOptions(
  { stream, thumbup, isOurs, isTenant = false }: PipelineOptions,
  businesses: Businesses<BusinessConfig>,
  deleted: ReadonlySet<BusinessNumber>,
) {
  return withLive(thumbup, {
    stream,
    isOurs,
    isTenant,
    archiveAfterMs: thumbup.archiveAfterDays === 'never' ? undefined : thumbup.archiveAfterDays * DAY_MS,
    get businesses() {
      return businesses.numbers.filter((number) => !deleted.has(number))
    },
    deleted: [...deleted],
  })
}
