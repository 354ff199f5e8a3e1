/** One Redis gets few scripts for viewers of many regions. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { redisIsHere, startRedis, type TestServers } from '../../../../../harness/deployment/redis-servers.ts'
import { regionTags } from '../../../../../stores/redis/region-tags.ts'
import type { MarkStore } from '../../../../../subgraphs/thumbup/stores/hot-store.ts'
import { openRedisMarkStore } from '../../../../../subgraphs/thumbup/stores/redis/hot-store.ts'
import { CAP, markOf, persist } from '../../../../contracts/thumbup/marks.ts'

const regions = 4
const at = 1_790_000_000_000

describe.skipIf(!(await redisIsHere()))('marks of viewers of several regions on one Redis', () => {
  let servers: TestServers
  let redis: Redis
  let marks: MarkStore
  beforeAll(async () => {
    servers = await startRedis()
    redis = new Redis(servers.ports[0] as number)
    marks = openRedisMarkStore({ urls: servers.urls, regions })
  })
  beforeEach(async () => {
    await redis.flushall()
    await marks.check()
  })
  afterAll(async () => {
    redis.disconnect()
    await marks.close()
    await servers.stop()
  })

  it('marks of sixty viewers are put and cleared by two scripts, and each region keeps its own dirty marks and versions', async () => {
    const writes = Array.from({ length: 60 }, (_, viewer) => markOf(String(viewer), '7', 'LIKE', at, { base: null }))
    const scriptCalls = async () => /cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1]
    // The server knows the scripts afterwards.
    await marks.putMarks(writes, { now: at, cap: CAP })
    await persist(marks, writes)
    await redis.flushall()
    await marks.check()

    await redis.config('RESETSTAT')
    const outcomes = await marks.putMarks(writes, { now: at, cap: CAP })
    expect(outcomes.map(({ status }) => status)).toEqual(writes.map(() => 'written'))
    expect(await scriptCalls()).toBe('2')
    const tags = regionTags(regions)
    expect(await Promise.all(tags.map((tag) => redis.zcard(`tm:marks:dirty:{${tag}}`)))).toEqual([15, 15, 15, 15])
    const versions = await Promise.all(tags.map((tag) => redis.get(`tm:marks:version:{${tag}}`)))
    expect(versions.map(Number)).toEqual(tags.map(() => at * 1024 + 14))

    await redis.config('RESETSTAT')
    await persist(marks, writes)
    expect(await scriptCalls()).toBe('2')
    expect(await marks.countDirtyMarks()).toBe(0)
  })
})
