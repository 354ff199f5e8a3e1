/** Runs the hot store contract on one Redis and on a Cluster. */
import { describe } from 'vitest'
import { openRedisHotStore } from '../../../../../subgraphs/history/stores/redis/hot-store.ts'
import { hotStoreContract } from '../../../../contracts/history/hot-store.ts'
import { openedBy } from '../../../../contracts/opened-store.ts'
import { redisIsHere, startCluster, startRedis } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'

describe.skipIf(!(await redisIsHere()))('the hot store on Redis', () => {
  hotStoreContract('one Redis', () => open(startRedis, 16))
  hotStoreContract('a Redis Cluster of three masters', () => open(startCluster, 100))
})

async function open(start: () => Promise<TestServers>, regions: number) {
  const { urls, stop } = await start()
  return openedBy(regions, () => openRedisHotStore({ urls, regions }), stop)
}
