/** The feed-existence subgraph, wired from the ports: schema object, service, and what its job and its metrics need. */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse, type GraphQLSchema } from 'graphql'
import type { Breaker } from '../../core/outage/breaker.ts'
import { makeBusinesses } from '../../config/businesses.ts'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { ringOf } from '../../config/feed-existence.ts'
import type { Degraded, StoreName } from '../../core/outage/degraded.ts'
import type { BusinessNumber, Month, Play, ViewerId } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'
import { makeFilterCache, type FilterCache } from './read/filter-cache.ts'
import { makeFold, type Fold, type FoldOptions } from './fold/fold.ts'
import type { Renewed } from './fold/renewal.ts'
import { guardSeenStores, type GuardedSeenStores, type SeenStores } from './stores/guarded.ts'
import { makeOutageNotices, noticesOf, type Notices } from '../../writeback/notices.ts'
import { systemRandom, type Random } from '../../core/random.ts'
import type { RecordReadsFigures } from '../../core/outage/record-reads.ts'
import { expiryOf } from './filter/expiry.ts'
import { rateOfEach } from './filter/filter.ts'
import { listingOf } from './migration/progress.ts'
import { makeMigration, type Migration, type MigrationFigures, type MigrationOptions, type Mover } from './migration/migrate.ts'
import { monthOf, monthText, slotOf } from './model/time-ring.ts'
import { makeExistenceLoaders, type ExistenceLoaders } from '../../loaders/feed-existence.ts'
import type { MayHavePlayed } from '../../loaders/progress.ts'
import { makeSharedLookup } from '../../loaders/lookup/shared.ts'
import type { HistoryRecords } from './stores/history-records.ts'
import { makeArrears } from './write/arrears.ts'
import { makeHistoryPlays, type HistoryPlaysFigures } from './write/from-history.ts'
import { startExistenceJob, type ExistenceJob } from './fold/job.ts'
import { announceShape } from './fold/layouts.ts'
import { liveness, makeLegacyPart, type LegacyPart } from './migration/legacy.ts'
import { makeRebuild } from './fold/rebuild.ts'
import { makeRepairs } from './fold/repairs.ts'
import { makeExistenceResolvers } from './resolvers.ts'
import { makeResumeGuard, type ResumeGuardFigures } from './read/resume-guard.ts'
import { makeDayRewards, type RewardLog } from './write/rewards.ts'
import { makeSampler, type SampleFigures } from './read/sampler.ts'
import { existenceSdl } from './schema.ts'
import { makeExistenceService, type ExistenceFigures, type ExistenceService } from './write/service.ts'
import { makeStaging, type Staging } from './write/staging.ts'
import { makeSeenReads } from './read/unseen.ts'
import type { WriteBackFigures } from './migration/write-back.ts'
import type { GuardOptions } from '../../core/outage/guard.ts'
import type { RecordPlays, StageWritten } from '../../core/written-reports.ts'

/** With the record store of history, filters that are damaged are made anew, and the sampler knows what is true. */
export type ExistenceStores = SeenStores & {
  history?: HistoryRecords | undefined
  /** Where the firsts of a day go; absent: nobody earns anything. */
  rewards?: RewardLog | undefined
}

export type ExistenceSubgraph = {
  name: 'feed-existence'
  sdl: string
  schema: GraphQLSchema
  service: ExistenceService
  /** The loaders of one request. What they had to do without goes into its collector. */
  makeLoaders(degraded?: Degraded, lasting?: boolean): ExistenceLoaders
  /** For history: what a viewer may have played. */
  mayHavePlayed: MayHavePlayed
  /** For history: takes what it persists. */
  recordPlays: RecordPlays
  /** For history: stages its written reports. */
  stageWritten: StageWritten
  /** For a process that serves, before its first request: begins to look by itself whether answers lack something. Until `drain`. */
  start(): Promise<void>
  /** Starts a job on the same stores; a process may serve, persist, or both. */
  startJob(): Promise<ExistenceJob>
  /** Waits for what is done behind answers, and begins nothing more. */
  drain(): Promise<void>
  figures(): ExistenceSubgraphFigures
}

export type ExistenceSubgraphFigures = {
  existence: ExistenceFigures
  cache: ReturnType<FilterCache['figures']>
  recordReads: RecordReadsFigures
  samples: SampleFigures
  resumes: ResumeGuardFigures
  fromHistory: HistoryPlaysFigures
  /** Firsts of a day that were sent. */
  rewards: number
  /** `waiting`: plays of this process that are in the log, and that the hot store has not yet taken. */
  staging: ReturnType<Staging['figures']> & { waiting: number }
  /** Filters that could not be read, and those of them that were made anew. */
  repairs: { unreadable: number; repaired: number }
  /** Of the legacy store; undefined where none is configured. */
  legacy: LegacyFigures | undefined
  /** Per store: is it down as far as the service knows, and how often was it? */
  outages: Record<StoreName, { isDown: boolean; count: number }>
}

/** What was asked of the legacy store, what was folded in from it, and what went back. */
export type LegacyFigures = {
  reads: ReturnType<LegacyPart['reads']['figures']>
  migration: MigrationFigures
  writeBack: WriteBackFigures | undefined
  isDown: boolean
}

export type ExistenceOptions = { guard?: GuardOptions; random?: Random }

/** Viewers whose filters one load has: each of a month takes up to 20 kB for 10,000 records, and some have more. */
const LOADED_VIEWERS_MAX = 25
const LOADS_MAX = 4

/** The service works on guarded stores, the job on the stores as they are: it may wait, and tries again without limit. */
export function makeExistenceSubgraph(
  clock: Clock,
  stores: ExistenceStores,
  config: Config,
  report: Notices | ((error: unknown) => void),
  { guard = {}, random = systemRandom }: ExistenceOptions = {},
): ExistenceSubgraph {
  const { existence } = config
  const { sweepAfterMs, sweepEveryMs } = config.history
  const notices = noticesOf(report)
  const outages = makeOutageNotices(clock, notices)
  const onError = outages.failed
  const businesses = makeBusinesses(config.businesses)
  const shape = ringOf(config)
  const guarded = guardSeenStores(clock, stores, guard, outages.opened, (error) => outages.openedOf('hotStore', error))
  outages.follow({ breakers: breakersOf(guarded) })

  const legacy = makeLegacyPart(clock, stores.legacy, config, outages.opened, onError)
  for (const breaker of legacy?.breakers ?? []) outages.followOne('legacyStore', breaker)
  const onRenewed = ({ month, reason, known }: Renewed): void => notices.damaged(textOfRenewed(reason, known), { month: monthText(month) })
  const onGone = (business: BusinessNumber, plays: number): void =>
    notices.damaged(textOfGone(plays), { business: businesses.byNumber(business)?.name ?? business })
  const migration = legacy && makeExistenceMigration(clock, { ...stores, legacy: legacy.patient }, config, random, { onRenewed, onGone })
  const keep = keepListing(onError)
  const foldOf = (mover: Mover | undefined): Fold =>
    makeExistenceFold(clock, stores, config, random, { migrate: mover?.migrate ?? keep, writeBack: legacy?.writeBack?.last, onRenewed })
  const mover = migration?.makeMover()
  const { fold, repair } = foldOf(mover)
  const repairs = makeRepairs(clock, repair, (viewer) => cache.forget(viewer), onError)
  const cache = makeFilterCache(
    clock,
    guarded.records,
    (load) => makeSharedLookup(load, (viewer: ViewerId) => viewer, { callsMax: LOADS_MAX, keysMax: LOADED_VIEWERS_MAX }),
    {
      bytesMax: existence.cacheBytesMax,
      ttlMs: existence.cacheTtlMs,
      monthsBefore: existence.monthsBefore,
      futureMaxMs: existence.futureMaxMs,
      marks: legacy !== undefined,
    },
    repairs.note,
  )
  guarded.breakers.hotStore.onClose(cache.distrust)
  const sampler = makeSampler(random, existence.sampleEvery, stores.history, onError)
  const noteBack = legacy?.writeBack?.note
  const arrears = makeArrears(clock, guarded, stageLate, guard, onError)
  const reads = makeSeenReads(guarded.hot, cache, sampler.sample, random, arrears, legacy?.reads)
  const resumes = makeResumeGuard(reads)
  const kinds = existence.rewards.map((first) => KIND_OF[first])
  const rewards = makeDayRewards(guarded.hot, guardRewards(stores.rewards, guarded), kinds, onError)
  const staging = makeStaging(clock, guarded.hot, shape, existence.stagedMax, foldIfUp, onError, rewards.send, noteBack)
  // What persists may wait, as the job may.
  const historyStaging = makeStaging(clock, stores.hot, shape, existence.stagedMax, fold, onError, rewards.send, noteBack)
  const fromHistory = makeHistoryPlays(clock, businesses, historyStaging, staging, rewards, stores.log, existence)
  const sources = {
    ...guarded,
    history: stores.history,
    legacy: legacy?.reads,
    reads,
    staging,
    logged: arrears.note,
    arrears,
    rewards,
    onUnreadable: repairs.note,
  }
  const service = makeExistenceService(clock, businesses, sources, existence)
  const sdl = existenceSdl(config.businesses)
  let schema: GraphQLSchema | undefined

  /** A store that is known to be down is not waited for: what is staged stays, and the job has it. */
  async function foldIfUp(slot: number, viewers: readonly ViewerId[]) {
    const isHotDown = viewers.some((viewer) => guarded.breakers.hotStore.isOpenFor(viewer))
    if (isHotDown || guarded.breakers.recordStore.isOpen()) throw new Error('an early fold is left to the job: a store is down')
    return fold(slot, viewers)
  }

  /** What has waited for longer than its month lives is in no filter that is looked at. */
  async function stageLate(plays: readonly Play[]) {
    const now = clock.now()
    const live = plays.filter(({ playedAt }) => monthOf(playedAt) >= monthOf(now) - existence.monthsBefore)
    await staging.stage(rewards.withDays(live, now))
  }

  return {
    name: 'feed-existence',
    sdl,
    /** Built when it is asked for: a worker has no use for it, nor has a simulation that starts thousands of processes. */
    get schema() {
      return (schema ??= buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers: makeExistenceResolvers(businesses, service) }]))
    },
    service,
    makeLoaders: makeExistenceLoaders(reads.reasons),
    mayHavePlayed: resumes.mayHavePlayed,
    recordPlays: fromHistory.record,
    stageWritten: fromHistory.stageWritten,
    start: arrears.start,
    async startJob() {
      const jobMover = migration?.makeMover()
      const jobFold = foldOf(jobMover).fold
      const jobStaging = makeStaging(clock, stores.hot, shape, existence.stagedMax, jobFold, onError, rewards.send, noteBack)
      const job = await startExistenceJob(
        clock,
        stores,
        jobFold,
        { stage: (plays) => jobStaging.stage(rewards.withDays(plays, clock.now())) },
        {
          ...existence,
          isKnown: (number) => businesses.byNumber(number) !== undefined,
          sweepAfterMs,
          sweepEveryMs,
          shape,
          regions: config.stores.regions,
          keysMax: existence.foldKeysMax,
        },
        onError,
        notices.parked,
      )
      return {
        figures: job.figures,
        async stop() {
          jobMover?.stop()
          try {
            await job.stop()
          } finally {
            // Also if the log does not let the worker go: who closes the stores next must not do so under a fold.
            await jobStaging.stop()
          }
        },
      }
    },
    async drain() {
      // An early fold may be moving a viewer of a million plays.
      mover?.stop()
      await arrears.stop()
      await Promise.all([staging.stop(), historyStaging.stop(), repairs.stop(), sampler.settled(), rewards.settled(), legacy?.stop()])
      guarded.stop()
    },
    figures: () => ({
      existence: service.figures(),
      cache: cache.figures(),
      recordReads: guarded.recordReads(),
      samples: sampler.figures(),
      resumes: resumes.figures(),
      fromHistory: fromHistory.figures(),
      ...rewards.figures(),
      staging: { ...staging.figures(), ...arrears.figures() },
      repairs: repairs.figures(),
      legacy: legacyFiguresOf(legacy, migration),
      outages: outagesOf(guarded),
    }),
  }
}

/** The fold as this configuration wants it; also what migrates, or simulates, folds by it. */
export function makeExistenceFold(
  clock: Clock,
  stores: ExistenceStores,
  config: Config,
  random: Random,
  legacy: Pick<FoldOptions, 'migrate' | 'writeBack' | 'onRenewed'> = {},
): Fold {
  const { history } = stores
  const shape = ringOf(config)
  return makeFold(stores, {
    ...filterRules(clock, config, random),
    rebuild: history === undefined ? undefined : makeRebuild(history, makeBusinesses(config.businesses)),
    relist: config.existence.legacy && relist,
    ...legacy,
  })

  async function relist(viewer: ViewerId, moved: readonly BusinessNumber[]): Promise<void> {
    await announceShape(stores.hot, shape, clock)
    const now = clock.now()
    const listings = moved.map((business) => listingOf(viewer, business, now))
    await stores.hot.stagePlays(listings, { now, slot: slotOf(now, shape.slots) })
  }
}

/** What moves viewers from the legacy store, as this configuration wants it. */
export function makeExistenceMigration(
  clock: Clock,
  stores: ExistenceStores & Required<Pick<ExistenceStores, 'legacy'>>,
  config: Config,
  random: Random,
  { onRenewed, onGone }: Pick<FoldOptions, 'onRenewed'> & Pick<MigrationOptions, 'onGone'> = {},
): Migration | undefined {
  const { existence } = config
  if (stores.legacy === undefined || existence.legacy === undefined) return undefined
  const { repair } = makeExistenceFold(clock, stores, config, random, { onRenewed })
  const { membersPerSecond } = existence.legacy
  const options = { ...filterRules(clock, config, random), isLive: liveness(clock, existence), membersPerSecond, onGone }
  return makeMigration(clock, stores.legacy, stores.records, repair, options)
}

function filterRules(
  clock: Clock,
  { existence }: Config,
  random: Random,
): Pick<FoldOptions, 'rate' | 'monthsBefore' | 'isOver' | 'expiryOf'> {
  const { rate, monthsBefore, idleFromHour: fromHour, idleHours: hours, utcOffsetMinutes, futureMaxMs } = existence
  return {
    rate: rateOfEach(rate, monthsBefore + 1),
    monthsBefore,
    // Not while plays of another server may still be of it.
    isOver: (month: Month) => month < monthOf(clock.now() - futureMaxMs),
    expiryOf: (month: Month) => expiryOf(month, { fromHour, hours, utcOffsetMinutes }, random),
  }
}

function legacyFiguresOf(legacy: LegacyPart | undefined, migration: Migration | undefined): LegacyFigures | undefined {
  if (legacy === undefined || migration === undefined) return undefined
  const { reads, writeBack, breakers } = legacy
  return {
    reads: reads.figures(),
    migration: migration.figures(),
    writeBack: writeBack?.figures(),
    isDown: breakers.some((breaker) => breaker.isOpen()),
  }
}

/** There is no legacy store any more, or this process was not told of it, as others may have been: said once, since there may be many. */
function keepListing(onError: (error: unknown) => void): NonNullable<FoldOptions['migrate']> {
  let isSaid = false
  return async (viewer) => {
    const what = `viewer "${viewer}" and maybe others are listed for migration, and existence.legacy is not set: they stay listed`
    if (!isSaid) onError(new TidemarkError('CONFIG_INVALID', `${what}; set it for this worker too, or leave it so, which costs nothing`))
    isSaid = true
    return 'kept'
  }
}

/** Whose it was stands with what was set aside, and not here: logs hold no viewers. */
function textOfRenewed(reason: string, known: number | undefined): string {
  if (known === undefined) return `${reason}. There is no history here to make it from: what only it knew may be served again`
  return `${reason}. History knew ${known} subjects for it: what it does not know of may be served again`
}

function textOfGone(plays: number): string {
  const what = `a viewer whose filter was damaged was moved once more, and the set of ${plays} plays that he had in the legacy store is gone`
  return `${what}: what only it knew may be served again; bring it back, and run tidemark migrate-played --verify-only --repair`
}

const KIND_OF = { play: 'FIRST_PLAY', issue: 'FIRST_ISSUE' } as const

function guardRewards(log: RewardLog | undefined, { breakers }: GuardedSeenStores): RewardLog | undefined {
  return log && { appendRewards: (events) => breakers.log.run(() => log.appendRewards(events)) }
}

function outagesOf(guarded: GuardedSeenStores): ExistenceSubgraphFigures['outages'] {
  const breakers = breakersOf(guarded)
  const outageOf = (store: StoreName) => ({ isDown: breakers[store].isOpen(), count: breakers[store].opened() })
  return { hotStore: outageOf('hotStore'), log: outageOf('log'), recordStore: outageOf('recordStore') }
}

/** A hot store that takes no writes is one that is gone without, for those who run it. */
function breakersOf({ breakers, writes }: GuardedSeenStores): Record<StoreName, Pick<Breaker, 'isOpen' | 'onClose' | 'opened'>> {
  const hot = breakers.hotStore
  return {
    ...breakers,
    hotStore: {
      isOpen: () => hot.isOpen() || writes.isOpen(),
      opened: () => hot.opened() + writes.opened(),
      onClose(listener) {
        hot.onClose(listener)
        writes.onClose(listener)
      },
    },
  }
}
