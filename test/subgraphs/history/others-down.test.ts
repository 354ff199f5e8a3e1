import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { encodeCursor, decodeCursor } from '../../../subgraphs/history/model/places.ts'
import type { ReportProgressInput } from '../../../subgraphs/history/inputs.ts'
import { placeOf, readTimeline, type TimelinePage } from '../../../subgraphs/history/read/timeline.ts'
import { makeDataFolder, makeSwitchedStores, serveOn, type Folder, type Served, type SwitchedStores } from '../switched-stores.ts'
import { until } from '../../../harness/until.ts'

const viewer = { id: '7', scopes: [] }
const report = (id: string, more: Partial<ReportProgressInput> = {}): ReportProgressInput => ({
  business: 'video',
  id,
  position: 60_000,
  ...more,
})

let stores: SwitchedStores
let folder: Folder
let served: Served
let degraded: Degraded
beforeEach(() => {
  stores = makeSwitchedStores()
  folder = makeDataFolder()
  served = serveOn(stores, folder.path)
  degraded = new Set()
})
afterEach(async () => {
  await served.stop()
  folder.remove()
})
const send = (...inputs: ReportProgressInput[]) => served.history.service.report(viewer, inputs, degraded)

describe('with the record store down', () => {
  const start = Date.now() - 100_000

  /** Reports fifteen subjects; the hot store keeps the ten newest. */
  async function truncated(): Promise<void> {
    await send(...Array.from({ length: 15 }, (_, index) => report(String(index), { viewedAt: start + index, position: 10_000 + index })))
    const job = await served.history.startJob()
    await until('everything is persisted', () => stores.state.countDirty() === 0)
    await job.stop()
    stores.set('records', 'down')
  }
  const page = (first: number, before?: TimelinePage): Promise<TimelinePage> => {
    const last = before?.entries[before.entries.length - 1]
    const place = last === undefined ? undefined : decodeCursor(encodeCursor(placeOf(last)), [1])
    return readTimeline(stores.hot, stores.records, '7', [1], place, first, degraded)
  }

  it('pages of the hot timeline are complete and not degraded', async () => {
    await truncated()
    expect((await page(5)).entries).toHaveLength(5)
    expect([...degraded]).toEqual([])
  })

  it('a page beyond the hot timeline has the available entries, and a later page has the rest', async () => {
    await truncated()
    const first = await page(12)
    expect(first.entries.map((entry) => entry.oid)).toEqual(['14', '13', '12', '11', '10', '9', '8', '7', '6', '5'])
    expect(first.hasNextPage).toBe(true)
    expect([...degraded]).toEqual(['recordStore'])
    expect(await page(12, first)).toEqual({ entries: [], hasNextPage: false })
    stores.set('records', 'up')
    expect((await page(12, first)).entries.map((entry) => entry.oid)).toEqual(['4', '3', '2', '1', '0'])
  })

  it('a lookup that needs the record store is null and degraded; a lookup of a hot record is complete', async () => {
    await truncated()
    const both = served.history.makeLoaders(degraded).progress
    expect((await both.load({ viewer: '7', business: 1, oid: '12' }))?.position).toBe(10_012)
    expect([...degraded]).toEqual([])
    expect(await both.load({ viewer: '7', business: 1, oid: '2' })).toBeUndefined()
    expect([...degraded]).toEqual(['recordStore'])
  })

  it('requests that share a lookup are all degraded', async () => {
    await truncated()
    const collectors: Degraded[] = [new Set(), new Set()]
    const key = { viewer: '7', business: 1, oid: '2' }
    await Promise.all(collectors.map((collector) => served.history.makeLoaders(collector).progress.load(key)))
    expect(collectors.map((collector) => [...collector])).toEqual([['recordStore'], ['recordStore']])
  })

  it('a lookup of a hot record neither waits for the record store nor names it, although another lookup needs it', async () => {
    await truncated()
    stores.set('records', 'hangs')
    const collectors: [Degraded, Degraded] = [new Set(), new Set()]
    const ended: string[] = []
    const load = (collector: Degraded, oid: string) =>
      served.history
        .makeLoaders(collector)
        .progress.load({ viewer: '7', business: 1, oid })
        .then((record) => {
          ended.push(oid)
          return record?.position
        })
    expect(await Promise.all([load(collectors[0], '2'), load(collectors[1], '12')])).toEqual([undefined, 10_012])
    expect(ended).toEqual(['12', '2'])
    expect(collectors.map((collector) => [...collector])).toEqual([['recordStore'], []])
    stores.set('records', 'up')
  })

  it('a glance at a trimmed subject is readable at once, and its resume point returns with the store', async () => {
    await truncated()
    const [answer] = await send(report('2', { position: 7 }))
    expect(answer).toMatchObject({ outcome: 'ACCEPTED', record: { position: 7 } })
    expect([...degraded]).toEqual(['recordStore'])
    stores.set('records', 'up')
    await until('it is merged', () => stores.state.recordOf({ viewer: '7', business: 1, oid: '2' })?.position === 10_002)
    expect(stores.state.recordOf({ viewer: '7', business: 1, oid: '2' })?.viewedAt).toBeGreaterThan(start + 15)
  })

  it('and hanging, a page waits no longer than the timeout, and the next page does not wait', async () => {
    await truncated()
    stores.set('records', 'hangs')
    const { progress } = served.history.makeLoaders(degraded)
    const startedAt = performance.now()
    expect(await progress.load({ viewer: '7', business: 1, oid: '2' })).toBeUndefined()
    const first = performance.now() - startedAt
    expect(await served.history.makeLoaders(degraded).progress.load({ viewer: '7', business: 1, oid: '3' })).toBeUndefined()
    expect(first).toBeLessThan(2_000)
    expect(performance.now() - startedAt - first).toBeLessThan(450)
    stores.set('records', 'up')
  })

  it('the job keeps its keys and persists them when the store is back', async () => {
    stores.set('records', 'down')
    const job = await served.history.startJob()
    await send(report('1'))
    await until('a flush was tried', () => stores.calls.filter((call) => call === 'records.putProgress').length > 3)
    expect(stores.rows.size).toBe(0)
    stores.set('records', 'up')
    await until('it is persisted', () => stores.rows.size === 1 && stores.state.countDirty() === 0)
    await job.stop()
  })
})

describe('with the log down', () => {
  const flushed = () => served.history.figures().flushes

  it('reports are persisted directly until the log is back', async () => {
    stores.set('log', 'down')
    await send(report('1'))
    await until('it is persisted', () => stores.rows.size === 1)
    expect(flushed().direct).toBeGreaterThan(0)
    await send(report('2'))
    expect(stores.state.countDirty()).toBe(1)
    stores.set('log', 'up')
    await until('the breaker closes', () => !served.history.figures().outages.log.isDown)
    await send(report('3'))
    await until('the log has it', () => stores.logState.lag() > 0)
  })

  it('and hanging, one flush waits for it and the next flushes do not', async () => {
    stores.set('log', 'hangs')
    await send(report('1'))
    await until('it is persisted', () => stores.rows.size === 1)
    const asked = stores.calls.filter((call) => call === 'log.appendFlushes').length
    for (let index = 2; index < 6; index++) {
      await send(report(String(index)))
      await until('the next is persisted', () => stores.rows.size === index)
    }
    expect(stores.calls.filter((call) => call === 'log.appendFlushes')).toHaveLength(asked)
    stores.set('log', 'up')
  })

  it('a hundred regions at once take turns, and none is left to the sweeper', async () => {
    stores.set('log', 'down')
    await send(...Array.from({ length: 200 }, (_, index) => report(String(index))))
    await until('all are persisted', () => stores.rows.size === 200)
    expect(flushed().left).toBe(0)
  })

  it('and the record store too, the sweeper persists every report when both are back', async () => {
    stores.set('log', 'down')
    stores.set('records', 'down')
    await send(report('1'), report('2'))
    await until('it was given up', () => flushed().left > 0)
    stores.set('log', 'up')
    stores.set('records', 'up')
    const job = await served.history.startJob()
    await until('it is swept', () => stores.rows.size === 2 && stores.state.countDirty() === 0)
    expect(stores.logState.rewards).toHaveLength(1)
    await job.stop()
  })
})
