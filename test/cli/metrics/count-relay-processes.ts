/**
 * A primary and two workers that share a data folder. Each follows the same subject and prints its notifications: `told PLACE VERSION
 * LIKES`. First the primary puts counts, then the first worker. The processes end once all of them have received both.
 *
 *     node count-relay-processes.ts FOLDER
 */
import cluster from 'node:cluster'
import { joinCountsAsPrimary, joinCountsAsWorker } from '../../../cli/metrics/count-relay.ts'
import { openLmdbCountCache } from '../../../subgraphs/thumbup/stores/lmdb/count-cache.ts'
import { openEnvironment } from '../../../stores/lmdb/environment.ts'
import { followCounts } from '../../support/follow-counts.ts'

const SUBJECT = { business: 1, oid: 'é {1}' }
const LIKES = Number.MAX_SAFE_INTEGER

async function run(folder: string): Promise<void> {
  const place = cluster.isPrimary ? 'primary' : `worker-${cluster.worker?.id}`
  const relay = cluster.isPrimary ? joinCountsAsPrimary() : joinCountsAsWorker()
  const environment = openEnvironment(folder, { regions: 100, sizeMaxGb: 1 })
  const cache = openLmdbCountCache(environment, { relay })
  const put = (version: number): Promise<void> => cache.putCounts([{ ...SUBJECT, counts: { likes: LIKES, dislikes: 0, version } }])
  let told = 0
  await followCounts(cache, [SUBJECT, { business: 2, oid: SUBJECT.oid }], ({ counts }) => {
    console.log(`told ${place} ${counts.version} ${counts.likes}`)
    told += 1
    if (place === 'worker-1' && counts.version === 1) void put(2)
    if (!cluster.isPrimary && told === 2) process.send?.('both')
  })
  if (!cluster.isPrimary) {
    process.once('disconnect', () => void environment.close().then(() => process.exit()))
    process.send?.('ready')
    return
  }
  let [ready, both] = [0, 0]
  cluster.on('message', (_worker, message: unknown) => {
    if (message === 'ready' && ++ready === 2) void put(1)
    // Superfluous messages would arrive before the end.
    if (message === 'both' && ++both === 2) setTimeout(() => cluster.disconnect(() => void environment.close()), 200)
  })
  cluster.fork()
  cluster.fork()
}

const [folder] = process.argv.slice(2)
if (import.meta.main && folder !== undefined) await run(folder)
