/** Runs the contract of the seen store on one Redis and on a Cluster. */
import { describe } from 'vitest'
import { openRedisSeenStore } from '../../../../../subgraphs/feed-existence/stores/redis/hot-store.ts'
import type { RingShape } from '../../../../../subgraphs/feed-existence/stores/hot-store.ts'
import { openedBy } from '../../../../contracts/opened-store.ts'
import { seenStoreContract } from '../../../../contracts/feed-existence/hot-store.ts'
import { redisIsHere, startCluster, startRedis } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'

describe.skipIf(!(await redisIsHere()))('the seen store on Redis', () => {
  const few = { slots: 6, shards: 64 }
  const many = { slots: 6, shards: 200 }
  seenStoreContract('one Redis', few, () => openSeen(startRedis, 16, few))
  seenStoreContract('a Redis Cluster of three masters', many, () => openSeen(startCluster, 100, many))
})

async function openSeen(start: () => Promise<TestServers>, regions: number, shape: RingShape) {
  const { urls, stop } = await start()
  return openedBy(regions, (other: RingShape = shape) => openRedisSeenStore({ urls, regions, ...other }), stop)
}
