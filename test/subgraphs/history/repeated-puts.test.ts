/**
 * Redis executed a write, and it is sent again: by the adapter, because the answer was lost, or by the service, because a part of the store
 * failed. In the meantime the viewer acted through another process. That action must stand, because the repetition is not a new write.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeAggregator } from '../../../writeback/aggregator.ts'
import { makeBusinesses } from '../../../config/businesses.ts'
import { systemClock } from '../../../core/clock.ts'
import type { MarkKey, ViewerId } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import type { Journaling } from '../../../writeback/journaling.ts'
import { makeFills } from '../../../loaders/mark-fills.ts'
import { PartOutage } from '../../../core/outage/part-outage.ts'
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import type { MarkStore } from '../../../subgraphs/thumbup/stores/hot-store.ts'
import { openRedisHotStore } from '../../../subgraphs/history/stores/redis/hot-store.ts'
import { openRedisMarkStore } from '../../../subgraphs/thumbup/stores/redis/hot-store.ts'
import { makeHistoryService, type HistoryService } from '../../../subgraphs/history/write/service.ts'
import { FOR_EVERYBODY } from '../../../subgraphs/audience.ts'
import { makeThumbupBusinesses } from '../../../subgraphs/thumbup/businesses.ts'
import { makeThumbupService, type ThumbupService } from '../../../subgraphs/thumbup/write/service.ts'
import { makeMarkWrites } from '../../../subgraphs/thumbup/write/writes.ts'
import { makeHistoryWrites } from '../../../subgraphs/history/write/writes.ts'
import { openModelMarkRecords } from '../../../harness/models/thumbup/record-store-model.ts'
import { makeMarkRecordsState } from '../../../harness/models/thumbup/record-rows.ts'
import { freshViewer } from '../../contracts/reports.ts'
import { openGate } from '../../../harness/simulation/gate.ts'
import { makeRecordState, openModelRecordStore } from '../../../harness/simulation/history/model-record-store.ts'
import { redisIsHere, startRedis, type TestServers } from '../../../harness/deployment/redis-servers.ts'
import { makeTcpProxy, type TcpProxy } from '../../../harness/faults/tcp-proxy.ts'
import { thumbupConfig } from '../thumbup/marked-stores.ts'

const regions = 4
const timelineCap = 100
const businesses = makeBusinesses([
  { number: 1, name: 'video', entity: 'Video', conflict: 'newest', glanceMax: 5_000, finishedPercent: 95 },
])
const thumbupBusinesses = makeThumbupBusinesses(thumbupConfig().businesses)

const journaling = {
  mustJournal: () => false,
  mayLack: () => false,
  isWaiting: () => false,
  append: async () => undefined,
} as unknown as Journaling

type OfViewer = { viewer: ViewerId }

/** The put of the store. Its first call for a viewer other than `out` is executed, but the viewer `out` gets no answer. */
function partlyOut<W extends OfViewer, P, O>(
  put: (writes: readonly W[], options: P) => Promise<O[]>,
  out: ViewerId,
  executed: () => Promise<unknown>,
): (writes: readonly W[], options: P) => Promise<O[]> {
  return async (writes, options) => {
    if (writes.every(({ viewer }) => viewer !== out)) return put(writes, options)
    const others = writes.filter(({ viewer }) => viewer !== out)
    if (others.length > 0) {
      await put(others, options)
      await executed()
    }
    throw new PartOutage(new TidemarkError('HOT_STORE_UNAVAILABLE', 'a part is out'), (viewer) => viewer === out)
  }
}

/** The put of the store. Its first call is executed, and its repetition by the adapter finds that it needs a base. */
function needingBase<W, P, O>(
  put: (writes: readonly W[], options: P) => Promise<O[]>,
  executed: () => Promise<unknown>,
): (writes: readonly W[], options: P) => Promise<O[]> {
  let isFirst = true
  return async (writes, options) => {
    const outcomes = await put(writes, options)
    if (!isFirst) return outcomes
    isFirst = false
    await executed()
    return writes.map(() => ({ status: 'needs-base', unknown: false, asOf: 0, repeated: true }) as O)
  }
}

function serve(hot: HotStore): HistoryService {
  const records = openModelRecordStore(makeRecordState(), openGate)
  const aggregator = makeAggregator(systemClock, () => undefined, { keysMax: 1_000, ageMaxMs: 60_000, heldMax: 1_000 })
  const writes = makeHistoryWrites(hot, records, timelineCap, businesses, journaling)
  return makeHistoryService(systemClock, businesses, hot, records, aggregator, () => undefined, { regions, timelineCap }, writes)
}

function serveMarks(hot: MarkStore, flushed: MarkKey[] = []): ThumbupService {
  const records = openModelMarkRecords(makeMarkRecordsState())
  const capOf = () => 10
  const writes = makeMarkWrites({ hot, records, fills: makeFills(hot, records, capOf, () => undefined), capOf }, journaling)
  const pipeline = { writes, aggregate: (key: MarkKey) => flushed.push(key) } as never
  return makeThumbupService(
    systemClock,
    thumbupBusinesses,
    () => pipeline,
    { admit: () => undefined, fullFor: () => undefined },
    FOR_EVERYBODY,
  )
}

describe.skipIf(!(await redisIsHere()))('a report that is sent to Redis again', () => {
  let servers: TestServers
  let proxy: TcpProxy
  let stores: [HotStore, HotStore]
  let here: HistoryService
  let there: HistoryService
  beforeAll(async () => {
    servers = await startRedis()
    proxy = await makeTcpProxy(servers.ports[0] as number)
    stores = [openRedisHotStore({ urls: [`redis://127.0.0.1:${proxy.port}`], regions }), openRedisHotStore({ urls: servers.urls, regions })]
    here = serve(stores[0])
    there = serve(stores[1])
    // The server now has the script, so the lost answer belongs to an executed call.
    await here.report({ id: freshViewer(), scopes: [] }, [{ business: 'video', id: '1', position: 60_000 }], new Set())
  })
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await proxy.close()
    await servers.stop()
  })

  async function shownAfter(meanwhile: (viewer: { id: string; scopes: string[] }) => Promise<unknown>): Promise<[string, number][]> {
    const viewer = { id: freshViewer(), scopes: [] }
    const lost = proxy.loseNextAnswer()
    const answer = here.report(viewer, [{ business: 'video', id: '1', position: 60_000 }], new Set())
    await lost
    // At the same millisecond the later arrival would win.
    await sleep(2)
    await meanwhile(viewer)
    proxy.mend()
    expect((await answer)[0]?.outcome).toBe('STALE')
    const { entries } = await stores[1].listTimeline(viewer.id, [1], undefined, 10)
    return entries.map(({ oid, record }) => [oid, record.position])
  }

  it('does not come back after a clearing', async () => {
    expect(await shownAfter((viewer) => there.clearHistory(viewer, 'video', new Set()))).toEqual([])
  })

  it('does not come back after a deletion', async () => {
    expect(await shownAfter((viewer) => there.deleteHistory(viewer, 'video', ['1'], new Set()))).toEqual([])
  })

  it('does not replace a later report', async () => {
    expect(await shownAfter((viewer) => there.report(viewer, [{ business: 'video', id: '1', position: 20_000 }], new Set()))).toEqual([
      ['1', 20_000],
    ])
  })

  const cleared = (viewer: string) => () => there.clearHistory({ id: viewer, scopes: [] }, 'video', new Set())
  const isShown = async (viewer: string) => (await stores[1].listTimeline(viewer, [1], undefined, 10)).entries.length > 0

  it('does not come back after a clearing if it shared a call with a viewer in a failed part of the store', async () => {
    const [viewer, out] = [freshViewer(), freshViewer()]
    const service = serve({ ...stores[1], putProgress: partlyOut(stores[1].putProgress, out, cleared(viewer)) })
    const inputs = [viewer, out].map((each) => ({ viewer: each, business: 'video', id: '1', position: 60_000 }))
    const answers = await service.report({ id: 'x', scopes: ['progress:write-any'] }, inputs, new Set())
    expect(answers.map(({ outcome }) => outcome)).toEqual(['STALE', 'ACCEPTED'])
    expect(await isShown(viewer)).toBe(false)
  })

  it('does not come back after a clearing if it is put again with a base', async () => {
    const viewer = freshViewer()
    const service = serve({ ...stores[1], putProgress: needingBase(stores[1].putProgress, cleared(viewer)) })
    const answers = await service.report({ id: viewer, scopes: [] }, [{ business: 'video', id: '1', position: 60_000 }], new Set())
    expect(answers).toMatchObject([{ outcome: 'STALE' }])
    expect(await isShown(viewer)).toBe(false)
  })
})

describe.skipIf(!(await redisIsHere()))('a like that is sent to Redis again', () => {
  let servers: TestServers
  let proxy: TcpProxy
  let stores: [MarkStore, MarkStore]
  beforeAll(async () => {
    servers = await startRedis()
    proxy = await makeTcpProxy(servers.ports[0] as number)
    stores = [
      openRedisMarkStore({ urls: [`redis://127.0.0.1:${proxy.port}`], regions }),
      openRedisMarkStore({ urls: servers.urls, regions }),
    ]
  })
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await proxy.close()
    await servers.stop()
  })

  it('does not come back after it was undone', async () => {
    const viewer = { id: freshViewer(), scopes: [] }
    const here = serveMarks(stores[0])
    const like = (id: string) => here.mark(viewer, [{ business: 'video', id, mark: 'LIKE' }], new Set())
    // The viewer is now known, and the server has the script.
    await like('other')
    const lost = proxy.loseNextAnswer()
    const answer = like('1')
    await lost
    await undone(viewer.id)()
    proxy.mend()
    expect(await answer).toMatchObject([{ outcome: 'STALE', mark: 'NONE' }])
    expect(await markOf(viewer.id)).toBe('NONE')
  })

  it('is accepted and persisted if it still exists', async () => {
    const viewer = { id: freshViewer(), scopes: [] }
    const flushed: MarkKey[] = []
    const here = serveMarks(stores[0], flushed)
    await here.mark(viewer, [{ business: 'video', id: 'other', mark: 'LIKE' }], new Set())
    const lost = proxy.loseNextAnswer()
    const answer = here.mark(viewer, [{ business: 'video', id: '1', mark: 'LIKE' }], new Set())
    await lost
    proxy.mend()
    expect(await answer).toMatchObject([{ outcome: 'ACCEPTED', mark: 'LIKE' }])
    expect(flushed.map(({ oid }) => oid)).toEqual(['other', '1'])
  })

  it('is persisted if the caller sends it again with the same time', async () => {
    const viewer = { id: freshViewer(), scopes: [] }
    const flushed: MarkKey[] = []
    const like = { business: 'video', id: '1', mark: 'LIKE', markedAt: Date.now() } as const
    await serveMarks(stores[1]).mark(viewer, [like], new Set())
    expect(await serveMarks(stores[1], flushed).mark(viewer, [like], new Set())).toMatchObject([{ outcome: 'STALE', mark: 'LIKE' }])
    expect(flushed.map(({ oid }) => oid)).toEqual(['1'])
  })

  const undone = (viewer: string) => async () => {
    // At the same millisecond the later arrival would win.
    await sleep(2)
    await serveMarks(stores[1]).mark({ id: viewer, scopes: [] }, [{ business: 'video', id: '1', mark: 'NONE' }], new Set())
  }
  const markOf = async (viewer: string) => (await stores[1].getMarkMany([{ viewer, business: 1, oid: '1' }]))[0]?.mark

  it('does not come back if it shared a call with a viewer in a failed part of the store', async () => {
    const [viewer, out] = [freshViewer(), freshViewer()]
    const service = serveMarks({ ...stores[1], putMarks: partlyOut(stores[1].putMarks, out, undone(viewer)) })
    await service.mark({ id: viewer, scopes: [] }, [{ business: 'video', id: 'other', mark: 'LIKE' }], new Set())
    const inputs = [viewer, out].map((each) => ({ viewer: each, business: 'video', id: '1', mark: 'LIKE' as const }))
    const answers = await service.mark({ id: 'x', scopes: ['marks:write-any'] }, inputs, new Set())
    expect(answers.map(({ outcome }) => outcome)).toEqual(['STALE', 'ACCEPTED'])
    expect(await markOf(viewer)).toBe('NONE')
  })

  it('does not come back if it is put again with a base', async () => {
    const viewer = { id: freshViewer(), scopes: [] }
    await serveMarks(stores[1]).mark(viewer, [{ business: 'video', id: 'other', mark: 'LIKE' }], new Set())
    const service = serveMarks({ ...stores[1], putMarks: needingBase(stores[1].putMarks, undone(viewer.id)) })
    expect(await service.mark(viewer, [{ business: 'video', id: '1', mark: 'LIKE' }], new Set())).toMatchObject([
      { outcome: 'STALE', mark: 'NONE' },
    ])
    expect(await markOf(viewer.id)).toBe('NONE')
  })
})
