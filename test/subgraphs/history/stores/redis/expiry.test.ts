/** Keys of idle viewers expire, and no other keys do. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HotStore } from '../../../../../subgraphs/history/stores/hot-store.ts'
import { openRedisHotStore } from '../../../../../subgraphs/history/stores/redis/hot-store.ts'
import { makeLayout } from '../../../../../subgraphs/history/stores/redis/keys.ts'
import { freshViewer, keyOf, later, report, write } from '../../../../contracts/reports.ts'
import { redisIsHere, startRedis } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'

const DAY = 86_400_000
const regions = 4
const timelineCap = 100
const layout = makeLayout('tm', regions)

describe.skipIf(!(await redisIsHere()))('expiry', () => {
  let servers: TestServers
  let admin: Redis
  let store: HotStore
  beforeAll(async () => {
    servers = await startRedis()
    admin = new Redis(servers.urls[0] as string)
    store = openRedisHotStore({ urls: servers.urls, regions, expireMs: 90 * DAY })
  })
  afterAll(async () => {
    await store.close()
    admin.disconnect()
    await servers.stop()
  })

  const keysOf = (viewer: string): [string, string, string] => {
    const region = layout.regionOf(viewer)
    return [layout.contents(region, viewer, 1), layout.timeline(region, viewer, 1), layout.settings(region, viewer)]
  }
  const daysLeft = async (key: string): Promise<number> => Math.round((await admin.pttl(key)) / DAY)
  const put = (viewer: string, oid: string, now: number) => store.putProgress([write(viewer, oid, report(now))], { now, timelineCap })

  it('is postponed by a write on another day for contents and timeline; settings never expire', async () => {
    const viewer = freshViewer()
    const [contents, timeline, settings] = keysOf(viewer)
    const now = later()
    await put(viewer, '1', now)
    await store.setPaused(viewer, false, now)
    expect([await daysLeft(contents), await daysLeft(timeline)]).toEqual([91, 91])
    expect(await admin.pttl(settings)).toBe(-1)
    await admin.pexpire(contents, 5 * DAY)
    await admin.pexpire(timeline, 5 * DAY)
    await put(viewer, '1', now)
    expect([await daysLeft(contents), await daysLeft(timeline)]).toEqual([5, 5])
    await put(viewer, '1', now + DAY)
    expect([await daysLeft(contents), await daysLeft(timeline)]).toEqual([91, 91])
  })

  it('is set on a timeline that was emptied and restarted on the same day', async () => {
    const viewer = freshViewer()
    const [contents, timeline] = keysOf(viewer)
    await put(viewer, '1', later())
    await store.deleteProgress([keyOf(viewer, '1')], later())
    expect(await admin.exists(timeline)).toBe(0)
    await put(viewer, '2', later())
    expect([await daysLeft(contents), await daysLeft(timeline)]).toEqual([91, 91])
    await store.clearProgress(viewer, 1, later())
    await put(viewer, '3', later(1_000))
    expect([await daysLeft(contents), await daysLeft(timeline)]).toEqual([91, 91])
  })

  it('does not bring back cleared history', async () => {
    const viewer = freshViewer()
    const [contents, timeline] = keysOf(viewer)
    await put(viewer, '1', later())
    const clearedAt = await store.clearProgress(viewer, 1, later())
    await admin.del(contents, timeline)
    const [outcome] = await store.putProgress([write(viewer, '1', report(clearedAt))], { now: later(), timelineCap })
    expect(outcome).toEqual({ status: 'stale', record: undefined, voidUntil: clearedAt })
    const [fresh] = await store.putProgress([write(viewer, '1', report(clearedAt + 1))], { now: later(), timelineCap })
    expect(fresh).toMatchObject({ status: 'written', record: { since: clearedAt } })
    const [lookup] = await store.getProgressMany([keyOf(viewer, '1')])
    expect(lookup?.record?.viewedAt).toBe(clearedAt + 1)
  })

  it('is off by default', async () => {
    const viewer = freshViewer()
    const [contents, timeline] = keysOf(viewer)
    const forever = openRedisHotStore({ urls: servers.urls, regions })
    await forever.putProgress([write(viewer, '1', report(later()))], { now: later(), timelineCap })
    await forever.close()
    expect([await admin.pttl(contents), await admin.pttl(timeline)]).toEqual([-1, -1])
  })

  it('and purging leave no index entry of an overwritten tombstone', async () => {
    const viewer = freshViewer()
    await store.deleteProgress([keyOf(viewer, '1')], later())
    const now = later()
    await put(viewer, '1', now)
    while ((await store.purgeExpired(now + DAY, 100)) > 0);
    expect(await admin.zcard(layout.tombstones(layout.regionOf(viewer)))).toBe(0)
    expect((await store.getProgressMany([keyOf(viewer, '1')]))[0]?.record?.viewedAt).toBe(now)
  })
  it('ends at the first write after the retention becomes forever', async () => {
    const viewer = freshViewer()
    const [contents, timeline] = keysOf(viewer)
    await put(viewer, '1', later())
    const forever = openRedisHotStore({ urls: servers.urls, regions })
    await forever.putProgress([write(viewer, '1', report(later()))], { now: later(), timelineCap })
    await forever.close()
    expect([await admin.pttl(contents), await admin.pttl(timeline)]).toEqual([-1, -1])
    await put(viewer, '1', later())
    expect([await daysLeft(contents), await daysLeft(timeline)]).toEqual([91, 91])
  })
})
