/** The history subgraph, wired from the ports: schema object, write path, and what its job and its metrics need. */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse, type GraphQLSchema } from 'graphql'
import { makeAggregator, type AggregatorFigures } from '../../core/aggregator.ts'
import { makeBusinesses } from '../../core/businesses.ts'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import type { ProgressKey } from '../../core/domain.ts'
import { persistKeys, type PersistReport } from '../../core/persist.ts'
import type { HotStore } from '../../stores/hot-store.ts'
import type { Log } from '../../stores/log.ts'
import type { RecordStore } from '../../stores/record-store.ts'
import { openChangeStream } from './change-stream.ts'
import { makeFlusher, type FlusherFigures } from './flusher.ts'
import { startHistoryJob, type HistoryJob } from './job.ts'
import { makeHistoryResolvers } from './resolvers.ts'
import { historySdl } from './schema.ts'
import { makeHistoryService, type HistoryFigures, type HistoryService } from './service.ts'
import { readTimeline } from './timeline.ts'

export type Stores = { hot: HotStore; log: Log; records: RecordStore }

export type HistorySubgraph = {
  name: 'history'
  sdl: string
  schema: GraphQLSchema
  service: HistoryService
  /** Starts a job on the same stores; a process may serve, persist, or both. */
  startJob(): Promise<HistoryJob>
  /** Sends everything aggregated to the log and waits until it is there. */
  drain(): Promise<void>
  figures(): { reports: HistoryFigures; aggregator: AggregatorFigures; flushes: FlusherFigures }
}

const DIRECT_PERSISTS_MAX = 4
const PURGE_ROWS_MAX = 1_000
const DAY_MS = 86_400_000

export function makeHistorySubgraph(clock: Clock, stores: Stores, config: Config, onError: (error: unknown) => void): HistorySubgraph {
  const { hot, log, records } = stores
  const { history } = config
  const businesses = makeBusinesses(config.businesses)
  const persist = (keys: readonly ProgressKey[]): Promise<PersistReport> =>
    persistKeys(hot, records, keys, { timelineCap: history.timelineCap, purgeRowsMax: PURGE_ROWS_MAX })
  const flusher = makeFlusher(hot, log, persist, { directMax: DIRECT_PERSISTS_MAX }, onError)
  const aggregator = makeAggregator(clock, flusher.flush, {
    keysMax: history.flushKeysMax,
    ageMaxMs: history.flushAgeMaxMs,
    heldMax: history.aggregatorKeysMax,
  })
  const service = makeHistoryService(clock, businesses, hot, records, aggregator, flusher.reward, {
    regions: config.stores.regions,
    timelineCap: history.timelineCap,
    futureMaxMs: history.futureMaxMs,
  })
  const resolvers = makeHistoryResolvers(businesses, service, {
    timeline: (viewer, numbers, before, first) => readTimeline(hot, records, viewer, numbers, before, first),
    changes: (viewer, since) => openChangeStream(service, hot, businesses, viewer, since),
  })
  const sdl = historySdl(config.businesses)

  return {
    name: 'history',
    sdl,
    schema: buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers }]),
    service,
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
      ),
    async drain() {
      aggregator.flushAll()
      await flusher.settled()
    },
    figures: () => ({ reports: service.figures(), aggregator: aggregator.figures(), flushes: flusher.figures() }),
  }
}
