/** The environment of the half year: embedded stores, the real subgraph, a failing worker, and a settable time. */
import { makeConfig, type Config } from '../../config/config.ts'
import { ringOf } from '../../config/feed-existence.ts'
import type { Clock } from '../../core/clock.ts'
import type { Random } from '../../core/random.ts'
import { openEnvironment } from '../../stores/lmdb/environment.ts'
import { makeExistenceSubgraph } from '../../subgraphs/feed-existence/index.ts'
import { openLmdbSeenStore } from '../../subgraphs/feed-existence/stores/lmdb/hot-store.ts'
import { openLmdbPlayLog } from '../../subgraphs/feed-existence/stores/lmdb/play-log.ts'
import { openLmdbSeenRecords } from '../../subgraphs/feed-existence/stores/lmdb/record-store.ts'
import { END, START } from './plan.ts'
import { makeTruth } from './truth.ts'
import { hoursOfFailure, makeWorker } from './worker.ts'

const REGIONS = 2
export const BUSINESS = 'video'
const BUSINESSES = [{ number: 1, name: BUSINESS, entity: 'Video' }]

export type HalfYear = ReturnType<typeof openHalfYear>

/** `folder`: an empty folder for the stores. */
export function openHalfYear(folder: string, random: Random) {
  const config: Config = makeConfig([
    { name: 'half year', values: { stores: { regions: REGIONS }, existence: { shards: 2 * REGIONS }, businesses: BUSINESSES } },
  ])
  const shape = ringOf(config)
  const time = { now: START }
  const clock: Clock = { now: () => time.now, after: () => ({ cancel() {} }) }
  const environment = openEnvironment(folder, { regions: REGIONS, sizeMaxGb: 8 })
  const log = openLmdbPlayLog(environment, clock)
  const stores = { hot: openLmdbSeenStore(environment, shape), log, records: openLmdbSeenRecords(environment) }
  const subgraph = makeExistenceSubgraph(clock, stores, config, raise, { random })
  const failing = hoursOfFailure(random, START, END, shape.slots)
  const truth = makeTruth()
  const worker = makeWorker(clock, stores, config, random, failing, truth.written)
  return {
    ...{ time, config, shape, stores, subgraph, failing, truth, worker },
    async close(): Promise<void> {
      await subgraph.drain()
      await log.close()
      await environment.close()
    },
  }
}

function raise(error: unknown): void {
  throw error
}
