/** One Redis that forgets its scripts, is killed, hangs, is full, refuses, or has data of another program. */
import { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProgressChange } from '../../../core/domain.ts'
import type { RedisHotStoreOptions } from '../../../subgraphs/history/stores/redis/hot-store.ts'
import { openRedisHotStore } from '../../../subgraphs/history/stores/redis/hot-store.ts'
import { openRedisMarkStore } from '../../../subgraphs/thumbup/stores/redis/hot-store.ts'
import { checkRedisAtStart } from '../../../stores/redis/verification.ts'
import { freshViewer, keyOf, later, report, write, writtenRecord } from '../../contracts/reports.ts'
import { expectNothingLost, startLoad } from './load.ts'
import { redisIsHere, startCluster, startRedis } from '../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../harness/deployment/redis-servers.ts'
import { until } from '../../../harness/until.ts'
import { freePorts } from '../../../harness/deployment/ports.ts'

const regions = 16
const timelineCap = 100

describe.skipIf(!(await redisIsHere()))('when Redis', () => {
  let servers: TestServers
  let admin: Redis
  const opened: { close(): Promise<void> }[] = []
  const open = (options: Partial<RedisHotStoreOptions> = {}) => {
    const store = openRedisHotStore({ urls: servers.urls, regions, ...options })
    opened.push(store)
    return store
  }
  beforeAll(async () => {
    servers = await startRedis()
    admin = new Redis(servers.urls[0] as string)
    admin.on('error', () => undefined)
  })
  afterAll(async () => {
    for (const store of opened) await store.close()
    admin.disconnect()
    await servers.stop()
  })

  it('forgets its scripts between two calls, the calls still succeed', async () => {
    const store = open()
    const viewer = freshViewer()
    for (const position of [1, 2, 3]) {
      const now = later()
      const [outcome] = await store.putProgress([write(viewer, '1', report(now, { position }))], { now, timelineCap })
      expect(writtenRecord(outcome).position).toBe(position)
      await admin.script('FLUSH')
      expect((await store.listTimeline(viewer, [1], undefined, 10)).entries).toHaveLength(1)
    }
    await store.deleteProgress([keyOf(viewer, '1')], later())
    await admin.script('FLUSH')
    await store.clearProgress(viewer, 1, later())
    await store.setPaused(viewer, true, later())
  })

  it('disconnects its followers, they are notified of the gap before the first change behind it, and of its end', async () => {
    const [store, writer] = [open({ prefix: 'gap' }), open({ prefix: 'gap' })]
    const viewer = freshViewer()
    const heard: string[] = []
    const stop = await store.followProgress(
      viewer,
      (change) => heard.push('oid' in change ? change.oid : change.kind),
      (side) => heard.push(side),
    )
    const put = (oid: string, now = later()) => writer.putProgress([write(viewer, oid, report(now))], { now, timelineCap })
    await put('before')
    await until('the first change', () => heard.includes('before'))
    expect(heard).toEqual(['before'])
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await put('missed, perhaps')
    await until('the end of the gap', () => heard.includes('ends'))
    await put('after')
    await until('the change behind the gap', () => heard.includes('after'))
    expect(heard.filter((each) => each !== 'missed, perhaps')).toEqual(['before', 'begins', 'ends', 'after'])
    stop()
  })

  it('is killed under load and restarted, every acknowledged report is there, and calls were only slow', async () => {
    const store = open({ prefix: 'killed', retryMaxMs: 20_000 })
    const load = startLoad(store, 'killed')
    for (let kill = 0; kill < 3; kill++) {
      await sleep(300)
      await servers.kill(servers.ports[0] as number)
      await servers.start()
    }
    await sleep(300)
    const result = await load.stop()
    expect(result.failures).toEqual([])
    await expectNothingLost(store, regions, result)
  })

  it('is killed and restarted, followers get later changes', async () => {
    const store = open()
    const viewer = freshViewer()
    const changes: ProgressChange[] = []
    await store.followProgress(viewer, (change) => changes.push(change))
    await servers.kill(servers.ports[0] as number)
    await servers.start()
    await until('a change after the restart', async () => {
      const now = later()
      await store.putProgress([write(viewer, '1', report(now))], { now, timelineCap })
      await sleep(50)
      return changes.length > 0
    })
  })

  it('is unreachable, calls end in time with HOT_STORE_UNAVAILABLE, and the message has the address and no password', async () => {
    const [port] = await freePorts(1)
    const store = open({ urls: [`redis://someone:secret@127.0.0.1:${port}`], retryMaxMs: 300 })
    const started = performance.now()
    const failure: unknown = await store.getProgressMany([keyOf('1', '1')]).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    expect(String(failure)).toContain(`127.0.0.1:${port} does not answer`)
    expect(String(failure)).toContain('ECONNREFUSED')
    expect(String(failure)).not.toContain('secret')
    await expect(store.check()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    await expect(store.followProgress('1', () => undefined)).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    expect(performance.now() - started).toBeLessThan(5_000)
  })

  it('hangs, calls end in time, and succeed again afterwards', async () => {
    const store = open({ retryMaxMs: 200, commandTimeoutMs: 300 })
    const viewer = freshViewer()
    const now = later()
    const put = () => store.putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    await put()
    servers.signal(servers.ports[0] as number, 'SIGSTOP')
    try {
      const started = performance.now()
      await expect(put()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
      expect(performance.now() - started).toBeLessThan(2_000)
    } finally {
      servers.signal(servers.ports[0] as number, 'SIGCONT')
    }
    await until('it answers again', () =>
      put().then(
        () => true,
        () => false,
      ),
    )
  })

  it('is full, writes fail with STORE_FULL and leave nothing behind, while reads, cleared marks and clearings continue', async () => {
    const store = open()
    const viewer = freshViewer()
    const now = later()
    const [outcome] = await store.putProgress([write(viewer, '1', report(now))], { now, timelineCap })
    await admin.config('SET', 'maxmemory', '1mb')
    try {
      await expect(
        store.putProgress([write(viewer, '2', report(now)), write(viewer, '1', report(now + 1))], { now, timelineCap }),
      ).rejects.toMatchObject({
        code: 'STORE_FULL',
      })
      const lookups = await store.getProgressMany([keyOf(viewer, '1'), keyOf(viewer, '2')])
      expect(lookups.map((lookup) => lookup.record)).toEqual([writtenRecord(outcome), undefined])
      expect((await store.listTimeline(viewer, [1], undefined, 10)).entries).toHaveLength(1)
      await store.clearDirty([{ key: keyOf(viewer, '1'), version: writtenRecord(outcome).version }], timelineCap)
      await store.clearProgress(viewer, 1, later())
    } finally {
      await admin.config('SET', 'maxmemory', '0')
    }
  })

  it('has another number of regions, every call is refused', async () => {
    await open({ prefix: 'other' }).check()
    const store = open({ prefix: 'other', regions: 17 })
    await expect(store.check()).rejects.toMatchObject({
      code: 'DATA_INCOMPATIBLE',
      message: expect.stringContaining('stores.regions 16') as string,
    })
    await expect(store.getSettings('1')).rejects.toMatchObject({ code: 'DATA_INCOMPATIBLE' })
  })

  it('has data of another program under our key, a start is refused, and a store that may be unfit is down', async () => {
    await admin.set('foreign:marks:meta', 'a string')
    const openMarks = (mayBeUnfit: boolean) => {
      const store = openRedisMarkStore({ urls: servers.urls, regions, prefix: 'foreign', mayBeUnfit })
      opened.push(store)
      return store
    }
    const sentence = expect.stringMatching(/has data of another program under "foreign:marks:meta": use another prefix/) as string
    await expect(checkRedisAtStart(openMarks(false))).rejects.toMatchObject({ code: 'DATA_INCOMPATIBLE', message: sentence })
    const unfit = openMarks(true)
    await expect(unfit.check()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE', message: sentence })
    await admin.del('foreign:marks:meta')
    await unfit.check()
  })

  it('needs another password, calls fail at once with the reason', async () => {
    await admin.call('ACL', 'SETUSER', 'tidemark', 'on', '>right', '~*', '&*', '+@all')
    await open({ username: 'tidemark', password: 'right' }).check()
    const store = open({ username: 'tidemark', password: 'wrong', retryMaxMs: 500 })
    await expect(store.check()).rejects.toMatchObject({
      code: 'HOT_STORE_UNAVAILABLE',
      message: expect.stringMatching(/refuses the password of user "tidemark".*: correct stores.redis.username and password$/) as string,
    })
    await expect(checkRedisAtStart(store)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('grants too few rights, calls fail with the reason', async () => {
    await admin.call('ACL', 'SETUSER', 'limited', 'on', '>right', '~other*', '&*', '+@all')
    const store = open({ username: 'limited', password: 'right', retryMaxMs: 500 })
    const sentence = expect.stringMatching(/does not allow a command to user "limited" \(NOPERM/) as string
    await expect(store.check()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE', message: sentence })
    await expect(checkRedisAtStart(store)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: sentence })
  })

  it.each([
    ['one Redis', startRedis],
    ['a Cluster', startCluster],
  ])('needs a password, a start without one or with a wrong one is refused: %s', async (_, start) => {
    const locked = await start()
    const nodes = locked.ports.map((port) => new Redis(port, '127.0.0.1'))
    try {
      for (const node of nodes) await node.config('SET', 'requirepass', 'right')
      const openLocked = (password?: string) =>
        open({ urls: locked.urls, prefix: 'locked', retryMaxMs: 500, ...(password === undefined ? {} : { password }) })
      await expect(checkRedisAtStart(openLocked())).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(/requires a password, and none is set .*: set stores.redis.password/) as string,
      })
      await expect(checkRedisAtStart(openLocked('wrong'))).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(/refuses the password of user "default"/) as string,
      })
      await checkRedisAtStart(openLocked('right'))
    } finally {
      for (const node of nodes) node.disconnect()
      await locked.stop()
    }
  })

  it('is unreachable or accepts no writes, a start continues; with incompatible data, a start is refused', async () => {
    const [port] = await freePorts(1)
    await checkRedisAtStart(open({ urls: [`redis://127.0.0.1:${port}`], retryMaxMs: 200 }))
    await admin.config('SET', 'min-replicas-to-write', '1')
    await checkRedisAtStart(open({ retryMaxMs: 200 }))
    await admin.config('SET', 'min-replicas-to-write', '0')
    await open({ prefix: 'theirs' }).check()
    await expect(checkRedisAtStart(open({ prefix: 'theirs', regions: 17 }))).rejects.toMatchObject({ code: 'DATA_INCOMPATIBLE' })
  })

  it('is called after the store was closed, calls are refused', async () => {
    const store = open()
    await store.check()
    await store.close()
    await expect(store.getSettings('1')).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
  })

  it('has an invalid configuration, opening fails with a sentence', () => {
    expect(() => open({ urls: ['http://user:secret@example:1'] })).toThrow(/example:1 is not an address of a Redis server/)
    expect(() => open({ urls: [] })).toThrow(/no address is given/)
    expect(() => open({ prefix: 'a{b}' })).toThrow(/has a brace/)
    expect(() => open({ expireMs: 1_000 })).toThrow(/less than a day/)
  })
})
