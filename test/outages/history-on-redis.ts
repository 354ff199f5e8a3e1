/** The history subgraph on Redis, with the embedded log and, by default, the embedded record store. */
import { join } from 'node:path'
import { execute, parse } from 'graphql'
import { systemClock } from '../../core/clock.ts'
import { makeConfig } from '../../config/config.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import { openEnvironment } from '../../stores/lmdb/environment.ts'
import { openLmdbJournals } from '../../writeback/stores/lmdb/journal.ts'
import { openLmdbLog } from '../../writeback/stores/lmdb/log.ts'
import { openLmdbRecordStore } from '../../subgraphs/history/stores/lmdb/record-store.ts'
import type { RecordStore } from '../../subgraphs/history/stores/record-store.ts'
import { openRedisHotStore } from '../../subgraphs/history/stores/redis/hot-store.ts'
import { makeHistorySubgraph } from '../../subgraphs/history/index.ts'

const regions = 16
export const config = makeConfig([
  {
    name: 'test',
    values: {
      stores: { regions },
      history: { timelineCap: 10, flushAgeMaxMs: 200, sweepAfterMs: 1_000, sweepEveryMs: 200 },
    },
  },
])

export type HistoryOnRedis = Awaited<ReturnType<typeof openHistoryOnRedis>>

export async function openHistoryOnRedis(urls: readonly string[], data: string, otherRecords?: RecordStore, withJob = true) {
  const environment = openEnvironment(join(data, 'stores'), { regions, sizeMaxGb: 1 })
  const hot = openRedisHotStore({ urls, regions, retryMaxMs: 300, commandTimeoutMs: 500, connectTimeoutMs: 500 })
  const log = openLmdbLog(environment, systemClock)
  const records = otherRecords ?? openLmdbRecordStore(environment)
  const journals = openLmdbJournals(data)
  const errors: unknown[] = []
  const history = makeHistorySubgraph(systemClock, { hot, log, records, journals }, config, (error) => errors.push(error), {
    checkEveryMs: 100,
    recordPatienceMs: 500,
  })
  const job = withJob ? await history.startJob() : undefined
  return {
    ...history,
    hot,
    records,
    journals,
    errors,
    async stop() {
      await job?.stop()
      await history.drain()
      await journals.close()
      await log.close()
      await hot.close()
      await records.close()
      await environment.close()
    },
  }
}

const PAGE = parse('{ viewerHistory(first: 20) { edges { node { id } } } }')

/** The ids of the first page of a viewer, through the API. Throws the errors of the API. */
export async function readPage(history: HistoryOnRedis, viewer: string, degraded: Degraded): Promise<string[]> {
  const contextValue = { viewer: { id: viewer, scopes: [] }, degraded, loaders: history.makeLoaders(degraded) }
  const { data, errors } = await execute({ schema: history.schema, document: PAGE, contextValue })
  if (errors?.[0] !== undefined) throw errors[0]
  return (data as any).viewerHistory.edges.map((edge: any) => edge.node.id as string)
}
