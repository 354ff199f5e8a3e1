/**
 * A process of the counter benchmark, which is killed now and then: it counts the batches that its parent names, and runs the write-back
 * with its job. The parent sends a batch again if this process ends before it answered, or if it answers that a store was down.
 *
 *     node bench/feed/count-worker.ts CONFIG POSTS      (started by counters.bench.ts; CONFIG is JSON)
 */
import { systemClock } from '../../core/clock.ts'
import { makeConfig } from '../../config/config.ts'
import { openDistributedFeed } from '../../cli/stores/distributed/feed.ts'
import type { Distributed } from '../../cli/stores/servers.ts'
import { guardCounterStores } from '../../subgraphs/feed/counters/guarded.ts'
import { persistCounts } from '../../subgraphs/feed/counters/persist.ts'
import { makeCounterService } from '../../subgraphs/feed/counters/service.ts'
import { startFeedJob } from '../../subgraphs/feed/persist/job.ts'
import type { FeedPersistSteps } from '../../subgraphs/feed/persist/steps.ts'
import { guardFeedStores } from '../../subgraphs/feed/stores/guarded.ts'
import { openMysqlCounterRecords } from '../../subgraphs/feed/stores/mysql/counters/counter-records.ts'
import { openRedisCounterStore } from '../../subgraphs/feed/stores/redis/counters/counter-store.ts'
import { makeFeedWriteBack } from '../../subgraphs/feed/write/write-back.ts'
import { SCHEMAS, eventsOfBatch } from './counted-events.ts'

export type BatchAnswer = { batch: number; outcome: 'counted' | 'failed'; repeated: number }

const [settings = '', posts = ''] = process.argv.slice(2)
const config = makeConfig([{ name: 'the benchmark', values: JSON.parse(settings) }])
const servers = config.stores as Distributed
const { regions } = config.stores
// What a killed server causes is expected here. A wrong total shows at the end.
const ignore = (): void => undefined
const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }

const { feed } = await openDistributedFeed(config, systemClock, logger, servers)
const stores = {
  hot: openRedisCounterStore(SCHEMAS, { ...servers.redis, regions, retryMaxMs: 2_000 }),
  records: await openMysqlCounterRecords({ ...servers.mysql, regions }, systemClock),
}
const steps: FeedPersistSteps = {
  persist: () => Promise.reject(new Error('there are no posts here')),
  counters: { persist: (subjects) => persistCounts(stores, SCHEMAS, subjects), listDirty: stores.hot.listDirty },
}
const guarded = guardFeedStores(systemClock, feed, {}, ignore)
const writeBack = makeFeedWriteBack(systemClock, guarded, steps, { regions, feed: config.feed }, ignore)
const counters = guardCounterStores(systemClock, stores, guarded.breakers, {})
const service = makeCounterService(systemClock, counters, SCHEMAS, { aggregate: writeBack.aggregate, fillsReads: true }, ignore)
await startFeedJob(systemClock, feed, steps, { ...config.feed, regions: config.stores.regions }, ignore)

process.on('message', (batch: number) => void count(batch))
process.on('disconnect', () => process.exit())
process.send?.('ready')

async function count(batch: number): Promise<void> {
  const results = await service.adjust(eventsOfBatch(batch, Number(posts)))
  if (results.includes('invalid')) throw new Error(`an event of batch ${batch} is invalid`)
  const outcome = results.every((result) => typeof result === 'string') ? 'counted' : 'failed'
  const repeated = results.filter((result) => result === 'repeated').length
  if (process.connected) process.send?.({ batch, outcome, repeated } satisfies BatchAnswer)
}
