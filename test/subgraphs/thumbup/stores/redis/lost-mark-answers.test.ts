/** Redis executed a call about marks, its answer is lost, and the adapter sends it again. In between, another process has written. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CountCache } from '../../../../../subgraphs/thumbup/stores/count-cache.ts'
import type { MarkStore } from '../../../../../subgraphs/thumbup/stores/hot-store.ts'
import { openRedisCountCache } from '../../../../../subgraphs/thumbup/stores/redis/count-cache.ts'
import { openRedisMarkStore } from '../../../../../subgraphs/thumbup/stores/redis/hot-store.ts'
import { CAP, beginFill, fill, lookUp, markOf, persist, putMark, written } from '../../../../contracts/thumbup/marks.ts'
import { freshViewer, keyOf, later } from '../../../../contracts/reports.ts'
import { makeTcpProxy, type TcpProxy } from '../../../../../harness/faults/tcp-proxy.ts'
import { redisIsHere, startRedis } from '../../../../../harness/deployment/redis-servers.ts'
import type { TestServers } from '../../../../../harness/deployment/redis-servers.ts'
import { followCounts } from '../../../../support/follow-counts.ts'

const regions = 4

describe.skipIf(!(await redisIsHere()))('when an answer of Redis about marks is lost', () => {
  let servers: TestServers
  let proxy: TcpProxy
  let here: MarkStore
  let there: MarkStore
  let cacheHere: CountCache
  let cacheThere: CountCache
  beforeAll(async () => {
    servers = await startRedis()
    proxy = await makeTcpProxy(servers.ports[0] as number)
    const urls = [`redis://127.0.0.1:${proxy.port}`]
    here = openRedisMarkStore({ urls, regions })
    cacheHere = openRedisCountCache({ urls, regions })
    there = openRedisMarkStore({ urls: servers.urls, regions })
    cacheThere = openRedisCountCache({ urls: servers.urls, regions })
    // The server now has the scripts, so a lost answer belongs to an executed call.
    await fill(here, 'x')
    await putMark(here, markOf('x', '1', 'NONE', later()))
    await persist(here, [keyOf('x', '1')])
    await here.purgeUndone([0, 1, 2, 3], later(), 10)
    await cacheHere.putCounts([{ business: 9, oid: 'x', counts: { likes: 1, dislikes: 0, version: 1 } }])
    await cacheHere.putLikers({ business: 9, oid: 'x' }, { version: 1, whole: true, entries: [] })
  })
  afterAll(async () => {
    await Promise.all([here.close(), there.close(), cacheHere.close(), cacheThere.close()])
    await proxy.close()
    await servers.stop()
  })

  /** Makes the call, and acts between its execution and its repetition. */
  async function repeated<T>(call: () => Promise<T>, meanwhile: () => Promise<unknown>): Promise<T> {
    const lost = proxy.loseNextAnswer()
    const answer = call()
    await lost
    await meanwhile()
    proxy.mend()
    return answer
  }

  it('a like does not revert a later undo', async () => {
    const viewer = freshViewer()
    await fill(there, viewer)
    const now = later(10_000)
    const [outcome] = await repeated(
      () => here.putMarks([markOf(viewer, '1', 'LIKE', now)], { now, cap: CAP }),
      () => putMark(there, markOf(viewer, '1', 'NONE', now + 1)),
    )
    expect(outcome).toMatchObject({ status: 'stale', record: { mark: 'NONE', markedAt: now + 1 }, repeated: true })
    expect(await lookUp(there, viewer, '1')).toEqual({ mark: 'NONE', counted: 'NONE', pending: true, undone: true })
    expect((await there.listLikes(viewer, 1, undefined, 10)).entries).toEqual([])
  })

  it('an answer that needs a base reports that the like was sent twice', async () => {
    const now = later(10_000)
    const [outcome] = await repeated(
      () => here.putMarks([markOf(freshViewer(), '1', 'LIKE', now)], { now, cap: CAP }),
      async () => undefined,
    )
    expect(outcome).toMatchObject({ status: 'needs-base', repeated: true })
  })

  it('a repeated like changes nothing, neither version nor dirty time', async () => {
    const viewer = freshViewer()
    await fill(there, viewer)
    const now = later(10_000)
    const read = () => there.readDirtyMarks([keyOf(viewer, '1')])
    let between: unknown
    await repeated(
      () => here.putMarks([markOf(viewer, '1', 'LIKE', now)], { now, cap: CAP }),
      async () => {
        between = await read()
      },
    )
    expect(await read()).toEqual(between)
  })

  it('a clearing leaves a later change dirty', async () => {
    const viewer = freshViewer()
    await fill(there, viewer)
    const { record } = written(await putMark(there, markOf(viewer, '1', 'LIKE', later(10_000))))
    const key = keyOf(viewer, '1')
    await repeated(
      () => here.clearDirtyMarks([{ key, version: record.version, record }], CAP),
      () => putMark(there, markOf(viewer, '1', 'DISLIKE', later(10))),
    )
    expect(await lookUp(there, viewer, '1')).toEqual({ mark: 'DISLIKE', counted: 'LIKE', pending: true })
  })

  it('a fill restores no mark that was undone, persisted and purged after it', async () => {
    const viewer = freshViewer()
    const asOf = await beginFill(there, viewer)
    const row = { oid: '1', mark: 'LIKE' as const, markedAt: later(), version: 1 }
    await repeated(
      () => here.fillMarks(viewer, 1, [row], { cap: CAP, asOf, whole: true }),
      async () => {
        await putMark(there, markOf(viewer, '1', 'NONE', later(10)))
        await persist(there, [keyOf(viewer, '1')])
        expect(await there.purgeUndone([0, 1, 2, 3], later(10), 10)).toBe(1)
      },
    )
    expect(await lookUp(there, viewer, '1')).toEqual({ mark: 'NONE', counted: 'NONE', pending: false })
  })

  it('a repeated lookup returns the current states', async () => {
    const viewer = freshViewer()
    await fill(there, viewer)
    const [state] = await repeated(
      () => here.getMarkMany([keyOf(viewer, '1')]),
      () => putMark(there, markOf(viewer, '1', 'LIKE', later(10))),
    )
    expect(state).toEqual({ mark: 'LIKE', counted: 'NONE', pending: true })
  })

  it('newer counts and likers stay, and a change is reported once', async () => {
    const subject = { business: 1, oid: freshViewer() }
    const told: number[] = []
    const stop = await followCounts(cacheThere, [subject], ({ counts }) => told.push(counts.version))
    const put = (cache: CountCache, version: number) => cache.putCounts([{ ...subject, counts: { likes: version, dislikes: 0, version } }])
    await repeated(
      () => put(cacheHere, 1),
      () => put(cacheThere, 2),
    )
    await repeated(
      () => cacheHere.putLikers(subject, { version: 1, whole: true, entries: [] }),
      () => cacheThere.putLikers(subject, { version: 2, whole: true, entries: [{ id: '1', markedAt: 5 }] }),
    )
    await repeated(
      () => put(cacheHere, 3),
      async () => undefined,
    )
    expect(await cacheThere.getCountsMany([subject])).toEqual([{ likes: 3, dislikes: 0, version: 3 }])
    expect((await cacheThere.getLikers(subject))?.version).toBe(2)
    await put(cacheThere, 4)
    await expect.poll(() => told).toEqual([1, 2, 3, 4])
    stop()
  })
})
