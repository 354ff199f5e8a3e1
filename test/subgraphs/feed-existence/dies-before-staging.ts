/** A history process that kills itself before staging a play: its report is written and not acknowledged. */
import { systemClock } from '../../../core/clock.ts'
import { makeConfig } from '../../../config/config.ts'
import { openEnvironment } from '../../../stores/lmdb/environment.ts'
import { openLmdbHotStore } from '../../../subgraphs/history/stores/lmdb/hot-store.ts'
import { openLmdbLog } from '../../../writeback/stores/lmdb/log.ts'
import { openLmdbRecordStore } from '../../../subgraphs/history/stores/lmdb/record-store.ts'
import { openRedisHotStore } from '../../../subgraphs/history/stores/redis/hot-store.ts'
import { makeHistorySubgraph } from '../../../subgraphs/history/index.ts'

const { folder, redisUrls, regions } = JSON.parse(process.argv[2] ?? '') as { folder: string; redisUrls?: string[]; regions: number }
const businesses = [{ number: 1, name: 'video', entity: 'Video' }]
const config = makeConfig([{ name: 'test', values: { stores: { regions }, businesses } }])
const environment = openEnvironment(folder, { regions, sizeMaxGb: 1 })
const history = makeHistorySubgraph(
  systemClock,
  {
    hot: redisUrls === undefined ? openLmdbHotStore(environment) : openRedisHotStore({ urls: redisUrls, regions, expireMs: 0 }),
    log: openLmdbLog(environment, systemClock),
    records: openLmdbRecordStore(environment),
  },
  config,
  (error) => console.error(error),
  {},
  {
    stageWritten() {
      process.kill(process.pid, 'SIGKILL')
      return new Promise(() => {})
    },
  },
)
await history.service.report({ id: '7', scopes: [] }, [{ business: 'video', id: '1', position: 60_000 }], new Set())
