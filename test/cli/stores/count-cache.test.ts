/** The second Redis for counts is a separate server: no setting of the first applies to it. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { makeConfig } from '../../../config/config.ts'
import { openCountCache } from '../../../cli/stores/distributed/thumbup.ts'
import { openRedisCountCache } from '../../../subgraphs/thumbup/stores/redis/count-cache.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'
import { redisIsHere, startRedis, type TestServers } from '../../../harness/deployment/redis-servers.ts'

const SUBJECT = { business: 1, oid: 'a' }
const COUNTS = { likes: 3, dislikes: 0, version: 3 }
const regions = 4

describe.skipIf(!(await redisIsHere()))('counts are read from the second Redis while the first is unavailable', () => {
  let servers: TestServers
  let gone: number
  beforeAll(async () => {
    ;[gone = 0] = await freePorts(1)
    servers = await startRedis()
    const direct = openRedisCountCache({ urls: servers.urls, prefix: 'sec', regions })
    await direct.putCounts([{ ...SUBJECT, counts: COUNTS }])
    await direct.close()
  })
  afterAll(() => servers.stop())

  function open(first: object) {
    const values = {
      redis: { urls: [`redis://127.0.0.1:${gone}`], ...first, second: { urls: servers.urls, prefix: 'sec' } },
      kafka: { brokers: ['broker:9092'] },
      mysql: { url: 'mysql://u@records/x' },
    }
    const { redis } = makeConfig([{ name: 'test', values: { stores: values } }]).stores
    if (redis === undefined) throw new Error('the configuration has a Redis')
    return openCountCache(systemClock, { ...redis, regions, mayBeUnfit: false, setting: 'stores.redis' })
  }

  it.each([
    ['a Cluster', { cluster: true }],
    ['with TLS', { tls: {} }],
    ['with an account', { username: 'first', password: 'secret' }],
    ['as the second is', {}],
  ])('with the first configured as %s', async (_, first) => {
    const cache = open(first)
    try {
      expect(await cache.getCountsMany([SUBJECT])).toEqual([COUNTS])
    } finally {
      await cache.close()
    }
  })

  it('the password of the first is never sent to it, and the error names its own setting', async () => {
    const admin = new Redis(servers.urls[0] as string)
    await admin.config('SET', 'requirepass', 'secret')
    const cache = open({ password: 'secret' })
    try {
      await expect(cache.getCountsMany([SUBJECT])).rejects.toMatchObject({
        code: 'HOT_STORE_UNAVAILABLE',
        message: expect.stringMatching(/requires a password, and none is set .*: set stores\.redis\.second\.password/) as string,
      })
    } finally {
      await admin.config('SET', 'requirepass', '')
      admin.disconnect()
      await cache.close()
    }
  })
})
