/** The history subgraph, wired from the ports: schema object, write path, and what its job and its metrics need. */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse, type GraphQLSchema } from 'graphql'
import { makeAggregator, type Aggregator, type AggregatorFigures } from '../../core/aggregator.ts'
import { makeBusinesses } from '../../core/businesses.ts'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import type { ProgressKey } from '../../core/domain.ts'
import type { Degraded, StoreName } from '../../core/degraded.ts'
import { guardStores, type GuardOptions, type GuardedStores, type Stores } from '../../core/guarded-stores.ts'
import { persistKeys, type PersistReport } from '../../core/persist.ts'
import { regionOf } from '../../core/regions.ts'
import { makeLoaders, type Loaders } from '../../loaders/index.ts'
import type { Journals } from '../../stores/journal.ts'
import { openChangeStream } from './change-stream.ts'
import { makeFlusher, type Flusher, type FlusherFigures } from './flusher.ts'
import { startHistoryJob, type HistoryJob } from './job.ts'
import { makeJournaling, type JournalFigures, type Journaling } from './journaling.ts'
import { makeOutageNotices, noticeReplays, noticesOf, type HistoryNotices } from './notices.ts'
import { makeReplay } from './replay.ts'
import { makeHistoryResolvers } from './resolvers.ts'
import { historySdl } from './schema.ts'
import { makeHistoryService, type HistoryFigures, type HistoryService } from './service.ts'
import { readTimeline } from './timeline.ts'
import { makeDirectWrites, makeJournaledWrites } from './writes.ts'

/** With journals, writes are taken while the hot store is down. */
export type HistoryStores = Stores & { journals?: Journals | undefined }

export type HistorySubgraph = {
  name: 'history'
  sdl: string
  schema: GraphQLSchema
  service: HistoryService
  /** The loaders of one request. What they had to do without goes into its collector. */
  makeLoaders(degraded?: Degraded, lasting?: boolean): Loaders
  /** Starts a job on the same stores; a process may serve, persist, or both. */
  startJob(): Promise<HistoryJob>
  /** Applies what is journaled, if the hot store answers, sends everything aggregated to the log and waits until it is there. */
  drain(): Promise<void>
  figures(): HistorySubgraphFigures
}

export type HistorySubgraphFigures = {
  reports: HistoryFigures
  aggregator: AggregatorFigures
  flushes: FlusherFigures
  journal: JournalFigures
  /** Per store: is it down as far as the service knows, and how often was it? */
  outages: Record<StoreName, { isDown: boolean; count: number }>
}

const DIRECT_PERSISTS_MAX = 4
const DIRECT_PERSISTS_WAITING_MAX = 1_000
const PURGE_ROWS_MAX = 1_000
const DAY_MS = 86_400_000

/** The service works on guarded stores, the job on the stores as they are: it may wait, and retries without limit. */
export function makeHistorySubgraph(
  clock: Clock,
  stores: HistoryStores,
  config: Config,
  report: HistoryNotices | ((error: unknown) => void),
  guardOptions: GuardOptions = {},
): HistorySubgraph {
  const notices = noticesOf(report)
  const outages = makeOutageNotices(clock, notices)
  const onError = outages.failed
  const { hot, log, records } = stores
  const { history } = config
  const { timelineCap } = history
  const guarded = guardStores(clock, stores, guardOptions, outages.opened)
  outages.follow(guarded)
  const businesses = makeBusinesses(config.businesses)
  const persist = (keys: readonly ProgressKey[]): Promise<PersistReport> =>
    persistKeys(hot, records, keys, { timelineCap, purgeRowsMax: PURGE_ROWS_MAX })
  const flusher = makeFlusher(
    guarded.hot,
    guarded.log,
    (keys) => persistIfUp(guarded, keys, () => persist(keys)),
    { directMax: DIRECT_PERSISTS_MAX, directWaitingMax: DIRECT_PERSISTS_WAITING_MAX },
    onError,
  )
  const aggregator = makeAggregator(clock, flusher.flush, {
    keysMax: history.flushKeysMax,
    ageMaxMs: history.flushAgeMaxMs,
    heldMax: history.aggregatorKeysMax,
  })
  const journaling =
    stores.journals === undefined
      ? undefined
      : startJournaling(
          clock,
          guarded,
          noticeReplays(clock, stores.journals, notices),
          aggregator,
          flusher,
          { timelineCap, regions: config.stores.regions },
          onError,
        )
  const writes =
    journaling === undefined
      ? makeDirectWrites(guarded.hot, guarded.records, timelineCap)
      : makeJournaledWrites(guarded.hot, guarded.records, journaling, timelineCap)
  const service = makeHistoryService(
    clock,
    businesses,
    guarded.hot,
    guarded.records,
    aggregator,
    flusher.reward,
    { regions: config.stores.regions, timelineCap, futureMaxMs: history.futureMaxMs },
    writes,
  )
  const resolvers = makeHistoryResolvers(businesses, service, {
    timeline: (viewer, numbers, before, first, degraded) =>
      readTimeline(guarded.hot, guarded.records, viewer, numbers, before, first, degraded),
    changes: (viewer, since, degraded) => openChangeStream(service, guarded.hot, businesses, clock, viewer, since, degraded),
    isLogDown: guarded.breakers.log.isOpen,
  })
  const sdl = historySdl(config.businesses)

  return {
    name: 'history',
    sdl,
    schema: buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers }]),
    service,
    makeLoaders: makeLoaders(guarded.hot, guarded.records),
    startJob: () =>
      startHistoryJob(
        clock,
        hot,
        log,
        records,
        persist,
        {
          sweepAfterMs: history.sweepAfterMs,
          sweepEveryMs: history.sweepEveryMs,
          persistKeysMax: history.persistKeysMax,
          retentionMs: history.retentionDays === 'forever' ? undefined : history.retentionDays * DAY_MS,
          purgeEveryMs: history.purgeEveryMs,
        },
        onError,
        notices.parked,
      ),
    async drain() {
      await journaling?.stop()
      aggregator.flushAll()
      await flusher.settled()
      guarded.stop()
    },
    figures: () => ({
      reports: service.figures(),
      aggregator: aggregator.figures(),
      flushes: flusher.figures(),
      journal: journaling?.figures() ?? { journaled: 0, replayed: 0, dropped: 0, parked: 0 },
      outages: outagesOf(guarded),
    }),
  }
}

function startJournaling(
  clock: Clock,
  { hot, records, breakers }: GuardedStores,
  journals: Journals,
  aggregator: Aggregator,
  flusher: Flusher,
  options: { timelineCap: number; regions: number },
  onError: (error: unknown) => void,
): Journaling {
  const journaling: Journaling = makeJournaling(
    clock,
    breakers,
    journals,
    (dropped) =>
      makeReplay(hot, records, options.timelineCap, {
        aggregate: (key) => aggregator.add(regionOf(key.viewer, options.regions), key),
        reward: flusher.reward,
        withoutBase: (writes, now) =>
          journaling.append({ kind: 'base', now, keys: writes.map(({ viewer, business, oid }) => ({ viewer, business, oid })) }),
        dropped,
      }),
    {},
    onError,
  )
  journaling.start()
  return journaling
}

/** A store that is known to be down is not waited for: the sweeper has the keys anyway. */
async function persistIfUp({ breakers }: GuardedStores, keys: readonly ProgressKey[], persist: () => Promise<unknown>): Promise<void> {
  // The keys of a flush are of one region.
  const isHotDown = keys[0] !== undefined && breakers.hotStore.isOpenFor(keys[0].viewer)
  if (isHotDown || breakers.recordStore.isOpen()) throw new Error('a flush is left to the sweeper: two stores are down')
  await persist()
}

function outagesOf({ breakers }: GuardedStores): HistorySubgraphFigures['outages'] {
  const outageOf = (store: StoreName) => ({ isDown: breakers[store].isOpen(), count: breakers[store].opened() })
  return { hotStore: outageOf('hotStore'), log: outageOf('log'), recordStore: outageOf('recordStore') }
}
