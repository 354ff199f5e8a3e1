/** Database numbers separate deployments that share a server. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRedisCountCache } from '../../../subgraphs/thumbup/stores/redis/count-cache.ts'
import { openRedisHotStore } from '../../../subgraphs/history/stores/redis/hot-store.ts'
import { checkRedisAtStart } from '../../../stores/redis/verification.ts'
import { freshViewer, later, report, write } from '../../contracts/reports.ts'
import { until } from '../../../harness/until.ts'
import { redisIsHere, startRedis, type TestServers } from '../../../harness/deployment/redis-servers.ts'
import { followCounts } from '../../support/follow-counts.ts'

const regions = 4
const timelineCap = 100

describe.skipIf(!(await redisIsHere()))('the databases of one Redis', () => {
  let servers: TestServers
  let admin: Redis
  const opened: { close(): Promise<void> }[] = []
  const keep = <S extends { close(): Promise<void> }>(store: S): S => {
    opened.push(store)
    return store
  }
  const at = (database: string) => `${servers.urls[0]}/${database}`
  const openHot = (database: string, more: object = {}) => keep(openRedisHotStore({ urls: [at(database)], regions, ...more }))
  const openCache = (database: string) => keep(openRedisCountCache({ urls: [at(database)], regions }))

  beforeAll(async () => {
    servers = await startRedis()
    admin = new Redis(servers.urls[0] as string)
  })
  afterAll(async () => {
    for (const store of opened) await store.close()
    admin.disconnect()
    await servers.stop()
  })

  it('a missing database is refused at a start, and nothing is written to database 0 instead', async () => {
    const store = openHot('99', { prefix: 'lost', retryMaxMs: 500 })
    const sentence = /does not give user "default" database 99 \(.*\): name one in stores.redis.urls that it has and allows$/
    await expect(store.check()).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE', message: expect.stringMatching(sentence) as string })
    await expect(checkRedisAtStart(store)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(sentence) as string,
    })
    const now = later()
    const put = store.putProgress([write(freshViewer(), '1', report(now))], { now, timelineCap })
    await expect(put).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    expect(await admin.keys('lost*')).toEqual([])
  })

  it('a database that the account may not select is down until it may', async () => {
    const rights = ['on', '>right', '~*', '&*', '+@all']
    await admin.call('ACL', 'SETUSER', 'nowhere', ...rights, '-select')
    const store = openHot('1', { prefix: 'shut', username: 'nowhere', password: 'right', retryMaxMs: 500 })
    await expect(store.check()).rejects.toMatchObject({
      code: 'HOT_STORE_UNAVAILABLE',
      message: expect.stringMatching(/does not give user "nowhere" database 1 \(.*NOPERM/) as string,
    })
    await admin.call('ACL', 'SETUSER', 'nowhere', '+select')
    await until('it is up', () =>
      store.check().then(
        () => true,
        () => false,
      ),
    )
    expect(await admin.keys('shut*')).toEqual([])
  })

  it('followers in one database get nothing of another', async () => {
    const [here, there] = [openHot('1'), openHot('2')]
    const viewer = freshViewer()
    const [heard, expected]: number[][] = [[], []]
    const put = async (store: typeof here, position: number) => {
      const now = later()
      await store.putProgress([write(viewer, '1', report(now, { position }))], { now, timelineCap })
    }
    const stops = [
      await here.followProgress(viewer, (change) => heard?.push(change.kind === 'put' ? change.record.position : -1)),
      await there.followProgress(viewer, (change) => expected?.push(change.kind === 'put' ? change.record.position : -1)),
    ]
    await put(there, 1)
    await until('those in the same one hear of it', () => expected?.length === 1)
    await put(here, 2)
    await until('those in the first one hear', () => (heard ?? []).includes(2))
    expect([heard, expected]).toEqual([[2], [1]])
    for (const stop of stops) stop()
  })

  it('followers of counts in one database get nothing of another, including database 0', async () => {
    const [zero, one] = [openCache('0'), openCache('1')]
    const subject = { business: 1, oid: 'x' }
    const heard: number[][] = [[], []]
    const stops = await Promise.all(
      [zero, one].map((cache, index) => followCounts(cache, [subject], ({ counts }) => heard[index]?.push(counts.likes))),
    )
    await zero.putCounts([{ ...subject, counts: { likes: 1, dislikes: 0, version: 1 } }])
    await until('those in database 0 hear of it', () => heard[0]?.length === 1)
    await one.putCounts([{ ...subject, counts: { likes: 2, dislikes: 0, version: 2 } }])
    await until('those in database 1 hear', () => (heard[1] ?? []).includes(2))
    expect(heard).toEqual([[1], [2]])
    for (const stop of stops) stop()
  })

  it('a Cluster has only database 0', () => {
    expect(() => openRedisHotStore({ urls: ['redis://a:1/3', 'redis://b:1/3'], regions, setting: 'the setting' })).toThrow(
      'the setting: a Cluster has database 0 only, and 3 is named',
    )
  })
})
