/** The contract of the seen store on one Redis and on a Cluster. */
import { describe } from 'vitest'
import { openRedisSeenStore } from '../../../stores/redis/seen-store.ts'
import type { RingShape } from '../../../stores/seen-store.ts'
import { seenStoreContract } from '../../contracts/seen-store.ts'
import { redisIsHere, startCluster, startRedis } from './servers.ts'
import type { TestServers } from './servers.ts'

describe.skipIf(!(await redisIsHere()))('what was seen, on Redis', () => {
  seenStoreContract('one Redis', () => openSeen(startRedis, 16, { slots: 6, shards: 64 }))
  seenStoreContract('a Redis Cluster of three masters', () => openSeen(startCluster, 100, { slots: 6, shards: 200 }))
})

async function openSeen(start: () => Promise<TestServers>, regions: number, shape: RingShape) {
  const servers = await start()
  const another = async (other: RingShape = shape) => openRedisSeenStore({ urls: servers.urls, regions, ...other })
  let store = await another()
  return {
    store,
    regions,
    shape,
    another,
    async reopen() {
      await store.close()
      store = await another()
      return store
    },
    async dispose() {
      await store.close()
      await servers.stop()
    },
  }
}
