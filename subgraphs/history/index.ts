/** The history subgraph, wired from the ports: schema object, write path, and the parts that its job and its metrics need. */
import type { GraphQLSchema } from 'graphql'
import type { WriteBackFigures } from '../../writeback/write-back.ts'
import { makeBusinesses } from '../../config/businesses.ts'
import type { Clock } from '../../core/clock.ts'
import { liveSettings, liveView, withLive } from '../../config/live/live-view.ts'
import { AGGREGATOR_SETTINGS } from '../../writeback/aggregator.ts'
import type { Config } from '../../config/config.ts'
import { makeRewardRules } from '../../config/reward-rules.ts'
import { noteLack, type Degraded, type StoreName } from '../../core/outage/degraded.ts'
import type { GuardedStores } from './stores/guarded.ts'
import type { RecordReadsFigures } from '../../core/outage/record-reads.ts'
import { makeLoaders, type Loaders } from '../../loaders/history.ts'
import type { MayHavePlayed } from '../../loaders/progress.ts'
import { openChangeStream } from './read/change-stream.ts'
import { startHistoryJob, type HistoryJob } from './persist/job.ts'
import { makeOutageNotices, noticeReplays, noticesOf, type Notices } from '../../writeback/notices.ts'
import { makeLiveSchema } from '../live-schema.ts'
import type { ReadTenants } from '../tenant-statistics.ts'
import { readRewardEvents } from '../../writeback/reward-events.ts'
import { makeHistoryResolvers } from './resolvers.ts'
import { historySdl } from './schema.ts'
import type { HistoryFigures, HistoryService } from './write/service.ts'
import { readTimeline } from './read/timeline.ts'
import { makeWritePath, type HistoryStores } from './write/write-path.ts'
import type { GuardOptions } from '../../core/outage/guard.ts'
import type { RecordPlays, StageWritten } from '../../core/written-reports.ts'

export type { HistoryStores } from './write/write-path.ts'

export type HistorySubgraph = {
  name: 'history'
  sdl: string
  schema: GraphQLSchema
  service: HistoryService
  /** The loaders of one request. Stores that they had to do without go into its collector. */
  makeLoaders(degraded: Degraded, lasting?: boolean): Loaders
  /** Starts a job on the same stores; a process may serve, persist, or both. */
  startJob(): Promise<HistoryJob>
  /** Applies the journal if the hot store answers, sends all aggregated keys to the log, and waits for them to arrive. */
  drain(): Promise<void>
  figures(): HistorySubgraphFigures
  tenants: ReadTenants
}

export type HistorySubgraphFigures = WriteBackFigures & {
  reports: HistoryFigures
  recordReads: RecordReadsFigures
  /** Events of progress that were not sent, because the log was down. */
  unsentEvents: number
  /** Per store: whether it is down as far as the service knows, since when, and the number of its outages. */
  outages: Record<StoreName, { isDown: boolean; since: number | undefined; count: number }>
}

/** The services of feed existence for history. All are optional. */
export type HistoryHelp = {
  /** Keeps misses from the record store: a subject that is in none of the viewer's filters was not played. */
  mayHavePlayed?: MayHavePlayed | undefined
  /** Takes the watched subjects among the persisted ones. */
  recordPlays?: RecordPlays | undefined
  /** Stages written reports before they are acknowledged. */
  stageWritten?: StageWritten | undefined
}

const DIRECT_PERSISTS_MAX = 4
const DIRECT_PERSISTS_WAITING_MAX = 1_000
const PURGE_ROWS_MAX = 1_000
const DAY_MS = 86_400_000

/** The service uses guarded stores. The job uses the stores without breakers: it may wait, and retries without limit. */
export function makeHistorySubgraph(
  clock: Clock,
  stores: HistoryStores,
  config: Config,
  report: Notices | ((error: unknown) => void),
  guard: GuardOptions = {},
  help: HistoryHelp = {},
): HistorySubgraph {
  const notices = noticesOf(report)
  const outages = makeOutageNotices(clock, notices)
  const onError = outages.failed
  const journals = stores.journals === undefined ? undefined : noticeReplays(clock, stores.journals, notices)
  const { hot, log, records } = stores
  const { history } = config
  const businesses = makeBusinesses(() => config.businesses)
  const rules = makeRewardRules(config.rewards, businesses)
  const { guarded, writeBack, service, quotas, mayLack, persist, unsentEvents, drain } = makeWritePath(
    clock,
    businesses,
    { ...stores, journals, recordPlays: help.recordPlays, stageWritten: help.stageWritten },
    {
      regions: config.stores.regions,
      timelineCap: history.timelineCap,
      rules,
      purgeRowsMax: PURGE_ROWS_MAX,
      aggregator: liveSettings(() => config.history, AGGREGATOR_SETTINGS),
      flusher: { directMax: DIRECT_PERSISTS_MAX, directWaitingMax: DIRECT_PERSISTS_WAITING_MAX },
      journaling: {},
      guard,
    },
    onError,
    outages.opened,
  )
  outages.follow(guarded)
  const tenants: ReadTenants = (measure) =>
    businesses.all.map(({ name, number }) => ({
      ...{ business: name, stored: quotas.storedOf(number, measure), downMs: outages.downMs() },
      ...quotas.writes.of(number),
    }))
  const makeResolvers = () =>
    makeHistoryResolvers(businesses, rules, service, {
      async timeline(viewer, numbers, before, first, degraded) {
        noteLack([{ viewer }], mayLack, degraded)
        return readTimeline(guarded.hot, guarded.records, viewer, numbers, before, first, degraded)
      },
      changes: (viewer, since, degraded) => openChangeStream(service, guarded.hot, businesses, clock, viewer, since, degraded),
      rewardEvents: (after, first) => readRewardEvents(guarded.log, after, first),
      isLogDown: guarded.breakers.log.isOpen,
      tenants,
    })
  const live = makeLiveSchema(() => config.businesses, historySdl, makeResolvers)

  return {
    name: 'history',
    get sdl() {
      return live.sdl
    },
    get schema() {
      return live.schema
    },
    service,
    makeLoaders: makeLoaders(guarded.hot, guarded.records, help.mayHavePlayed, mayLack),
    startJob: () =>
      startHistoryJob(
        clock,
        hot,
        log,
        records,
        persist,
        withLive(
          liveView(() => config.history),
          { retentionMs: history.retentionDays === 'forever' ? undefined : history.retentionDays * DAY_MS },
        ),
        onError,
        notices.parked,
      ),
    drain,
    figures: () => ({
      reports: service.figures(),
      ...writeBack.figures(),
      recordReads: guarded.recordReads(),
      unsentEvents: unsentEvents(),
      outages: outagesOf(guarded, outages.downSince),
    }),
    tenants,
  }
}

function outagesOf({ breakers }: GuardedStores, downSince: (store: StoreName) => number | undefined): HistorySubgraphFigures['outages'] {
  const outageOf = (store: StoreName) => ({ isDown: breakers[store].isOpen(), since: downSince(store), count: breakers[store].opened() })
  return { hotStore: outageOf('hotStore'), log: outageOf('log'), recordStore: outageOf('recordStore') }
}
