/** Runs the contract of the longset store on one Redis and on a Cluster. */
import { describe } from 'vitest'
import { redisIsHere, startCluster, startRedis } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'
import { openRedisLongsets } from '../../../../../subgraphs/feed/stores/redis/longsets.ts'
import { longsetStoreContract } from '../../../../contracts/feed/longset-store.ts'
import { openedBy } from '../../../../contracts/opened-store.ts'

describe.skipIf(!(await redisIsHere()))('longsets on Redis', () => {
  longsetStoreContract('one Redis', () => openSets(startRedis, 16))
  longsetStoreContract('a Redis Cluster of three masters', () => openSets(startCluster, 100))
})

async function openSets(start: () => Promise<TestServers>, regions: number) {
  const { urls, stop } = await start()
  return openedBy(regions, () => openRedisLongsets({ urls, regions }), stop)
}
