/** The feed-existence subgraph, wired from the ports: schema object, service, and the parts that its job and its metrics need. */
import type { GraphQLSchema } from 'graphql'
import { makeBusinesses, type Businesses } from '../../config/businesses.ts'
import { liveSettings, withLive } from '../../config/live/live-view.ts'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../core/clock.ts'
import type { ViewerId } from '../../core/domain.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import { makeTurns } from '../../core/event-loop-yield.ts'
import type { GuardOptions } from '../../core/outage/guard.ts'
import type { RecordReadsFigures } from '../../core/outage/record-reads.ts'
import { systemRandom, type Random } from '../../core/random.ts'
import type { RecordPlays, StageWritten } from '../../core/written-reports.ts'
import { makeExistenceLoaders, type ExistenceLoaders } from '../../loaders/feed-existence.ts'
import { makeSharedLookup } from '../../loaders/lookup/shared.ts'
import type { MayHavePlayed } from '../../loaders/progress.ts'
import { makeOutageNotices, noticesOf, type Notices } from '../../writeback/notices.ts'
import { makeExistenceFold } from './fold/configured-fold.ts'
import { startConfiguredJob } from './fold/configured-job.ts'
import { keepListing, makeDamageNotices } from './fold/damage-notices.ts'
import type { Fold } from './fold/fold.ts'
import type { ExistenceJob } from './fold/job.ts'
import { makeRepairs } from './fold/repairs.ts'
import { makeExistenceMigration } from './migration/configured-migration.ts'
import { makeLegacyPart, type LegacyPart } from './migration/legacy.ts'
import type { Migration, MigrationFigures, Mover } from './migration/migrate.ts'
import type { WriteBackFigures } from './migration/write-back.ts'
import { breakersOf, outagesOf, type StoreOutages } from './outages.ts'
import { makeFilterCache, type FilterCache, type FilterCacheOptions } from './read/filter-cache.ts'
import type { SharedLookup } from './read/filter-loads.ts'
import { makeResumeGuard, type ResumeGuardFigures } from './read/resume-guard.ts'
import { makeSampler, type SampleFigures } from './read/sampler.ts'
import { makeSeenReads } from './read/unseen.ts'
import { makeLiveSchema } from '../live-schema.ts'
import type { ReadTenants } from '../tenant-statistics.ts'
import { makeExistenceResolvers } from './resolvers.ts'
import { existenceSdl } from './schema.ts'
import { guardSeenStores } from './stores/guarded.ts'
import { makeExistenceService, type ExistenceFigures, type ExistenceService } from './write/service.ts'
import { makeWritePath, type ExistenceStores, type WritePathFigures } from './write/write-path.ts'

export { makeExistenceFold } from './fold/configured-fold.ts'
export { makeExistenceMigration } from './migration/configured-migration.ts'
export type { ExistenceStores } from './write/write-path.ts'

export type ExistenceSubgraph = {
  name: 'feed-existence'
  sdl: string
  schema: GraphQLSchema
  service: ExistenceService
  /** The loaders of one request. Stores that they had to do without go into its collector. */
  makeLoaders(degraded: Degraded, lasting?: boolean): ExistenceLoaders
  /** For history: the subjects that a viewer may have played. */
  mayHavePlayed: MayHavePlayed
  /** For history: takes the persisted reports. */
  recordPlays: RecordPlays
  /** For history: stages written reports. */
  stageWritten: StageWritten
  /** Starts the background checks for missing writes. Called by a process that serves, before its first request. They end with `drain`. */
  start(): Promise<void>
  /** Starts a job on the same stores; a process may serve, persist, or both. */
  startJob(): Promise<ExistenceJob>
  /** Waits for background work, and begins none. */
  drain(): Promise<void>
  figures(): ExistenceSubgraphFigures
  tenants: ReadTenants
}

export type ExistenceSubgraphFigures = WritePathFigures & {
  existence: ExistenceFigures
  cache: ReturnType<FilterCache['figures']>
  recordReads: RecordReadsFigures
  samples: SampleFigures
  resumes: ResumeGuardFigures
  /** Filters that could not be read, and the number of them that were rebuilt. */
  repairs: { unreadable: number; repaired: number }
  /** Undefined if no legacy store is configured. */
  legacy: LegacyFigures | undefined
  outages: StoreOutages
}

/** Reads of the legacy store, the migration from it, and the plays written back to it. */
export type LegacyFigures = {
  reads: ReturnType<LegacyPart['reads']['figures']>
  migration: MigrationFigures
  writeBack: WriteBackFigures | undefined
  isDown: boolean
}

export type ExistenceOptions = { guard?: GuardOptions; random?: Random; nextTurn?: () => Promise<void> }

/** Viewers per load of filters. A month's filter takes up to 20 kB for 10,000 records, and some are larger. */
const LOADED_VIEWERS_MAX = 25
const LOADS_MAX = 4

/** The service uses guarded stores. The job uses the stores without breakers: it may wait, and retries without limit. */
export function makeExistenceSubgraph(
  clock: Clock,
  stores: ExistenceStores,
  config: Config,
  report: Notices | ((error: unknown) => void),
  { guard = {}, random = systemRandom, nextTurn = makeTurns() }: ExistenceOptions = {},
): ExistenceSubgraph {
  const notices = noticesOf(report)
  const outages = makeOutageNotices(clock, notices)
  const onError = outages.failed
  const businesses = makeBusinesses(() => config.businesses)
  const guarded = guardSeenStores(clock, stores, guard, outages.opened, (error) => outages.openedOf('hotStore', error))
  outages.follow({ breakers: breakersOf(guarded) })

  const legacy = makeLegacyPart(clock, stores.legacy, config, outages.opened, onError)
  for (const breaker of legacy?.breakers ?? []) outages.followOne('legacyStore', breaker)
  const damage = makeDamageNotices(notices, businesses)
  const migration = legacy && makeExistenceMigration(clock, { ...stores, legacy: legacy.patient }, config, random, damage)
  const keep = keepListing(onError)
  const foldOf = (mover: Mover | undefined): Fold =>
    makeExistenceFold(clock, stores, config, random, {
      migrate: mover?.migrate ?? keep,
      writeBack: legacy?.writeBack?.last,
      onRenewed: damage.onRenewed,
    })
  const mover = migration?.makeMover()
  const { fold, repair } = foldOf(mover)

  const repairs = makeRepairs(clock, repair, (viewer) => cache.forget(viewer), onError)
  const cache = makeFilterCache(clock, guarded.records, shareLoads, cacheOptionsOf(config, legacy), repairs.note)
  guarded.breakers.hotStore.onClose(cache.distrust)
  const { staging, rewards, arrears, ...writePath } = makeWritePath(clock, stores, guarded, config, {
    guard,
    fold,
    onStaged: legacy?.writeBack?.note,
    onError,
  })
  const sampler = makeSampler(random, config.existence.sampleEvery, stores.history, onError)
  const reads = makeSeenReads(guarded.hot, cache, sampler.sample, random, arrears, legacy?.reads)
  const resumes = makeResumeGuard(reads)
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
  const service = makeExistenceService(clock, businesses, sources, config.existence)
  const tenants = tenantsOf(businesses, outages, service)
  const live = makeLiveSchema(
    () => config.businesses,
    existenceSdl,
    () => makeExistenceResolvers(businesses, service, tenants),
  )

  return {
    name: 'feed-existence',
    get sdl() {
      return live.sdl
    },
    get schema() {
      return live.schema
    },
    service,
    makeLoaders: makeExistenceLoaders(reads.reasons),
    mayHavePlayed: resumes.mayHavePlayed,
    recordPlays: writePath.fromHistory.record,
    stageWritten: writePath.fromHistory.stageWritten,
    start: arrears.start,
    async startJob() {
      const jobMover = migration?.makeMover()
      const jobFold = foldOf(jobMover).fold
      const parts = { fold: jobFold, staging: writePath.makeJobStaging(jobFold), mover: jobMover, nextTurn }
      return startConfiguredJob(clock, stores, config, parts, onError, notices.parked)
    },
    async drain() {
      // An early fold may be in the middle of migrating a viewer with a million plays.
      mover?.stop()
      await arrears.stop()
      await Promise.all([writePath.stopStaging(), repairs.stop(), sampler.settled(), legacy?.stop()])
      guarded.stop()
    },
    figures: () => ({
      existence: service.figures(),
      cache: cache.figures(),
      recordReads: guarded.recordReads(),
      samples: sampler.figures(),
      resumes: resumes.figures(),
      ...writePath.figures(),
      repairs: repairs.figures(),
      legacy: legacyFiguresOf(legacy, migration),
      outages: outagesOf(guarded),
    }),
    tenants,
  }
}

/** Filters hold all businesses of a viewer, so no business has rows of its own. */
function tenantsOf(
  businesses: Businesses,
  outages: Pick<ReturnType<typeof makeOutageNotices>, 'downMs'>,
  service: ExistenceService,
): ReadTenants {
  return () =>
    businesses.all.map(({ name, number }) => ({
      ...{ business: name, stored: undefined, downMs: outages.downMs() },
      ...service.writes.of(number),
    }))
}

function shareLoads(load: Parameters<SharedLookup>[0]): ReturnType<SharedLookup> {
  return makeSharedLookup(load, (viewer: ViewerId) => viewer, { callsMax: LOADS_MAX, keysMax: LOADED_VIEWERS_MAX })
}

function cacheOptionsOf(config: Config, legacy: LegacyPart | undefined): FilterCacheOptions {
  const { monthsBefore, futureMaxMs } = config.existence
  const sizes = liveSettings(() => config.existence, { bytesMax: 'cacheBytesMax', ttlMs: 'cacheTtlMs' })
  return withLive(sizes, { monthsBefore, futureMaxMs, marks: legacy !== undefined })
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
