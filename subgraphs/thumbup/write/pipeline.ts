/**
 * One set of stores and all that works on it: guards, journal, aggregator, the way to the log, reads, the persist step and
 * the job. Most deployments have one; a business with stores of its own has its own, so that what it does to them is
 * nobody else's trouble. The subgraph is made of them, and so is a process of the simulator.
 */
import type { Clock } from '../../../core/clock.ts'
import type { BusinessConfig } from '../../../config/config.ts'
import type { ThumbupConfig } from '../../../config/thumbup.ts'
import type { BusinessNumber, MarkKey } from '../../../core/domain.ts'
import { guardMarkStores, type GuardedMarkStores, type MarkStores } from '../stores/guarded.ts'
import type { JournalingBreakers, JournalingOptions } from '../../../writeback/journaling.ts'
import { makeWriteBack, type WriteBackFigures } from '../../../writeback/write-back.ts'
import { makeFills, type Fills } from '../../../loaders/mark-fills.ts'
import { persistMarks, type MarkPersistReport } from '../persist/persist.ts'
import type { Random } from '../../../core/random.ts'
import { makeCountReads, type CountReads, type CountReadsFigures } from '../../../loaders/counts.ts'
import { makeOwnerReads, type OwnerReads } from '../../../loaders/owner-likes.ts'
import type { Journals } from '../../../writeback/journal.ts'
import type { ConsumerHooks } from '../../../writeback/log.ts'
import type { StreamOffset } from '../stores/record-store.ts'
import { makeThumbupBusinesses } from '../businesses.ts'
import { startThumbupJob, type ThumbupJob } from '../persist/job.ts'
import { makeMarkReplay, makeMarkWrites, type MarkWrites, type ReplayTarget } from './writes.ts'
import type { GuardOptions } from '../../../core/outage/guard.ts'

/** With journals, marks are taken while the hot store is down. */
export type ThumbupStores = MarkStores & { journals?: Journals | undefined }

export type PipelineOptions = {
  regions: number
  /** What the offsets of the log are kept under in the record store. */
  stream: string
  /** Those of the configuration that are these stores'. */
  businesses: readonly BusinessConfig[]
  /** Whose marks these stores are for; of the common ones, also what has left the configuration. */
  isOurs(business: BusinessNumber): boolean
  /** Are they the own stores of one business? */
  isTenant?: boolean
  /** Where journaled marks go that are not ours. Without it they stay in the journal. */
  targetOf?(business: BusinessNumber): ReplayTarget
  thumbup: ThumbupConfig
  guard: GuardOptions
  journaling?: JournalingOptions
}

export type Pipeline = {
  guarded: GuardedMarkStores
  writes: MarkWrites
  /** Where journaled marks of our businesses go, whichever journal they are in. */
  replayTarget: ReplayTarget
  fills: Fills
  counts: CountReads
  owners: OwnerReads
  /** The hot store has this key's change: it may be flushed. */
  aggregate(key: MarkKey): void
  /** Persists these keys from store to store, guarded by nothing. */
  persist(keys: readonly MarkKey[], offsets?: readonly StreamOffset[]): Promise<MarkPersistReport>
  startJob(onParked?: NonNullable<ConsumerHooks['parked']>): Promise<ThumbupJob>
  /** Applies what is journaled, if the hot store answers; nothing is replayed any more when it resolves. */
  stopReplay(): Promise<void>
  /** The same, and sends everything aggregated to the log and waits until it is there. */
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
/** Of the memory for counts, that for likes received. */
const OWNERS_SHARE = 0.125

/** `onDown` is told when a breaker opens, `onError` of steps in the background that fail. */
export function makePipeline(
  clock: Clock,
  random: Random,
  stores: ThumbupStores,
  options: PipelineOptions,
  onError: (error: unknown) => void,
  onDown: (error: unknown) => void = onError,
): Pipeline {
  const { thumbup } = options
  const { deleted } = makeThumbupBusinesses(options.businesses)
  const caps = new Map(options.businesses.map((business) => [business.number, business.thumbup.likesCap]))
  const capOf = (business: BusinessNumber): number => caps.get(business) ?? LIKES_CAP
  const guarded = guardMarkStores(clock, stores, options.guard, onDown)
  const fills = makeFills(guarded.hot, guarded.fillRecords, capOf)
  const isCacheDown = guarded.breakers.countCache.isOpen
  const ownerBytes = thumbup.hotBytesMax * OWNERS_SHARE
  const counts = makeCountReads(clock, random, guarded.cache, guarded.records, {
    hotTtlMs: thumbup.hotTtlMs,
    hotBytesMax: thumbup.hotBytesMax - ownerBytes,
    isCacheDown,
  })
  const owners = makeOwnerReads(clock, guarded.cache, guarded.records, { hotTtlMs: thumbup.hotTtlMs, hotBytesMax: ownerBytes, isCacheDown })

  // The job's process serves what it has counted at once, others within the time to live of what they keep. A mark by
  // itself makes no count old: what everybody sees changes when it is persisted, and its viewer's own is added to that.
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
  const persistOptions = { isOurs: options.isOurs, capOf, keysMax: thumbup.persistKeysMax, deleted }
  const persist = (keys: readonly MarkKey[], offsets: readonly StreamOffset[] = []) =>
    persistMarks(persistStores, keys, offsets, persistOptions, onError)

  const isDeleted = (business: BusinessNumber): boolean => deleted.has(business)
  const aggregate = ({ viewer, business, oid }: MarkKey): void => writeBack.aggregate({ viewer, business, oid })
  const writeStores: ReplayTarget = { hot: guarded.hot, records: guarded.records, fills, capOf, aggregate, isDeleted }
  const targetOf = (business: BusinessNumber): ReplayTarget | undefined =>
    options.isOurs(business) ? writeStores : options.targetOf?.(business)
  const told = new Set<BusinessNumber>()
  const writeBack = makeWriteBack(
    clock,
    { log: guarded.log, breakers: guarded.breakers, journals: stores.journals, journaledFor: takingMarks(guarded) },
    {
      persist,
      makeReplay: (_, dropped) => makeMarkReplay(writeStores, targetOf, dropped, tellMoved),
      settle: fills.settled,
    },
    {
      regions: options.regions,
      aggregator: { keysMax: thumbup.flushKeysMax, ageMaxMs: thumbup.flushAgeMaxMs, heldMax: thumbup.aggregatorKeysMax },
      flusher: { directMax: DIRECT_PERSISTS_MAX, directWaitingMax: DIRECT_PERSISTS_WAITING_MAX },
      journaling: options.journaling ?? {},
    },
    onError,
  )

  /** Once for each: an operator should know that what he moves has marks that wait, and not read it per mark. */
  function tellMoved(business: BusinessNumber): void {
    if (told.has(business)) return
    told.add(business)
    onError(
      new Error(
        `marks of business ${business} wait in the journal of stores that are not its own any more: they go into those that it has now, ` +
          'once these answer (see `tidemark journal`)',
      ),
    )
  }

  return {
    guarded,
    writes: makeMarkWrites(writeStores, writeBack.journaling),
    replayTarget: writeStores,
    fills,
    counts,
    owners,
    aggregate,
    persist,
    startJob: (onParked) => startThumbupJob(clock, persistStores, stores.log, persist, jobOptions(options, deleted), onError, onParked),
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

/** To the journal a hot store that is full is as good as down. */
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

function jobOptions({ stream, thumbup, businesses, isOurs, isTenant = false }: PipelineOptions, deleted: ReadonlySet<BusinessNumber>) {
  return {
    ...thumbup,
    stream,
    isOurs,
    isTenant,
    archiveAfterMs: thumbup.archiveAfterDays === 'never' ? undefined : thumbup.archiveAfterDays * DAY_MS,
    businesses: businesses.map(({ number }) => number).filter((number) => !deleted.has(number)),
    deleted: [...deleted],
  }
}
