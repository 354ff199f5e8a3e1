/** The parts of marks and cached counts that are specific to Redis: keys that others read, command counts, ties, lost scripts. */
import { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { compareIds } from '../../../../../core/keys.ts'
import type { CountCache } from '../../../../../subgraphs/thumbup/stores/count-cache.ts'
import type { MarkStore } from '../../../../../subgraphs/thumbup/stores/hot-store.ts'
import { connect } from '../../../../../stores/redis/connection.ts'
import { openRedisCountCache } from '../../../../../subgraphs/thumbup/stores/redis/count-cache.ts'
import { openRedisHotStore } from '../../../../../subgraphs/history/stores/redis/hot-store.ts'
import { openRedisMarkStore } from '../../../../../subgraphs/thumbup/stores/redis/hot-store.ts'
import { countNames } from '../../../../../stores/redis/walking.ts'
import { regionTags } from '../../../../../stores/redis/region-tags.ts'
import { CAP, fill, lookUp, markOf, persist, putMark } from '../../../../contracts/thumbup/marks.ts'
import { keyOf, report, write } from '../../../../contracts/reports.ts'
import { makeTcpProxy } from '../../../../../harness/faults/tcp-proxy.ts'
import { until } from '../../../../../harness/until.ts'
import { redisIsHere, startRedis } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'
import { followCounts } from '../../../../support/follow-counts.ts'

const regions = 4
const tag2 = regionTags(regions)[2] as string
const DAY = 86_400_000
const at = 1_790_000_000_000

describe.skipIf(!(await redisIsHere()))('marks on their own Redis', () => {
  let servers: TestServers
  let redis: Redis
  let marks: MarkStore
  let counts: CountCache
  beforeAll(async () => {
    servers = await startRedis()
    redis = new Redis(servers.ports[0] as number)
    marks = openRedisMarkStore({ urls: servers.urls, regions })
    counts = openRedisCountCache({ urls: servers.urls, regions })
  })
  beforeEach(async () => {
    await redis.flushall()
    await marks.check()
  })
  afterAll(async () => {
    redis.disconnect()
    await marks.close()
    await counts.close()
    await servers.stop()
  })
  /** All keys except the one with the format and the regions. */
  const keys = async () => (await redis.keys('*')).filter((key) => key !== 'tm:marks:meta').sort()

  it('the marks of a business are counted up to a limit, each viewer once, so that memory is bounded', async () => {
    for (let viewer = 1; viewer <= 5; viewer++) {
      await marks.putMarks(
        [markOf(String(viewer), '7', 'LIKE', at, { blind: true }), markOf(String(viewer), '8', 'DISLIKE', at, { blind: true })],
        {
          now: at,
          cap: CAP,
        },
      )
    }
    expect(await marks.countViewers(1)).toBe(5)
    const connection = connect({ urls: servers.urls })
    const viewerIn = (key: string): string | undefined => /:(\d+):1$/.exec(key)?.[1]
    expect(await countNames(connection, 'tm:user:*', 3, viewerIn)).toBe(3)
    expect(await countNames(connection, 'tm:user:*', 10, viewerIn)).toBe(5)
    connection.close()
  })

  it('likes and dislikes are sorted sets of oids by time, and pending marks and tombstones are kept only as long as needed', async () => {
    await fill(marks, '42')
    await marks.putMarks([markOf('42', '7', 'LIKE', at), markOf('42', 'a:b', 'DISLIKE', at + 1)], { now: at, cap: CAP })
    const likes = `tm:user:likes:{${tag2}}:42:1`
    const dislikes = `tm:user:dislikes:{${tag2}}:42:1`
    const pending = `tm:user:marks:{${tag2}}:42:1`
    const region = [`tm:marks:dirty:{${tag2}}`, `tm:marks:version:{${tag2}}`]
    expect(await keys()).toEqual([...region, dislikes, likes, pending].sort())
    expect(await redis.zrange(likes, '0', '-1', 'WITHSCORES')).toEqual(['7', String(at)])
    expect(await redis.zrange(dislikes, '0', '-1', 'WITHSCORES')).toEqual(['a:b', String(at + 1)])
    expect((await redis.hkeys(pending)).sort()).toEqual(['', '7', 'a:b'])
    await persist(marks, [keyOf('42', '7'), keyOf('42', 'a:b')])
    expect(await redis.hkeys(pending)).toEqual([''])
    await putMark(marks, markOf('42', '7', 'NONE', at + 2))
    expect(await redis.exists(likes)).toBe(0)
    await persist(marks, [keyOf('42', '7')])
    expect(await redis.zrange(`tm:marks:undone:{${tag2}}`, '0', '-1', 'WITHSCORES')).toHaveLength(2)
    expect(await redis.exists(`tm:marks:dirty:{${tag2}}`)).toBe(0)
    expect(await marks.purgeUndone([2], at + 2, 10)).toBe(1)
    expect(await redis.hkeys(pending)).toEqual([''])
    expect(await marks.forgetBusiness(1, 10)).toBe(2)
    expect(await keys()).toEqual([`tm:marks:version:{${tag2}}`])
  })

  it('counts are "likes,dislikes" in a key for other tools, beside their version, and expire, zeros sooner', async () => {
    await counts.putCounts([
      { business: 1, oid: '7', counts: { likes: 12, dislikes: 3, version: 5 } },
      { business: 1, oid: '8', counts: { likes: 0, dislikes: 0, version: 2 } },
    ])
    await counts.putLikers({ business: 1, oid: '7' }, { version: 5, whole: true, entries: [{ id: '42', markedAt: at }] })
    await counts.putOwnerSums([{ business: 1, owner: '42', likes: 9, version: 4 }])
    const found = await keys()
    const [seven, eight] = ['7', '8'].map((oid) => found.find((key) => key.startsWith('tm:count:') && key.endsWith(`:1:${oid}`)) ?? '')
    expect(seven).toMatch(/^tm:count:\{[0-9a-z]+\}:1:7$/)
    const sevens = seven?.replace('tm:count:', '') ?? ''
    expect(found).toEqual(
      [
        ...[seven, eight, `tm:count-version:${sevens}`, eight?.replace('count', 'count-version')],
        ...[`tm:likers:${sevens}`, `tm:likers-version:${sevens}`, `tm:owner:{${tag2}}:1:42`],
      ].toSorted((a, b) => ((a ?? '') < (b ?? '') ? -1 : 1)),
    )
    expect(await redis.mget(seven ?? '', `tm:count-version:${sevens}`, `tm:likers-version:${sevens}`)).toEqual(['12,3', '5', '5,1'])
    expect(await redis.zrange(`tm:likers:${sevens}`, '0', '-1', 'WITHSCORES')).toEqual(['42', String(at)])
    expect(await redis.get(`tm:owner:{${tag2}}:1:42`)).toBe('9,4')
    for (const key of found)
      expect(await redis.pttl(key)).toBeGreaterThan(key === eight || key.includes('version') ? 590_000 : DAY - 10_000)
    expect(await redis.pttl(eight ?? '')).toBeLessThanOrEqual(600_000)
    expect(await counts.forgetCounts(1, 1_000)).toBe(7)
    expect(await keys()).toEqual([])
  })

  it('reading uncounted subjects leaves nothing in Redis, and a limited number of them is remembered for a while', async () => {
    const brief = openRedisCountCache({ urls: servers.urls, regions, uncountedTtlMs: 100, uncountedMax: 2 })
    const subjects = ['1', '2', '3'].map((oid) => ({ business: 1, oid }))
    const never = { likes: 0, dislikes: 0, version: 0 }
    const nobody = { version: 0, entries: [], whole: true }
    for (const cache of [counts, brief]) {
      await cache.putCounts(subjects.map((subject) => ({ ...subject, counts: never })))
      for (const subject of subjects) await cache.putLikers(subject, nobody)
      await cache.putOwnerSums(subjects.map(({ oid }) => ({ business: 1, owner: oid, likes: 0, version: 0 })))
    }
    const read = async (cache: CountCache) => [
      await cache.getCountsMany(subjects),
      await Promise.all(subjects.map((subject) => cache.getLikers(subject))),
      await cache.getOwnerSums(subjects.map(({ oid }) => ({ business: 1, owner: oid }))),
    ]
    expect(await keys()).toEqual([])
    expect(await read(counts)).toEqual([never, nobody, { likes: 0, version: 0 }].map((value) => subjects.map(() => value)))
    for (const [first] of await read(brief)) expect(first).toBeUndefined()
    await until('nothing is remembered', async () => (await read(brief)).flat().every((value) => value === undefined))
    await brief.close()
    await counts.forgetCounts(1, 1_000)
    expect((await read(counts)).flat()).toEqual(Array(9).fill(undefined))
  })

  it('a sum that fell to zero expires as soon as a count of zero', async () => {
    await counts.putOwnerSums([
      { business: 1, owner: '42', likes: 0, version: 4 },
      { business: 1, owner: '46', likes: 3, version: 4 },
    ])
    expect(await redis.pttl(`tm:owner:{${tag2}}:1:42`)).toBeLessThanOrEqual(600_000)
    expect(await redis.pttl(`tm:owner:{${tag2}}:1:46`)).toBeGreaterThan(DAY - 60_000)
    expect(await counts.getOwnerSums([{ business: 1, owner: '42' }])).toEqual([{ likes: 0, version: 4 }])
  })

  it('a cached count without its value or its version is a miss, and complete likers never outlive their list', async () => {
    const brief = openRedisCountCache({ urls: servers.urls, regions, countTtlMs: 60, zeroTtlMs: 1 })
    const subject = { business: 1, oid: '7' }
    await brief.putCounts([{ ...subject, counts: { likes: 1, dislikes: 0, version: 5 } }])
    await brief.putLikers(subject, { version: 5, whole: true, entries: [{ id: '1', markedAt: at }] })
    for (let round = 0; round < 60; round++) {
      const likers = await brief.getLikers(subject)
      if (likers !== undefined) expect(likers.entries).toHaveLength(1)
      await sleep(2)
    }
    expect([await brief.getLikers(subject), ...(await brief.getCountsMany([subject]))]).toEqual([undefined, undefined])
    await brief.close()
  })

  it('cached likers never expire before their version', async () => {
    const put = (version: number) =>
      counts.putLikers({ business: 1, oid: '7' }, { version, whole: true, entries: [{ id: '1', markedAt: at }] })
    await put(1)
    const [itsVersion, list] = (await keys()) as [string, string]
    for (let version = 2; version <= 2_001; version++) {
      await put(version)
      const [listEnds, versionEnds] = await Promise.all([redis.pexpiretime(list), redis.pexpiretime(itsVersion)])
      expect(versionEnds).toBeGreaterThan(0)
      expect(listEnds).toBeGreaterThanOrEqual(versionEnds)
    }
  })

  it('history and marks with the same prefix do not affect each other', async () => {
    const history = openRedisHotStore({ urls: servers.urls, regions })
    await history.putProgress([write('42', '7', report(at))], { now: at, timelineCap: 10 })
    await fill(marks, '42')
    await putMark(marks, markOf('42', '7', 'LIKE', at))
    await counts.putCounts([{ business: 1, oid: '7', counts: { likes: 1, dislikes: 0, version: 1 } }])
    const before = await keys()
    expect(await history.purgeExpired(at + 1, 100)).toBe(0)
    expect([await history.countDirty(), await marks.countDirtyMarks()]).toEqual([1, 1])
    await history.clearDirty(
      [{ key: keyOf('42', '7'), version: (await history.readDirtyProgress([keyOf('42', '7')]))[0]?.record?.version ?? 0 }],
      10,
    )
    expect(await history.purgeExpired(Date.now() * 2, 100)).toBe(1)
    expect(await lookUp(marks, '42', '7')).toEqual({ mark: 'LIKE', counted: 'NONE', pending: true })
    await history.putProgress([write('42', '7', report(at + 1))], { now: at, timelineCap: 10 })
    expect(await keys()).toEqual(before)
    expect((await marks.forgetBusiness(1, 100)) + (await counts.forgetCounts(1, 100))).toBe(4)
    expect((await history.getProgressMany([keyOf('42', '7')]))[0]?.record?.viewedAt).toBe(at + 1)
    await history.close()
  })

  it('fifty states are one round trip of four plain commands, and fifty counts one of one command', async () => {
    const proxy = await makeTcpProxy(servers.ports[0] as number)
    const behind = { urls: [`redis://127.0.0.1:${proxy.port}`], regions }
    const store = openRedisMarkStore(behind)
    const cache = openRedisCountCache(behind)
    const oids = Array.from({ length: 50 }, (_, index) => String(170_000_000_000 + index))
    await fill(marks, '42')
    await marks.putMarks(
      oids.slice(0, 20).map((oid) => markOf('42', oid, 'LIKE', at)),
      { now: at, cap: CAP },
    )
    await store.check()
    await cache.check()
    await redis.config('RESETSTAT')
    const sentBefore = proxy.sent()
    const states = await store.getMarkMany(oids.map((oid) => keyOf('42', oid)))
    const sentBetween = proxy.sent()
    await cache.getCountsMany(oids.map((oid) => ({ business: 1, oid })))
    expect([sentBetween - sentBefore, proxy.sent() - sentBetween]).toEqual([1, 1])
    expect(states.filter(({ mark, pending }) => mark === 'LIKE' && pending)).toHaveLength(20)
    const calls = [...(await redis.info('commandstats')).matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(
      ([, name, count]) => `${name} ${count}`,
    )
    expect(calls.filter((call) => !/config|info|ping/.test(call)).sort()).toEqual(['hget 1', 'hmget 1', 'mget 1', 'zmscore 2'])
    await Promise.all([store.close(), cache.close(), proxy.close()])
  })

  it('states are read from the sorted sets before the hash: a mark that leaves them is in the hash, or its state is truncated', async () => {
    const monitor = await redis.monitor()
    const seen: string[] = []
    monitor.on('monitor', (_time: string, args: string[]) => seen.push(args.slice(0, 2).join(' ')))
    await marks.getMarkMany([keyOf('42', '7')])
    await expect.poll(() => seen.length).toBe(4)
    monitor.disconnect()
    const [likes, dislikes, state] = ['likes', 'dislikes', 'marks'].map((kind) => `tm:user:${kind}:{${tag2}}:42:1`)
    expect(seen).toEqual([`hget ${state}`, `zmscore ${likes}`, `zmscore ${dislikes}`, `hmget ${state}`])
  })

  it('every call recovers when the server loses its scripts', async () => {
    const lose = () => redis.script('FLUSH')
    await lose()
    await fill(marks, '42')
    await lose()
    await marks.putMarks([markOf('42', '7', 'LIKE', at), markOf('42', '8', 'NONE', at)], { now: at, cap: CAP })
    await lose()
    await persist(marks, [keyOf('42', '7'), keyOf('42', '8')])
    await lose()
    expect(await marks.purgeUndone([0, 1, 2, 3], at, 10)).toBe(1)
    await lose()
    await marks.dropDirtyMarks([keyOf('42', '7')])
    await lose()
    const subject = { business: 1, oid: '7' }
    await counts.putCounts([{ ...subject, counts: { likes: 1, dislikes: 0, version: 1 } }])
    await lose()
    await counts.putLikers(subject, { version: 1, whole: true, entries: [{ id: '42', markedAt: at }] })
    await lose()
    expect((await counts.getLikers(subject))?.entries).toEqual([{ id: '42', markedAt: at }])
    await lose()
    await counts.putOwnerSums([{ business: 1, owner: '42', likes: 9, version: 4 }])
    await lose()
    expect(await lookUp(marks, '42', '7')).toEqual({ mark: 'LIKE', counted: 'LIKE', pending: false })
    expect(await marks.forgetBusiness(1, 10)).toBeGreaterThan(0)
  })

  it('thousands of likes of the same time are trimmed and listed in the right order', async () => {
    const oids = Array.from({ length: 2_500 }, (_, index) => String(index * 7)).concat(['a', 'bb', '007'])
    const rows = oids.map((oid) => ({ oid, mark: 'LIKE' as const, markedAt: at, version: 1 }))
    await fill(marks, '42', rows, { cap: 100 })
    const first = await marks.listLikes('42', 1, undefined, 30)
    const second = await marks.listLikes('42', 1, first.entries.at(-1), 100)
    const listed = [...first.entries, ...second.entries].map(({ id }) => id)
    expect(listed).toHaveLength(100)
    expect(listed).toEqual(listed.toSorted(compareIds))
    expect(second.floor?.markedAt).toBe(at)
    const kept = new Set(listed)
    // Every removed like is at or behind the floor.
    expect(oids.filter((oid) => !kept.has(oid) && compareIds(oid, second.floor?.id ?? '') < 0)).toEqual([])
    expect(
      (await marks.getMarkMany(oids.map((oid) => keyOf('42', oid)))).filter(({ mark, older }) => mark === 'NONE' && older !== 'truncated'),
    ).toEqual([])
  })

  it('up to a thousand likes of the same time are trimmed exactly from the end of the list order', async () => {
    const oids = Array.from({ length: 300 }, (_, index) => String(index))
    await fill(
      marks,
      '42',
      oids.map((oid) => ({ oid, mark: 'LIKE' as const, markedAt: at, version: 1 })),
      { cap: 100 },
    )
    const { entries, floor } = await marks.listLikes('42', 1, undefined, 1_000)
    expect(entries.map(({ id }) => id)).toEqual(oids.slice(0, 100))
    expect(floor).toEqual({ markedAt: at, id: '100' })
  })

  it('a page continues behind more likes of the same time than it reads at once', async () => {
    const oids = Array.from({ length: 150 }, (_, index) => String(index))
    const rows = oids.map((oid, index) => ({ oid, mark: 'LIKE' as const, markedAt: index < 100 ? at : at - 1, version: 1 }))
    await fill(marks, '42', rows, { cap: 1_000 })
    const listed: string[] = []
    for (let before: { id: string; markedAt: number } | undefined; ;) {
      const { entries } = await marks.listLikes('42', 1, before, 45)
      before = entries.at(-1)
      if (before === undefined) break
      expect(entries).toHaveLength(Math.min(45, 150 - listed.length))
      listed.push(...entries.map(({ id }) => id))
    }
    expect(listed).toEqual(oids)
  })

  it('caching the same count again, after expiry or by a second reader, notifies no follower', async () => {
    const subject = { business: 1, oid: '7' }
    const put = (version: number) => counts.putCounts([{ ...subject, counts: { likes: version, dislikes: 0, version } }])
    await put(5)
    const told: number[] = []
    const stop = await followCounts(counts, [subject], (changed) => told.push(changed.counts.version))
    await put(5)
    await put(6)
    await redis.flushall()
    await put(6)
    await put(7)
    await expect.poll(() => told.at(-1)).toBe(7)
    expect(told).toEqual([6, 7])
    stop()
  })

  it('count channels are at most as many as regions, and none remain without followers', async () => {
    const subjects = Array.from({ length: 5_000 }, (_, oid) => ({ business: 1, oid: String(oid) }))
    const channels = async () => ((await redis.call('PUBSUB', 'SHARDCHANNELS')) as string[]).length
    const told: string[] = []
    const stops = await Promise.all(
      [0, 1].map((half) =>
        followCounts(
          counts,
          subjects.filter(({ oid }) => Number(oid) % 2 === half),
          ({ oid }) => told.push(oid),
        ),
      ),
    )
    expect(await channels()).toBe(regions)
    await counts.putCounts(subjects.slice(0, 1_000).map((subject) => ({ ...subject, counts: { likes: 1, dislikes: 0, version: 1 } })))
    await expect.poll(() => told.length).toBe(1_000)
    stops[0]?.()
    expect(await channels()).toBe(regions)
    stops[1]?.()
    await expect.poll(channels).toBe(0)
  })

  it('a server with another number of regions is refused', async () => {
    const other = openRedisMarkStore({ urls: servers.urls, regions: regions + 1 })
    await redis.hset('tm:marks:meta', { format: '1', regions })
    await expect(other.getMarkMany([keyOf('42', '7')])).rejects.toMatchObject({ code: 'DATA_INCOMPATIBLE' })
    await other.close()
    expect(() => openRedisMarkStore({ urls: servers.urls, regions, prefix: 'a{b' })).toThrow(/brace/)
    expect(() => openRedisMarkStore({ urls: servers.urls, regions, expireMs: 1_000 })).toThrow(/less than a day/)
  })

  it('commands of a unit are repeated together, so that no answer is older than the one before', async () => {
    const connection = connect({ urls: servers.urls })
    await connection.send([{ name: 'ping', args: [] }])
    await redis.config('SET', 'min-replicas-to-write', '1')
    const answer = connection.sendInOrder([
      [
        { name: 'set', args: ['key', 'new'] },
        { name: 'get', args: ['key'] },
      ],
    ])
    await sleep(50)
    await redis.config('SET', 'min-replicas-to-write', '0')
    expect((await answer).flat().map(String)).toEqual(['OK', 'new'])
    connection.close()
  })
})
