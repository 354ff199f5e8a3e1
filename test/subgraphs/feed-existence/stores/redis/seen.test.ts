/** The parts of the seen store that are specific to Redis: keys that others read, command counts, expiry, lost scripts, lost answers. */
import { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { rewardOf } from '../../../../../core/rewards.ts'
import { shardOf } from '../../../../../subgraphs/feed-existence/model/time-ring.ts'
import { openRedisMarkStore } from '../../../../../subgraphs/thumbup/stores/redis/hot-store.ts'
import { regionTags } from '../../../../../stores/redis/region-tags.ts'
import { openRedisSeenStore } from '../../../../../subgraphs/feed-existence/stores/redis/hot-store.ts'
import { FOLDS_KEPT_MS } from '../../../../../subgraphs/feed-existence/stores/hot-store.ts'
import type { SeenStore } from '../../../../../subgraphs/feed-existence/stores/hot-store.ts'
import { fill, lookUp, markOf, putMark } from '../../../../contracts/thumbup/marks.ts'
import { freshViewer } from '../../../../contracts/reports.ts'
import {
  AT,
  CAPS,
  fold,
  foldsOf,
  issuedOids,
  isInRing,
  play,
  stage,
  stagedIn,
  stagedOf,
  stagedSeen,
} from '../../../../contracts/feed-existence/seen.ts'
import { makeTcpProxy, type TcpProxy } from '../../../../../harness/faults/tcp-proxy.ts'
import { redisIsHere, startRedis } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'

const regions = 4
const shape = { slots: 6, shards: 8 }
const tag2 = regionTags(regions)[2] as string
const WEEK = 7 * 86_400_000

describe.skipIf(!(await redisIsHere()))('the seen store on its own Redis', () => {
  let servers: TestServers
  let proxy: TcpProxy
  let redis: Redis
  let store: SeenStore
  /** Behind the proxy. */
  let here: SeenStore
  beforeAll(async () => {
    servers = await startRedis()
    redis = new Redis(servers.ports[0] as number)
    proxy = await makeTcpProxy(servers.ports[0] as number)
    store = openRedisSeenStore({ urls: servers.urls, regions, ...shape })
    here = openRedisSeenStore({ urls: [`redis://127.0.0.1:${proxy.port}`], regions, ...shape })
  })
  beforeEach(async () => {
    await redis.flushall()
    await store.check()
  })
  afterAll(async () => {
    redis.disconnect()
    await Promise.all([store.close(), here.close()])
    await proxy.close()
    await servers.stop()
  })
  /** All keys except the one with the format and the regions. */
  const keys = async () => (await redis.keys('*')).filter((key) => key !== 'tm:played:meta').sort()
  const issuedKey = `tm:issued:{${tag2}}:1:42`
  const stagedKey = `tm:played:{${tag2}}:42`

  it('the day flags are pages of bits, or sets for text ids; they expire after three days, and high ids take little memory', async () => {
    const day = 20_000
    const issue = (viewer: string) => store.putIssued(viewer, 1, ['7'], { ...CAPS, now: AT, day })
    const flags = async () => (await redis.keys('tm:first:*')).filter((key) => !key.startsWith('tm:first:pending:')).sort()
    // Region 2 of 4: 42 is the tenth viewer there, 46 the eleventh.
    for (const viewer of ['42', '46', '9223372036854775806']) expect(await issue(viewer)).toBe(true)
    const page = `tm:first:{${tag2}}:i:1:20000:0`
    const far = `tm:first:{${tag2}}:i:1:20000:${9223372036854775806n / 4n / 1_024n}`
    expect(await flags()).toEqual([page, far].sort())
    expect([await redis.bitcount(page), await redis.getbit(page, 10), await redis.getbit(page, 11)]).toEqual([2, 1, 1])
    expect(Math.round((await redis.pttl(page)) / 3_600_000)).toBe(72)
    expect(Number(await redis.call('MEMORY', 'USAGE', far))).toBeLessThan(400)
    await store.stagePlays([{ ...play('ü', '7'), day }], { now: AT, slot: 3 })
    const [named] = (await redis.keys('tm:first:*:p:1:20000:n*')) as [string]
    expect(await redis.smembers(named)).toEqual(['ü'])
    expect(await redis.zcard(`tm:first:pending:{${tag2}}`)).toBeGreaterThanOrEqual(3)
  })

  it('the values are: issued oids by time, packed staged subjects by slot and time, and rings as sets of viewers', async () => {
    await store.putIssued('42', 1, ['7', 'a:b'], { ...CAPS, now: AT })
    await stage(store, 3, play('42', '7'), play('42', 'ü', AT + 1, 258))
    const ring = `tm:played:user:{${tag2}}:3:${shardOf('42', regions, shape.shards)}`
    expect(await keys()).toEqual([issuedKey, stagedKey, ring].sort())
    expect(await redis.zrange(issuedKey, '0', '-1', 'WITHSCORES')).toEqual(['7', String(AT * 512), 'a:b', String(AT * 512 + 256)])
    expect(await redis.smembers(ring)).toEqual(['42'])
    expect(await redis.zrange(stagedKey, '0', '0', 'WITHSCORES')).toEqual(['', String(-(await foldsOf(store, '42')))])
    const entries = await redis.zrangeBuffer(stagedKey, '1', '-1', 'WITHSCORES')
    expect(entries.map((entry, at) => (at % 2 === 0 ? entry.toString('hex') : Number(String(entry)) % 2 ** 44))).toEqual([
      ...['0300010000000000000007', AT],
      ...['03010282c3bc', AT + 1],
    ])
    expect(Number(String(entries[1]))).toBe(3 * 2 ** 44 + AT)
    await fold(store, 3, '42', play('42', '7'), play('42', 'ü', AT + 1, 258))
    expect(await keys()).toEqual([issuedKey, stagedKey].sort())
    expect(await redis.zrange(stagedKey, '0', '-1', 'WITHSCORES')).toEqual(['', String(-(await foldsOf(store, '42')))])
  })

  it('issued oids expire the given time after the last issue, and need no purge', async () => {
    await store.putIssued('42', 1, ['7'], { ...CAPS, now: AT, ttlMs: WEEK })
    await redis.pexpire(issuedKey, 5_000)
    await store.putIssued('42', 1, ['8'], { ...CAPS, now: AT, ttlMs: WEEK })
    expect(Math.abs((await redis.pttl(issuedKey)) - WEEK)).toBeLessThan(60_000)
    expect(await store.purgeIssued(AT * 2, 1_000)).toBe(0)
    expect(await issuedOids(store, '42')).toEqual(['8', '7'])
  })

  it('staged plays never expire, the fold count does once nothing is staged, and never falls below its old value', async () => {
    await stage(store, 3, play('42', '7'), play('42', '8'))
    expect(await redis.pttl(stagedKey)).toBe(-1)
    await fold(store, 3, '42', play('42', '7'))
    expect(await redis.pttl(stagedKey)).toBe(-1)
    await fold(store, 3, '42', play('42', '8'))
    expect(Math.abs((await redis.pttl(stagedKey)) - FOLDS_KEPT_MS)).toBeLessThan(60_000)
    await stage(store, 4, play('42', '9'))
    expect(await redis.pttl(stagedKey)).toBe(-1)
    await fold(store, 4, '42', play('42', '9'))
    const before = await foldsOf(store, '42')
    await redis.del(stagedKey)
    await sleep(5)
    expect(await foldsOf(store, '42')).toBe(0)
    await stage(store, 4, play('42', '9'))
    await fold(store, 4, '42', play('42', '9'))
    expect(await foldsOf(store, '42')).toBeGreaterThan(before)
  })

  it('a server clock that was set back does not lower the fold count', async () => {
    await stage(store, 3, play('42', '7'), play('42', '8'))
    const ahead = Date.now() + 9_000_000_000
    await redis.zadd(stagedKey, -ahead, '')
    await fold(store, 3, '42', play('42', '8'))
    expect(await foldsOf(store, '42')).toBe(ahead + 1)
    await stage(store, 3, play('42', '9'))
    expect(await foldsOf(store, '42')).toBe(ahead + 1)
  })

  it('one viewer is read in one round trip of two plain commands, and many viewers with two commands each', async () => {
    await here.check()
    await redis.config('RESETSTAT')
    const sent = proxy.sent()
    await here.getSeen('42', 1)
    const of = ['42', '43', '44'].flatMap((viewer) => [1, 2].map((business) => ({ viewer, business })))
    await here.getSeenMany(of)
    expect(proxy.sent() - sent).toBe(2)
    const calls = [...(await redis.info('commandstats')).matchAll(/cmdstat_([a-z|]+):calls=(\d+)/g)].map(
      ([, name, count]) => `${name} ${count}`,
    )
    expect(calls.filter((call) => !/config|info|ping/.test(call)).sort()).toEqual(['zrange 4', 'zrevrange 7'])
  })

  it('a call that stages or folds is one script per region, and a large removal is several', async () => {
    const viewers = Array.from({ length: 40 }, (_, index) => String(index * regions + 2))
    await stage(store, 3, play('2', 'warm'))
    await fold(store, 3, '2', play('2', 'warm'))
    const scripts = async (call: () => Promise<unknown>) => {
      await redis.config('RESETSTAT')
      await call()
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1])
    }
    const plays = viewers.flatMap((viewer) => Array.from({ length: 30 }, (_, index) => play(viewer, String(index))))
    expect(await scripts(() => stage(store, 3, ...plays))).toBe(1)
    expect(await scripts(() => stage(store, 3, ...['1', '2', '3', '5', '6'].map((viewer) => play(viewer, 'x'))))).toBe(3)
    const read = await store.readStaged(3, viewers)
    const folded = viewers.map((viewer, index) => ({ viewer, plays: read[index] ?? [] }))
    expect(await scripts(() => store.removeStaged(3, folded))).toBe(3)
    expect((await store.readStaged(3, viewers)).flat()).toEqual([])
  })

  it('the staged plays of one viewer are read and removed in exact portions, even if all have the same time', async () => {
    const many = 25_000
    const numbers = Array.from({ length: many }, (_, index) => index)
    const own = numbers.map((index) => play('42', String(index), index < 12_000 ? AT : index < 24_000 ? AT + 1 : AT + index))
    for (let start = 0; start < many; start += 5_000) await stage(store, 3, ...own.slice(start, start + 5_000))
    await stage(store, 4, play('42', 'other slot'))
    await stage(store, 3, play('43', 'other viewer'))
    await redis.config('RESETSTAT')
    const [none = [], read = [], other = []] = await store.readStaged(3, ['9', '42', '43'])
    expect([none.length, other.length]).toEqual([0, 1])
    const texts = (plays: readonly { oid: string; playedAt: number }[]) => plays.map(({ oid, playedAt }) => `${oid} ${playedAt}`).sort()
    expect(texts(read)).toEqual(texts(own))
    expect(await redis.info('commandstats')).toContain('cmdstat_zrangebyscore:calls=5')
    await stage(store, 3, play('42', '7', AT + 9), play('42', 'new'))
    await store.removeStaged(3, [{ viewer: '42', plays: read }])
    expect(texts((await store.readStaged(3, ['42']))[0] ?? [])).toEqual([`7 ${AT + 9}`, `new ${AT}`])
    expect(Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1])).toBe(1 + many / 2_500)
    expect(await isInRing(store, 3, '42', regions, shape)).toBe(true)
    await fold(store, 3, '42', play('42', '7', AT + 9), play('42', 'new'))
    expect(await isInRing(store, 3, '42', regions, shape)).toBe(false)
    expect(await stagedIn(store, 4, '42')).toHaveLength(1)
  })

  it('every call recovers when the server loses its scripts', async () => {
    const lose = () => redis.script('FLUSH')
    await lose()
    await store.putIssued('42', 1, ['7'], { ...CAPS, now: AT })
    await lose()
    await stage(store, 3, play('42', '7'))
    await lose()
    expect(await store.getSeen('42', 1)).toEqual({
      issued: [{ oid: '7', issuedAt: AT }],
      staged: [{ oid: '7', playedAt: AT }],
      folds: expect.any(Number),
    })
    await fold(store, 3, '42', play('42', '7'))
    await lose()
    await store.check()
    expect(await stagedSeen(store, '42')).toEqual([])
  })

  it('a full server refuses writes with a code, and its content is still read and folded', async () => {
    await stage(store, 3, play('42', '7'))
    await redis.config('SET', 'maxmemory', '1')
    try {
      await expect(stage(store, 3, play('42', '8'))).rejects.toMatchObject({ code: 'STORE_FULL' })
      await expect(store.putIssued('42', 1, ['8'], { ...CAPS, now: AT })).rejects.toMatchObject({ code: 'STORE_FULL' })
      await expect(store.check()).rejects.toMatchObject({ code: 'STORE_FULL' })
      await fold(store, 3, '42', play('42', '7'))
      expect(await isInRing(store, 3, '42', regions, shape)).toBe(false)
    } finally {
      await redis.config('SET', 'maxmemory', '0')
    }
  })

  it('a server with another number of regions is refused', async () => {
    const other = openRedisSeenStore({ urls: servers.urls, regions: 2, ...shape })
    await redis.hset('tm:played:meta', { format: '1', regions })
    await expect(other.getSeen('42', 1)).rejects.toMatchObject({ code: 'DATA_INCOMPATIBLE' })
    await other.close()
    expect(() => openRedisSeenStore({ urls: servers.urls, regions, ...shape, prefix: 'a{b' })).toThrow(/brace/)
    expect(() => openRedisSeenStore({ urls: servers.urls, regions, slots: 6, shards: 6 })).toThrow(
      /not a multiple of stores.regions 4.*use 8/,
    )
  })

  it('marks with the same prefix and seen subjects do not affect each other', async () => {
    const marks = openRedisMarkStore({ urls: servers.urls, regions })
    await fill(marks, '42')
    await putMark(marks, markOf('42', '7', 'LIKE', AT))
    await store.putIssued('42', 1, ['7'], { ...CAPS, now: AT })
    await stage(store, 3, play('42', '7'))
    expect(await marks.forgetBusiness(1, 100)).toBeGreaterThan(0)
    expect(await store.getSeen('42', 1)).toEqual({
      issued: [{ oid: '7', issuedAt: AT }],
      staged: [{ oid: '7', playedAt: AT }],
      folds: expect.any(Number),
    })
    expect((await lookUp(marks, '42', '7')).mark).toBe('NONE')
    await marks.close()
  })

  describe('when an answer is lost', () => {
    /** Makes the call, and acts between its execution and its repetition. */
    async function repeated<T>(call: () => Promise<T>, meanwhile: () => Promise<unknown>): Promise<T> {
      const lost = proxy.loseNextAnswer()
      const answer = call()
      await lost
      await meanwhile()
      proxy.mend()
      return answer
    }
    beforeEach(async () => {
      // The server now has the scripts, and the store the layouts, so a lost answer belongs to an executed call.
      await here.putIssued('x', 1, ['1'], { ...CAPS, now: AT })
      await stage(here, 0, play('x', '1'))
      await fold(here, 0, 'x', play('x', '1'))
    })

    it('a first of the day is not reported, but its reward waits, and no repetition earns it again', async () => {
      const issue = (target: SeenStore) => target.putIssued('42', 1, ['7'], { ...CAPS, now: AT, day: 20_000 })
      expect(
        await repeated(
          () => issue(here),
          () => issue(store),
        ),
      ).toBe(false)
      const earned = [rewardOf('42', 1, 20_000, 'FIRST_ISSUE')]
      expect(await store.listPendingRewards([2], AT, 10)).toEqual(earned)
      const playing = (target: SeenStore) => target.stagePlays([{ ...play('42', '7'), day: 20_000 }], { now: AT, slot: 3 })
      expect(
        await repeated(
          () => playing(here),
          () => store.confirmRewards(earned),
        ),
      ).toEqual([{ viewer: '42', staged: 1 }])
      expect(await store.listPendingRewards([2], AT, 10)).toEqual([rewardOf('42', 1, 20_000, 'FIRST_PLAY')])
    })

    it('a play that was staged, folded meanwhile and staged again is in the ring again, and is folded again', async () => {
      const viewer = freshViewer()
      const answer = await repeated(
        () => stage(here, 3, play(viewer, '7')),
        async () => {
          expect(await stagedIn(store, 3, viewer)).toEqual([stagedOf(play(viewer, '7'))])
          await fold(store, 3, viewer, play(viewer, '7'))
        },
      )
      expect(answer).toEqual([{ viewer, staged: 1 }])
      expect(await isInRing(store, 3, viewer, regions, shape)).toBe(true)
    })

    it('a removal leaves plays staged after it, and does not count twice', async () => {
      const viewer = freshViewer()
      await stage(store, 3, play(viewer, '7'), play(viewer, '8'))
      let between = 0
      await repeated(
        () => fold(here, 3, viewer, play(viewer, '7'), play(viewer, '8')),
        async () => {
          between = await foldsOf(store, viewer)
          await stage(store, 3, play(viewer, '7', AT + 1), play(viewer, '9'))
        },
      )
      expect(await stagedSeen(store, viewer)).toEqual([
        { oid: '7', playedAt: AT + 1 },
        { oid: '9', playedAt: AT },
      ])
      expect([await foldsOf(store, viewer), await isInRing(store, 3, viewer, regions, shape)]).toEqual([between, true])
    })

    it('repeated issues do not move ahead of later issues', async () => {
      const viewer = freshViewer()
      await repeated(
        () => here.putIssued(viewer, 1, ['1', '2'], { ...CAPS, now: AT }),
        () => store.putIssued(viewer, 1, ['3', '1'], { ...CAPS, now: AT + 1 }),
      )
      expect((await store.getSeen(viewer, 1)).issued.map(({ oid }) => oid)).toEqual(['1', '3', '2'])
    })
  })
})
