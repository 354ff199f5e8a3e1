/**
 * Redis executed a write, its answer was lost, and the adapter sends the write again. In the meantime the viewer acted through another
 * process. That action must stand, because the repetition is no new write.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeAggregator } from '../../core/aggregator.ts'
import { makeBusinesses } from '../../core/businesses.ts'
import { systemClock } from '../../core/clock.ts'
import type { Mark } from '../../core/domain.ts'
import { makeFills } from '../../core/mark-fills.ts'
import type { HotStore } from '../../stores/hot-store.ts'
import type { MarkStore } from '../../stores/mark-store.ts'
import { openRedisHotStore } from '../../stores/redis/hot-store.ts'
import { openRedisMarkStore } from '../../stores/redis/mark-store.ts'
import { makeHistoryService, type HistoryService } from '../../subgraphs/history/service.ts'
import { makeThumbupBusinesses } from '../../subgraphs/thumbup/businesses.ts'
import { makeThumbupService, type ThumbupService } from '../../subgraphs/thumbup/service.ts'
import { makeMarkWrites } from '../../subgraphs/thumbup/writes.ts'
import { makeMarkRecordsState, openModelMarkRecords } from '../contracts/mark-records-model.ts'
import { freshViewer } from '../contracts/reports.ts'
import { openGate } from '../simulation/gate.ts'
import { makeRecordState, openModelRecordStore } from '../simulation/model-record-store.ts'
import { redisIsHere, startRedis, type TestServers } from '../stores/redis/servers.ts'
import { makeTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { thumbupConfig } from './marked-stores.ts'

const regions = 4
const timelineCap = 100
const businesses = makeBusinesses([
  { number: 1, name: 'video', entity: 'Video', conflict: 'newest', glanceMax: 5_000, finishedPercent: 95 },
])
const thumbupBusinesses = makeThumbupBusinesses(thumbupConfig().businesses)

function serve(hot: HotStore): HistoryService {
  const records = openModelRecordStore(makeRecordState(), openGate)
  const aggregator = makeAggregator(systemClock, () => undefined, { keysMax: 1_000, ageMaxMs: 60_000, heldMax: 1_000 })
  return makeHistoryService(systemClock, businesses, hot, records, aggregator, () => undefined, { regions, timelineCap })
}

function serveMarks(hot: MarkStore): ThumbupService {
  const records = openModelMarkRecords(makeMarkRecordsState())
  const capOf = () => 10
  const writes = makeMarkWrites({ hot, records, fills: makeFills(hot, records, capOf), capOf }, undefined)
  const pipeline = { writes, aggregate: () => undefined } as never
  return makeThumbupService(systemClock, thumbupBusinesses, () => pipeline, { admit: () => undefined, fullFor: () => undefined })
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
    // From here on the server has the script, so the lost answer is that of an execution.
    await here.report({ id: freshViewer(), scopes: [] }, [{ business: 'video', oid: '1', position: 60_000 }])
  })
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await proxy.close()
    await servers.stop()
  })

  async function shownAfter(meanwhile: (viewer: { id: string; scopes: string[] }) => Promise<unknown>): Promise<[string, number][]> {
    const viewer = { id: freshViewer(), scopes: [] }
    const lost = proxy.loseNextAnswer()
    const answer = here.report(viewer, [{ business: 'video', oid: '1', position: 60_000 }])
    await lost
    await meanwhile(viewer)
    proxy.mend()
    expect((await answer)[0]?.outcome).toBe('STALE')
    const { entries } = await stores[1].listTimeline(viewer.id, [1], undefined, 10)
    return entries.map(({ oid, record }) => [oid, record.position])
  }

  it('does not come back after a clearing', async () => {
    expect(await shownAfter((viewer) => there.clearHistory(viewer, 'video'))).toEqual([])
  })

  it('does not come back after a deletion', async () => {
    expect(await shownAfter((viewer) => there.deleteHistory(viewer, 'video', ['1']))).toEqual([])
  })

  it('does not replace a later report', async () => {
    expect(await shownAfter((viewer) => there.report(viewer, [{ business: 'video', oid: '1', position: 20_000 }]))).toEqual([['1', 20_000]])
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
    const [here, there] = stores.map(serveMarks) as [ThumbupService, ThumbupService]
    const mark = (service: ThumbupService, id: string, to: Mark) => service.mark(viewer, [{ business: 'video', id, mark: to }])
    // From here on the viewer is known, and the server has the script.
    await mark(here, 'other', 'LIKE')
    const lost = proxy.loseNextAnswer()
    const answer = mark(here, '1', 'LIKE')
    await lost
    await mark(there, '1', 'NONE')
    proxy.mend()
    expect(await answer).toMatchObject([{ outcome: 'STALE', mark: 'NONE' }])
    expect(await stores[1].getMarkMany([{ viewer: viewer.id, business: 1, oid: '1' }])).toMatchObject([{ mark: 'NONE' }])
  })
})
