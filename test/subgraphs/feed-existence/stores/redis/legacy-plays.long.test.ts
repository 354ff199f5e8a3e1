/** The legacy store on one Redis and on a Cluster, with the contents that sites may have. */
import { Cluster, Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../../../core/clock.ts'
import { openRedisLegacyPlays, type RedisLegacyOptions } from '../../../../../subgraphs/feed-existence/stores/redis/legacy-plays.ts'
import type { LegacyPlays } from '../../../../../subgraphs/feed-existence/stores/legacy-plays.ts'
import { redisIsHere, startCluster, startRedis, type TestServers } from '../../../../../harness/deployment/redis-servers.ts'

const NAMES = new Map([
  [1, 'video'],
  [2, 'article'],
])
const KINDS = [
  ['one Redis', startRedis, (urls: string[]) => new Redis(urls[0] as string)],
  ['a Redis Cluster', startCluster, (urls: string[]) => new Cluster(urls)],
] as const

describe.skipIf(!(await redisIsHere())).each(KINDS)('a legacy store on %s', (_, start, connectTo) => {
  let servers: TestServers
  let client: Redis | Cluster
  const opened: LegacyPlays[] = []
  beforeAll(async () => {
    servers = await start()
    client = connectTo(servers.urls)
    client.on('error', () => {})
  })
  afterAll(async () => {
    for (const each of opened) await each.close()
    client?.disconnect()
    await servers?.stop()
  })

  function open(options: Partial<RedisLegacyOptions> = {}): LegacyPlays {
    const legacy = openRedisLegacyPlays(
      { urls: servers.urls, key: 'played:{business}:{viewer}', score: 'ms', names: NAMES, ...options },
      systemClock,
    )
    opened.push(legacy)
    return legacy
  }

  async function listAll(legacy: LegacyPlays, viewer: string, count: number, between: () => Promise<unknown> = async () => {}) {
    const plays = new Map<string, number>()
    const invalid: string[] = []
    for (let page: string | undefined; ;) {
      const found = await legacy.listPlays(viewer, 1, page, count)
      for (const { oid, playedAt } of found.plays) plays.set(oid, playedAt)
      invalid.push(...found.invalid)
      page = found.next
      if (page === undefined) return { plays, invalid }
      await between()
    }
  }

  test('finds keys by their template, for any characters in ids', async () => {
    expect(open().keyOf('$&{viewer}', 1)).toBe('played:video:$&{viewer}')
    expect(open({ key: '{{viewer}}:{number}:{viewer}' }).keyOf('7', 2)).toBe('{7}:2:7')
    expect(open().keyOf('7', 9)).toBe('played:9:7')
    expect(open({ key: '{{feed}}:{u:{viewer}}:{business}' }).keyOf('7', 1)).toBe('{feed}:{u:7}:video')
  })

  test('returns the times of members, misses, and whether the set exists', async () => {
    const legacy = open({ score: 'seconds' })
    await client.zadd('played:video:7', 1_700_000_000.4, 'a', 5, 'b')
    expect(await legacy.getPlayedAt('7', 1, ['b', 'x', 'a'])).toEqual({ exists: true, playedAt: [5_000, undefined, 1_700_000_000_400] })
    expect(await legacy.getPlayedAt('8', 1, ['a'])).toEqual({ exists: false, playedAt: [undefined] })
    const many = Array.from({ length: 10_000 }, (_, id) => `m${id}`)
    await client.zadd('played:video:9', ...many.slice(5_000).flatMap((id) => [1, id]))
    const { playedAt } = await legacy.getPlayedAt('9', 1, many)
    expect(playedAt.map((time) => time !== undefined)).toEqual(many.map((_, at) => at >= 5_000))
  })

  test('lists a whole set in pages while its scores change and new members arrive', async () => {
    const legacy = open()
    const ids = Array.from({ length: 20_000 }, (_, id) => `i${id}`)
    for (let from = 0; from < ids.length; from += 5_000)
      await client.zadd('played:video:10', ...ids.slice(from, from + 5_000).flatMap((id, at) => [from + at, id]))
    let next = 0
    const { plays } = await listAll(legacy, '10', 500, () =>
      client.zadd(
        'played:video:10',
        ...Array.from({ length: 400 }, () => [1e6, ids[next++ % ids.length] as string, 1, `new${next}`]).flat(),
      ),
    )
    expect(next).toBeGreaterThan(4_000)
    expect(ids.filter((id) => !plays.has(id))).toEqual([])
  })

  test('names members that are not valid ids', async () => {
    const legacy = open()
    await client.zadd('played:video:11', 1, 'good', 2, 'x'.repeat(65), 3, '', 4, Buffer.of(0xff, 0xfe))
    const { plays, invalid } = await listAll(legacy, '11', 10)
    expect([...plays]).toEqual([['good', 1]])
    expect(invalid.toSorted()).toEqual(['', `${'x'.repeat(40)}… (65 bytes)`, 'ÿþ'])
  })

  test('accepts plays, keeps later times, and returns plays whose key is not a set', async () => {
    const legacy = open()
    await client.set('played:video:13', 'text')
    await client.zadd('played:video:12', 50, 'later', 5, 'earlier')
    const play = (viewer: string, oid: string, business = 1) => ({ viewer, business, oid, playedAt: 20 })
    const refused = await legacy.putPlays([
      play('12', 'later'),
      play('13', 'a'),
      play('12', 'earlier'),
      play('12', 'new'),
      play('14', 'b', 2),
    ])
    expect(refused).toEqual([play('13', 'a')])
    expect((await legacy.getPlayedAt('12', 1, ['later', 'earlier', 'new'])).playedAt).toEqual([50, 20, 20])
    expect((await legacy.getPlayedAt('14', 2, ['b'])).playedAt).toEqual([20])
    expect(await legacy.examine([12, 13, 15].map((viewer) => ({ viewer: String(viewer), business: 1 })))).toEqual(['set', 'other', 'none'])
    for (const call of [legacy.getPlayedAt('13', 1, ['a']), legacy.listPlays('13', 1, undefined, 10)])
      await expect(call).rejects.toMatchObject({
        code: 'LEGACY_INVALID',
        message: expect.stringContaining('viewer "13" in business "video"'),
      })
  })

  test('without an answer fails with LEGACY_UNAVAILABLE in time', async () => {
    const legacy = open({ urls: ['redis://127.0.0.1:1'], cluster: false })
    const begun = performance.now()
    await expect(legacy.getPlayedAt('7', 1, ['a'])).rejects.toMatchObject({ code: 'LEGACY_UNAVAILABLE' })
    await expect(legacy.check()).rejects.toMatchObject({
      code: 'LEGACY_UNAVAILABLE',
      message: expect.stringContaining('the legacy Redis at'),
    })
    expect(performance.now() - begun).toBeLessThan(20_000)
  })
})
