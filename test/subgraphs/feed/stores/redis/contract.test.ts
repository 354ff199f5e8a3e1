/** Runs the contract of the feed's hot store on one Redis and on a Cluster. */
import { describe } from 'vitest'
import { openRedisFeedStore } from '../../../../../subgraphs/feed/stores/redis/hot-store.ts'
import { feedStoreContract } from '../../../../contracts/feed/hot-store.ts'
import { openedBy } from '../../../../contracts/opened-store.ts'
import { redisIsHere, startCluster, startRedis, type TestServers } from '../../../../../harness/deployment/redis-servers.ts'

describe.skipIf(!(await redisIsHere()))('the feed on Redis', () => {
  feedStoreContract('one Redis', () => openFeed(startRedis, 16))
  feedStoreContract('a Redis Cluster of three masters', () => openFeed(startCluster, 100))
})

async function openFeed(start: () => Promise<TestServers>, regions: number) {
  const { urls, stop } = await start()
  return openedBy(regions, () => openRedisFeedStore({ urls, regions }), stop)
}
