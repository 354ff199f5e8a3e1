/** Runs the contracts of the mark store and of the count cache on one Redis and on a Cluster. */
import { describe } from 'vitest'
import { openRedisCountCache } from '../../../../../subgraphs/thumbup/stores/redis/count-cache.ts'
import { openRedisMarkStore } from '../../../../../subgraphs/thumbup/stores/redis/hot-store.ts'
import { countCacheContract } from '../../../../contracts/thumbup/count-cache.ts'
import { markStoreContract } from '../../../../contracts/thumbup/hot-store.ts'
import { openedBy } from '../../../../contracts/opened-store.ts'
import { redisIsHere, startCluster, startRedis } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'

describe.skipIf(!(await redisIsHere()))('marks on Redis', () => {
  markStoreContract('one Redis', () => openMarks(startRedis, 16))
  countCacheContract('one Redis', () => openCounts(startRedis, 16))
  markStoreContract('a Redis Cluster of three masters', () => openMarks(startCluster, 100))
  countCacheContract('a Redis Cluster of three masters', () => openCounts(startCluster, 100))
})

async function openMarks(start: () => Promise<TestServers>, regions: number) {
  const { urls, stop } = await start()
  return openedBy(regions, () => openRedisMarkStore({ urls, regions }), stop)
}

async function openCounts(start: () => Promise<TestServers>, regions: number) {
  const servers = await start()
  const another = async () => openRedisCountCache({ urls: servers.urls, regions })
  const cache = await another()
  return {
    cache,
    another,
    async dispose() {
      await cache.close()
      await servers.stop()
    },
  }
}
