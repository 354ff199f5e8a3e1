/** The keys of an idle viewer expire. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { redisIsHere, startRedis, type TestServers } from '../../../../../harness/deployment/redis-servers.ts'
import { regionTags } from '../../../../../stores/redis/region-tags.ts'
import type { MarkStore } from '../../../../../subgraphs/thumbup/stores/hot-store.ts'
import { openRedisMarkStore } from '../../../../../subgraphs/thumbup/stores/redis/hot-store.ts'
import { CAP, NOTHING, fill, lookUp, markOf, persist, putMark, written } from '../../../../contracts/thumbup/marks.ts'
import { keyOf } from '../../../../contracts/reports.ts'

const regions = 4
const tag2 = regionTags(regions)[2] as string
const DAY = 86_400_000
const at = 1_790_000_000_000

describe.skipIf(!(await redisIsHere()))('the expiry of marks on their own Redis', () => {
  let servers: TestServers
  let redis: Redis
  let expiring: MarkStore
  beforeAll(async () => {
    servers = await startRedis()
    redis = new Redis(servers.ports[0] as number)
    expiring = openRedisMarkStore({ urls: servers.urls, regions, expireMs: 2 * DAY })
  })
  beforeEach(async () => {
    await redis.flushall()
    await expiring.check()
  })
  afterAll(async () => {
    redis.disconnect()
    await expiring.close()
    await servers.stop()
  })

  it('an idle viewer expires state first, so that no miss is read as NONE, and a new write stays', async () => {
    const [likes, dislikes, state] = ['likes', 'dislikes', 'marks'].map((kind) => `tm:user:${kind}:{${tag2}}:42:1`) as [
      string,
      string,
      string,
    ]
    const daysLeft = (...keys: string[]) => Promise.all(keys.map(async (key) => Math.round((await redis.pttl(key)) / DAY)))
    await fill(expiring, '42', [{ oid: '9', mark: 'DISLIKE', markedAt: at, version: 1 }])
    expect(await daysLeft(state, dislikes)).toEqual([3, 4])
    await expiring.putMarks([markOf('42', '7', 'LIKE', at)], { now: Date.now(), cap: CAP })
    expect(await daysLeft(state, likes, dislikes)).toEqual([3, 4, 4])
    await persist(expiring, [keyOf('42', '7')])
    await redis.del(state)
    expect(await lookUp(expiring, '42', '7')).toEqual({ mark: 'LIKE', counted: 'LIKE', pending: false })
    expect(await lookUp(expiring, '42', '8')).toEqual({ ...NOTHING, older: 'unknown' })
  })

  it('the first mark of a day extends the expiry, and one HSET stores it with the state', async () => {
    const state = `tm:user:marks:{${tag2}}:42:1`
    const put = (oid: string, now: number) => expiring.putMarks([markOf('42', oid, 'LIKE', at, { base: null })], { now, cap: CAP })
    await redis.config('RESETSTAT')
    await put('7', at)
    expect(await redis.info('commandstats')).toMatch(/^cmdstat_hset:calls=1,/m)
    await redis.pexpire(state, 1_000_000)
    await put('8', at)
    expect(await redis.pttl(state)).toBeLessThanOrEqual(1_000_000)
    await put('9', at + DAY)
    expect(Math.round((await redis.pttl(state)) / DAY)).toBe(3)
  })

  it('a list that the persist step begins expires too', async () => {
    const { record } = written(await putMark(expiring, markOf('42', '7', 'LIKE', at, { base: null })))
    const row = { mark: 'DISLIKE', markedAt: at + 1, version: record.version + 1 } as const
    await expiring.clearDirtyMarks([{ key: keyOf('42', '7'), version: record.version, record: row }], CAP)
    expect(await lookUp(expiring, '42', '7')).toMatchObject({ mark: 'DISLIKE', pending: false })
    expect(Math.round((await redis.pttl(`tm:user:dislikes:{${tag2}}:42:1`)) / DAY)).toBe(4)
  })
})
