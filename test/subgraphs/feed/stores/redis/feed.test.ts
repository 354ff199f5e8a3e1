/** The parts of the feed's hot store that are specific to Redis: its keys, the number of commands, lost scripts and answers, outages. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inboxKey } from '../../../../../subgraphs/feed/model/cache-keys.ts'
import type { Post } from '../../../../../subgraphs/feed/model/post.ts'
import type { FeedHotStore } from '../../../../../subgraphs/feed/stores/hot-store.ts'
import { openRedisFeedStore } from '../../../../../subgraphs/feed/stores/redis/hot-store.ts'
import { tickOfTime } from '../../../../../subgraphs/feed/stores/redis/values.ts'
import { postIdOf } from '../../../../../subgraphs/feed/packed/post-id.ts'
import { regionTags } from '../../../../../stores/redis/region-tags.ts'
import { DAY_MS, clean, draftOf, inboxOf, optionsAt, outboxOf, postOf, publishOne, purgeAll } from '../../../../contracts/feed/posts.ts'
import { freshViewerIn, later, numbered } from '../../../../contracts/reports.ts'
import { makeTcpProxy, type TcpProxy } from '../../../../../harness/faults/tcp-proxy.ts'
import { until } from '../../../../../harness/until.ts'
import { redisIsHere, startRedis, type TestServers } from '../../../../../harness/deployment/redis-servers.ts'

const regions = 4
const tag2 = regionTags(regions)[2] as string

describe.skipIf(!(await redisIsHere()))('the feed on its own Redis', () => {
  let servers: TestServers
  let redis: Redis
  let proxy: TcpProxy
  let store: FeedHotStore
  let behind: FeedHotStore
  beforeAll(async () => {
    servers = await startRedis()
    redis = new Redis(servers.ports[0] as number)
    redis.on('error', () => undefined)
    proxy = await makeTcpProxy(servers.ports[0] as number)
    store = openRedisFeedStore({ urls: servers.urls, regions, retryMaxMs: 300 })
    behind = openRedisFeedStore({ urls: [`redis://127.0.0.1:${proxy.port}`], regions })
  })
  beforeEach(async () => {
    await redis.flushall()
    await store.check()
    await behind.check()
  })
  afterAll(async () => {
    redis.disconnect()
    await store.close()
    await behind.close()
    await proxy.close()
    await servers.stop()
  })
  const keys = async () => (await redis.keys('*')).filter((key) => key !== 'tm:feed:meta').toSorted()
  const ofRegion = (...kinds: string[]) => kinds.map((kind) => `tm:feed:${kind}:{${tag2}}`)

  it('every key has the tag of its region, and a purge of clean old data leaves only the clock', async () => {
    const [author, viewer] = ['42', '46']
    const post = await publishOne(store, draftOf(author))
    const restricted = await publishOne(store, draftOf(author, { audience: [viewer] }))
    const hex = [post, restricted].map(({ id }) => `tm:feed:post:{${tag2}}:${BigInt(id).toString(16).padStart(16, '0')}`)
    await store.addToInboxes(restricted.id, [viewer], optionsAt())
    const words = await store.setWords(viewer, ['a'], optionsAt())
    const always = [...hex, ...ofRegion('changes', 'dirty', 'held'), `tm:feed:key:{${tag2}}:42`, `tm:feed:words:{${tag2}}:46`]
    expect(await keys()).toEqual([...always, `tm:feed:outbox:{${tag2}}:42`, `tm:feed:inbox:{${tag2}}:46`].toSorted())

    const tombstones = [await store.delete(post, optionsAt()), await store.delete(restricted, optionsAt())]
    await store.removeFromInboxes(restricted.id, [viewer], optionsAt())
    expect(await keys()).toEqual([...always, `tm:feed:deleted:{${tag2}}:42`, `tm:feed:recalled:{${tag2}}:46`].toSorted())

    await clean(store, ...tombstones)
    await store.clearDirty([{ key: { viewer, post: undefined }, version: words.version }])
    await purgeAll(store, regions, later(DAY_MS))
    expect(await keys()).toEqual(ofRegion('changes'))
    expect(await redis.zrange(`tm:feed:changes:{${tag2}}`, '0', '-1')).toEqual(['+', '-'])
  })

  it('a page costs one command per region and kind, one for all changes, and all commands of a call share one round trip', async () => {
    const authors = numbered(80).map((_, at) => freshViewerIn(at % regions, regions))
    const posts: Post[] = []
    for (const author of authors) posts.push(await publishOne(store, draftOf(author)))
    const all = new Map(numbered(regions).map((_, region) => [region, 0]))
    // The server learns the scripts.
    await behind.getOutboxMany(authors)
    await behind.listChanges(all)
    for (const [call, command, count] of [
      [() => behind.getOutboxMany(authors), 'evalsha', regions],
      [() => behind.getInboxMany(authors), 'evalsha', regions],
      [() => behind.getPostMany(posts.map(({ id }) => id)), 'mget', regions],
      [() => behind.listChanges(all), 'evalsha', 1],
      [() => behind.addToInboxes(posts[0]?.id ?? '', authors, optionsAt()), 'evalsha', regions],
    ] as const) {
      await redis.config('RESETSTAT')
      const sentBefore = proxy.sent()
      await call()
      expect(proxy.sent() - sentBefore).toBe(1)
      const [, calls] = new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.info('commandstats')) ?? []
      expect(Number(calls), String(call)).toBe(count)
    }
  })

  it('a large audience in one region is split, so that no script is long', async () => {
    const viewers = numbered(1_000).map(() => freshViewerIn(1, regions))
    const { id } = await publishOne(store, draftOf(freshViewerIn(0, regions), { audience: viewers }))
    await redis.config('RESETSTAT')
    await store.addToInboxes(id, viewers, optionsAt())
    const [, calls] = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats')) ?? []
    expect(Number(calls)).toBe(40)
    const [changes] = await store.listChanges(new Map([[1, 0]]))
    expect(changes?.changed.map(({ key }) => key).toSorted()).toEqual(viewers.map(inboxKey).toSorted())
  })

  it('no command is long with the limits of the public API, although all data is in one region', async () => {
    const inOneRegion = (count: number) => numbered(count).map(() => freshViewerIn(1, regions))
    const [viewers, authors, [author = '']] = [inOneRegion(1_000), inOneRegion(500), inOneRegion(1)]
    const media = Array.from({ length: 9 }, () => `https://example.com/${'p'.repeat(480)}`)
    const largest = () => draftOf(author, { text: '👋'.repeat(2_000), media, audience: viewers })
    const posts: Post[] = []
    for (const follow of authors) posts.push(await publishOne(store, draftOf(follow)))
    const words = numbered(100).map((word) => word.padEnd(50, '👋'))
    const calls: (() => Promise<unknown>)[] = [
      async () => posts.push(await publishOne(store, largest())),
      () => store.addToInboxes(posts.at(-1)?.id ?? '', viewers, optionsAt()),
      () => store.getPostMany(posts.slice(-200).map(({ id }) => id)),
      () => store.getOutboxMany(authors),
      () => store.getInboxMany(viewers.slice(0, 1)),
      () => store.listChanges(new Map([[1, 0]])),
      () => store.setWords(author, words, optionsAt()),
      () => store.removeFromInboxes(posts.at(-1)?.id ?? '', viewers, optionsAt()),
      async () => posts.push(await store.delete(posts.pop() as Post, optionsAt())),
      async () => store.readDirty(await store.listDirty([1], later(), 500)),
      () => clean(store, ...posts.slice(-500)),
      () => store.purgeOld([1], later() - 1_000, 500),
    ]
    // The first time, the server has not compiled the scripts.
    for (const call of calls) await call()
    // On a slow machine, some commands take a millisecond. One that is not split takes tens of them.
    await redis.config('SET', 'slowlog-log-slower-than', '5000')
    for (const [which, call] of calls.entries()) {
      await redis.config('RESETSTAT')
      await redis.slowlog('RESET')
      for (let round = 0; round < 15; round++) await call()
      const slow = Number(await redis.slowlog('LEN'))
      const made = [...(await redis.info('commandstats')).matchAll(/cmdstat_(?:evalsha|mget|zrangebyscore):calls=(\d+)/g)]
      const count = made.reduce((sum, [, calls]) => sum + Number(calls), 0)
      expect(count).toBeGreaterThanOrEqual(15)
      // A busy machine interrupts the server now and then. A long command is slow every time.
      expect(slow / count, `call ${which}: ${slow} of ${count} commands were slow`).toBeLessThan(0.3)
    }
  })

  it('every call recovers when the server loses its scripts', async () => {
    const lose = () => redis.script('FLUSH')
    const author = '42'
    await lose()
    const post = await publishOne(store, draftOf(author))
    await lose()
    await store.addToInboxes(post.id, ['1'], optionsAt())
    await lose()
    expect((await inboxOf(store, '1'))?.added).toEqual([post.id])
    await lose()
    const tombstone = await store.delete(post, optionsAt())
    await lose()
    await store.setWords('1', ['a'], optionsAt())
    await lose()
    await store.noteChange('1', 'g1', optionsAt())
    await lose()
    await store.dropDirty([{ viewer: '2', post: undefined }])
    await lose()
    await clean(store, tombstone)
    expect(await store.countDirty()).toBe(1)
    await lose()
    expect(await store.purgeOld([0, 1, 2, 3], later(DAY_MS), 100)).toBeGreaterThan(0)
  })

  it('a mark without contents is dropped, after a server has lost data', async () => {
    const post = await publishOne(store, draftOf('42'))
    await store.setWords('42', ['a'], optionsAt())
    await redis.del(...(await redis.keys('tm:feed:post:*')), ...(await redis.keys('tm:feed:words:*')))
    const lost = await store.listDirty([2], later(), 10)
    expect(await store.readDirty(lost)).toEqual([undefined, undefined])
    await store.dropDirty(lost)
    expect(await store.countDirty()).toBe(0)
    expect(await postOf(store, post.id)).toBeUndefined()
  })

  describe('when the answer of an executed call is lost', () => {
    /** Makes the call, and acts between its execution and its repetition. */
    async function repeated<T>(call: () => Promise<T>, meanwhile: () => Promise<unknown> = async () => undefined): Promise<T> {
      const lost = proxy.loseNextAnswer()
      const answer = call()
      await lost
      await meanwhile()
      proxy.mend()
      return answer
    }
    beforeEach(async () => {
      // The server has the scripts, so a lost answer belongs to an executed call.
      const post = await publishOne(behind, draftOf('1'))
      await behind.delete(post, optionsAt())
      await behind.addToInboxes(post.id, ['1'], optionsAt())
    })

    it('a post is published once', async () => {
      const draft = draftOf('42')
      const outcome = await repeated(() => behind.publish(draft, optionsAt()))
      const [id] = (await outboxOf(store, '42'))?.added ?? []
      expect(outcome).toMatchObject({ status: 'repeated', post: { ...draft, id } })
      expect((await outboxOf(store, '42'))?.added).toHaveLength(1)
    })

    it('a deletion returns its tombstone, and an addition does not bring back a post that was removed meanwhile', async () => {
      const post = await publishOne(store, draftOf('42', { audience: ['7'] }))
      await repeated(
        () => behind.addToInboxes(post.id, ['7'], optionsAt()),
        () => store.removeFromInboxes(post.id, ['7'], optionsAt()),
      )
      expect(await inboxOf(store, '7')).toMatchObject({ added: [], removed: [post.id] })
      const tombstone = await repeated(() => behind.delete(post, optionsAt()))
      expect(await postOf(store, post.id)).toEqual(tombstone)
    })
  })

  it('a long inbox forgets old ids when an eighth of it is old, and its changes in between copy no more than they move', async () => {
    const start = later()
    const at = (n: number) => ({ now: start + n * 60_000, keepMs: 3_600_000 })
    const idAt = (n: number) => postIdOf(tickOfTime(start + n * 60_000) + 1, 1)
    const add = (n: number) => store.addToInboxes(idAt(n), ['7'], at(n))
    const first = async () => (await inboxOf(store, '7'))?.added[0]
    await redis.zadd(`tm:feed:changes:{${regionTags(regions)[3]}}`, tickOfTime(start + 2_000 * 60_000), '-')
    for (let n = 0; n < 40; n++) await add(0.5 * n)
    // All of them are old.
    await add(1_000)
    expect((await inboxOf(store, '7'))?.added).toEqual([idAt(1_000)])
    // Many ids of 10 minutes.
    for (let n = 0; n < 800; n++) await store.addToInboxes(idAt(1_000 + (n + 1) / 80), ['7'], at(1_010))
    // The id at the 60th minute and 80 others of the 801 are old: less than an eighth.
    await add(1_061)
    expect(await first()).toBe(idAt(1_000))
    await add(1_062)
    expect(await first()).toBe(idAt(1_002))
    expect((await inboxOf(store, '7'))?.added).toHaveLength(643)
  })

  it('a full server refuses changes with a code, and is still read, persisted and purged', async () => {
    const post = await publishOne(store, draftOf('42'))
    await redis.config('SET', 'maxmemory', '1mb')
    try {
      for (const call of [
        () => store.publish(draftOf('42'), optionsAt()),
        () => store.delete(post, optionsAt()),
        () => store.addToInboxes(post.id, ['1'], optionsAt()),
        () => store.setWords('1', [], optionsAt()),
        () => store.noteChange('1', 'g1', optionsAt()),
        () => store.check(),
      ])
        await expect(call()).rejects.toMatchObject({ code: 'STORE_FULL' })
      expect(await postOf(store, post.id)).toEqual(post)
      expect((await outboxOf(store, '42'))?.added).toEqual([post.id])
      expect(await store.listChanges(new Map([[2, 0]]))).toHaveLength(1)
      await clean(store, post)
      expect(await purgeAll(store, regions, later(DAY_MS))).toBe(2)
    } finally {
      await redis.config('SET', 'maxmemory', '0')
    }
  })

  it('while the server is down every call is refused with a code, within its time', async () => {
    const post = await publishOne(store, draftOf('42'))
    await servers.kill(servers.ports[0] as number)
    for (const call of [
      () => store.publish(draftOf('42'), optionsAt()),
      () => store.getPostMany([post.id]),
      () => store.getOutboxMany(['42']),
      () => store.listChanges(new Map([[2, 0]])),
      () => store.listDirty([2], later(), 10),
      () => store.purgeOld([2], later(), 10),
      () => store.check(),
    ]) {
      const started = performance.now()
      await expect(call()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
      expect(performance.now() - started).toBeLessThan(2_000)
    }
    await servers.start()
    const draft = draftOf('42')
    await until('posts are accepted again', () =>
      store.publish(draft, optionsAt()).then(
        () => true,
        () => false,
      ),
    )
    expect(await store.publish(draft, optionsAt())).toMatchObject({ status: 'repeated' })
  })
})
