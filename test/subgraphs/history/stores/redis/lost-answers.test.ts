/** Redis executed a call, its answer is lost, and the adapter sends it again. In between, another process has written. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HotStore } from '../../../../../subgraphs/history/stores/hot-store.ts'
import { openRedisHotStore } from '../../../../../subgraphs/history/stores/redis/hot-store.ts'
import { freshViewer, keyOf, later, report, write } from '../../../../contracts/reports.ts'
import { makeTcpProxy, type TcpProxy } from '../../../../../harness/faults/tcp-proxy.ts'
import { redisIsHere, startRedis } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'

const regions = 4
const timelineCap = 100

describe.skipIf(!(await redisIsHere()))('when an answer of Redis is lost', () => {
  let servers: TestServers
  let proxy: TcpProxy
  let here: HotStore
  let there: HotStore
  beforeAll(async () => {
    servers = await startRedis()
    proxy = await makeTcpProxy(servers.ports[0] as number)
    here = openRedisHotStore({ urls: [`redis://127.0.0.1:${proxy.port}`], regions })
    there = openRedisHotStore({ urls: servers.urls, regions })
    // The server now has the scripts, so a lost answer belongs to an executed call.
    const now = later()
    await here.deleteProgress([keyOf('x', '1')], now)
    await here.clearProgress('x', 1, now)
    await here.setPaused('x', true, now)
  })
  afterAll(async () => {
    await here.close()
    await there.close()
    await proxy.close()
    await servers.stop()
  })

  const put = (viewer: string, oid: string, now: number) => there.putProgress([write(viewer, oid, report(now))], { now, timelineCap })
  const shown = async (viewer: string) => (await there.listTimeline(viewer, [1], undefined, 10)).entries.map(({ oid }) => oid)

  /** Makes the call, and acts between its execution and its repetition. */
  async function repeated<T>(call: () => Promise<T>, meanwhile: () => Promise<unknown>): Promise<T> {
    const lost = proxy.loseNextAnswer()
    const answer = call()
    await lost
    await meanwhile()
    proxy.mend()
    return answer
  }

  it('a deletion leaves later reports, and returns the records it found', async () => {
    const viewer = freshViewer()
    const now = later(10_000)
    await put(viewer, '1', now - 1)
    const outcomes = await repeated(
      () => here.deleteProgress([keyOf(viewer, '1'), keyOf(viewer, 'never')], now),
      () => put(viewer, '1', now + 500),
    )
    expect(outcomes.map(({ existed, record }) => [existed, record.deleted, record.viewedAt])).toEqual([
      [true, true, now],
      [false, true, now],
    ])
    expect(await shown(viewer)).toEqual(['1'])
  })

  it('a clearing leaves later reports', async () => {
    const viewer = freshViewer()
    const now = later(10_000)
    await put(viewer, '1', now - 1)
    const clearedAt = await repeated(
      () => here.clearProgress(viewer, 1, now),
      () => put(viewer, '2', now + 500),
    )
    expect(clearedAt).toBe(now)
    expect(await shown(viewer)).toEqual(['2'])
    expect((await there.getSettings(viewer)).clearedAt).toEqual({ 1: now })
  })

  it('a pause leaves a later resume', async () => {
    const viewer = freshViewer()
    const now = later(10_000)
    const settings = await repeated(
      () => here.setPaused(viewer, true, now),
      () => there.setPaused(viewer, false, now + 500),
    )
    expect(settings.paused).toBe(true)
    expect((await there.getSettings(viewer)).paused).toBe(false)
  })

  it('a report counts once, and a later call deletes the record of the repeated call', async () => {
    const viewer = freshViewer()
    const now = later(10_000)
    const [outcome] = await repeated(
      () => here.putProgress([write(viewer, '1', report(now))], { now, timelineCap }),
      () => put(viewer, '1', now + 500),
    )
    expect(outcome).toMatchObject({ status: 'stale', record: { viewedAt: now + 500 } })
    await here.deleteProgress([keyOf(viewer, '1')], now + 500)
    expect(await shown(viewer)).toEqual([])
  })
})
