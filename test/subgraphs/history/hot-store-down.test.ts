import { setTimeout as sleep } from 'node:timers/promises'
import { graphql } from 'graphql'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { complete, type Degraded } from '../../../core/outage/degraded.ts'
import type { ProgressChange } from '../../../core/domain.ts'
import type { ReportProgressInput } from '../../../subgraphs/history/inputs.ts'
import { openChangeStream } from '../../../subgraphs/history/read/change-stream.ts'
import { makeBusinesses } from '../../../config/businesses.ts'
import { systemClock } from '../../../core/clock.ts'
import { readTimeline } from '../../../subgraphs/history/read/timeline.ts'
import { config, makeDataFolder, makeSwitchedStores, serveOn, type Folder, type Served, type SwitchedStores } from '../switched-stores.ts'
import { until } from '../../../harness/until.ts'

const viewer = { id: '7', scopes: ['progress:write-any'] }
const report = (id: string, more: Partial<ReportProgressInput> = {}): ReportProgressInput => ({
  business: 'video',
  id,
  position: 60_000,
  ...more,
})

describe('with the hot store down', () => {
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
  const shown = (oid: string) => stores.state.lookUp({ viewer: '7', business: 1, oid }).record
  const drained = () => until('the journal is empty', async () => (await served.journals.own.count()).waiting === 0)
  async function persisted(): Promise<void> {
    const job = await served.history.startJob()
    await until('everything is persisted', () => stores.state.countDirty() === 0)
    await job.stop()
  }
  const back = async () => {
    stores.set('hot', 'up')
    await drained()
  }

  it('a report is accepted with a day token and no reward, and is stored once the store is back', async () => {
    stores.set('hot', 'down')
    const [answer] = await send(report('1', { position: 90_000 }))
    expect(answer).toMatchObject({ outcome: 'ACCEPTED', record: { position: 90_000 }, firstOfDay: false })
    expect(answer).toHaveProperty('dayToken')
    expect([...degraded]).toEqual(['hotStore'])
    expect(shown('1')).toBeUndefined()
    await back()
    expect(shown('1')).toMatchObject({ position: 90_000 })
    expect(stores.logState.rewards).toHaveLength(1)
    await persisted()
    expect(stores.rows.size).toBe(1)
  })

  it('only the first request waits for the hot store; the next requests skip it', async () => {
    stores.set('hot', 'down')
    await send(report('1'))
    const before = stores.calls.filter((call) => call === 'hot.putProgress').length
    await send(report('2'))
    await send(report('3'), report('4'))
    expect(stores.calls.filter((call) => call === 'hot.putProgress')).toHaveLength(before)
    await back()
    expect(['1', '2', '3', '4'].map((oid) => shown(oid) !== undefined)).toEqual([true, true, true, true])
  })

  it('reports of several viewers in one batch all arrive, and an invalid input is still rejected', async () => {
    stores.set('hot', 'down')
    const answers = await send(report('1', { viewer: '8' }), report('', {}), report('2', { viewer: '9' }))
    expect(answers.map((answer) => answer.outcome)).toEqual(['ACCEPTED', 'REJECTED', 'ACCEPTED'])
    await back()
    expect(stores.state.lookUp({ viewer: '8', business: 1, oid: '1' }).record).toBeDefined()
    expect(stores.state.lookUp({ viewer: '9', business: 1, oid: '2' }).record).toBeDefined()
  })

  it('changes of one viewer are applied in the order of their calls', async () => {
    await send(report('old', { viewedAt: Date.now() - 5_000 }))
    stores.set('hot', 'down')
    const { service } = served.history
    await send(report('1'))
    await service.deleteHistory(viewer, 'video', ['1'], degraded)
    await sleep(3)
    await send(report('2'))
    const clearedAt = await service.clearHistory(viewer, 'video', degraded)
    await sleep(3)
    await send(report('3'))
    await service.setPaused(viewer, true, degraded)
    expect((await send(report('4'))).map((answer) => answer.outcome)).toEqual(['PAUSED'])
    expect((await service.settings(viewer, degraded)).paused).toBe(true)
    await service.setPaused(viewer, false, degraded)
    await send(report('5'))
    await back()
    const page = stores.state.list('7', [1], undefined, 10)
    expect(page.entries.map((entry) => entry.oid).sort()).toEqual(['3', '5'])
    expect(stores.state.settingsOf('7')).toMatchObject({ paused: false, clearedAt: { 1: clearedAt } })
  })

  it('with the store back, a write waits behind the waiting writes of its viewer; other viewers write directly', async () => {
    stores.set('hot', 'down')
    await send(report('1'))
    const { service } = served.history
    stores.set('hot', 'up')
    await until('the breaker closes', () => !served.history.figures().outages.hotStore.isDown)
    const journaledBefore = served.history.figures().journal.journaled
    const results = await Promise.all([
      service.deleteHistory(viewer, 'video', ['1'], degraded),
      service.report({ id: 'other', scopes: [] }, [report('1')], new Set()),
    ])
    expect(results[1][0]?.outcome).toBe('ACCEPTED')
    await drained()
    expect(shown('1')).toBeUndefined()
    expect(stores.state.lookUp({ viewer: 'other', business: 1, oid: '1' }).record).toBeDefined()
    expect(served.history.figures().journal.journaled - journaledBefore).toBeLessThanOrEqual(1)
  })

  it('and back, only a viewer with a waiting change gets degraded lookups, pages and settings until it is applied', async () => {
    await send(report('1', { position: 10_000 }))
    stores.set('hot', 'down')
    await send(report('1', { position: 60_000 }))
    await served.history.service.setPaused(viewer, true, degraded)
    let isFull = true
    stores.refuse((call) => (isFull && call === 'hot.putProgress' ? 'STORE_FULL' : undefined))
    stores.set('hot', 'up')
    await until('it is known to be back', () => !served.history.figures().outages.hotStore.isDown)
    const ask = async (id: string, fields: string) => {
      const without: Degraded = new Set()
      const contextValue = { viewer: { id, scopes: [] }, degraded: without, loaders: served.history.makeLoaders(without) }
      const { data, errors } = await graphql({ schema: served.history.schema, source: `{ ${fields} }`, contextValue })
      expect(errors).toBeUndefined()
      return { data: JSON.stringify(data), degraded: [...without] }
    }
    const fields = [
      'subjects(business: "video", ids: ["1"]) { viewerProgress { position } }',
      'viewerHistory(first: 3) { edges { node { viewerProgress { position } } } }',
    ]
    const all = [...fields, 'historySettings { paused }']
    for (const each of all) {
      const [his, others] = await Promise.all([ask('7', each), ask('8', each)])
      expect([his.degraded, others.degraded]).toEqual([['hotStore'], []])
    }
    expect((await ask('7', 'historySettings { paused }')).data).toContain('true')
    isFull = false
    for (const each of all) {
      let answer = await ask('7', each)
      await until('nothing is lacking', async () => (answer = await ask('7', each)).degraded.length === 0)
      expect(answer.data).toMatch(/60000|true/)
    }
  })

  it('pages, lookups and settings come from the record store, without cleared or deleted history', async () => {
    const now = Date.now()
    await send(
      report('1', { viewedAt: now - 300 }),
      report('2', { viewedAt: now - 200 }),
      report('3', { business: 'article', viewedAt: now - 100 }),
    )
    await served.history.service.deleteHistory(viewer, 'video', ['2'], new Set())
    await served.history.service.clearHistory(viewer, 'article', new Set())
    await served.history.service.setPaused(viewer, true, new Set())
    await persisted()
    stores.set('hot', 'down')
    const page = await readTimeline(stores.hot, stores.records, '7', [1, 2], undefined, 10, degraded)
    expect(page).toMatchObject({ entries: [{ oid: '1' }], hasNextPage: false })
    const { progress } = served.history.makeLoaders(degraded)
    const found = await Promise.all(['1', '2'].map((oid) => progress.load({ viewer: '7', business: 1, oid })))
    expect(found.map((record) => record?.position)).toEqual([60_000, undefined])
    expect((await served.history.service.settings(viewer, degraded)).paused).toBe(true)
    expect([...degraded]).toEqual(['hotStore'])
  })

  it('a page from the record store continues at the end of a page from the hot store', async () => {
    const now = Date.now()
    await send(...Array.from({ length: 8 }, (_, index) => report(String(index), { viewedAt: now - index })))
    await persisted()
    const first = await readTimeline(stores.hot, stores.records, '7', [1], undefined, 3, degraded)
    const last = first.entries[2]
    stores.set('hot', 'down')
    const place = { viewedAt: last?.record.viewedAt ?? 0, business: 1, oid: last?.oid ?? '' }
    const second = await readTimeline(stores.hot, stores.records, '7', [1], place, 10, degraded)
    expect([...first.entries, ...second.entries].map((entry) => entry.oid)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
  })

  it('a reader that cannot use a partial answer gets the error', async () => {
    stores.set('hot', 'down')
    const page = complete((without) => readTimeline(stores.hot, stores.records, '7', [1], undefined, 3, without))
    await expect(page).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    const settings = complete((without) => served.history.service.settings(viewer, without))
    await expect(settings).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
  })

  it('deleting returns the subjects of the record store, and clearing returns the time of the request', async () => {
    await send(report('1'))
    await persisted()
    stores.set('hot', 'down')
    expect(await served.history.service.deleteHistory(viewer, 'video', ['1', 'never'], degraded)).toEqual(['1'])
    const before = Date.now()
    expect(await served.history.service.clearHistory(viewer, 'video', degraded)).toBeGreaterThanOrEqual(before)
  })

  it('and the record store too, reports are accepted, lookups are null, pages are empty and settings the defaults', async () => {
    stores.set('hot', 'down')
    stores.set('records', 'down')
    expect((await send(report('1')))[0]?.outcome).toBe('ACCEPTED')
    expect(await served.history.service.deleteHistory(viewer, 'video', ['2'], degraded)).toEqual([])
    expect(await served.history.makeLoaders(degraded).progress.load({ viewer: '7', business: 1, oid: '1' })).toBeUndefined()
    expect([...degraded].sort()).toEqual(['hotStore', 'recordStore'])
    expect(await readTimeline(stores.hot, stores.records, '7', [1], undefined, 3, degraded)).toEqual({ entries: [], hasNextPage: false })
    expect((await served.history.service.settings(viewer, degraded)).paused).toBe(false)
    // A caller that cannot use a partial answer gets an error.
    const page = complete((without) => readTimeline(stores.hot, stores.records, '7', [1], undefined, 3, without))
    await expect(page).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    const settings = complete((without) => served.history.service.settings(viewer, without))
    await expect(settings).rejects.toMatchObject({ code: 'HOT_STORE_UNAVAILABLE' })
    stores.set('records', 'up')
    await back()
    expect(shown('1')).toBeDefined()
  })

  it('a subscription opens, stays silent, and begins with the missed changes once the store is back', async () => {
    stores.set('hot', 'down')
    const stream = await openChangeStream(
      served.history.service,
      stores.hot,
      makeBusinesses(config.businesses),
      systemClock,
      viewer,
      undefined,
      degraded,
    )
    expect([...degraded]).toEqual(['hotStore'])
    const first = stream.next()
    await send(report('1'))
    await back()
    const change = (await first).value as ProgressChange
    expect(change).toMatchObject({ kind: 'put', oid: '1' })
    await stream.return?.()
  })

  it('a subscription that is closed meanwhile makes no more attempts', async () => {
    stores.set('hot', 'down')
    const stream = await openChangeStream(
      served.history.service,
      stores.hot,
      makeBusinesses(config.businesses),
      systemClock,
      viewer,
      undefined,
      degraded,
    )
    await stream.return?.()
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  it('a process that ends leaves its journal to the next process', async () => {
    stores.set('hot', 'down')
    await send(report('1'))
    await served.stop()
    stores.set('hot', 'up')
    served = serveOn(stores, folder.path)
    await drained()
    expect(shown('1')).toBeDefined()
    await until('it is counted', () => served.history.figures().journal.replayed === 1)
    expect(served.history.figures().journal.journaled).toBe(0)
  })

  it('a running process applies the journal of a dead neighbour', async () => {
    const neighbour = serveOn(stores, folder.path)
    stores.set('hot', 'down')
    await neighbour.history.service.report(viewer, [report('1')], degraded)
    await neighbour.stop()
    await send(report('2'))
    stores.set('hot', 'up')
    await until('both are there', () => shown('1') !== undefined && shown('2') !== undefined)
  })

  it('while it passes checks and fails writes, nothing is lost', async () => {
    stores.set('hot', 'down')
    const inputs = Array.from({ length: 50 }, (_, index) => report(String(index % 9), { position: 10_000 + index }))
    for (const [index, input] of inputs.entries()) {
      stores.set('hot', index % 7 === 3 ? 'up' : 'down')
      await send({ ...input, viewedAt: Date.now() - 1_000 + index })
      if (index % 5 === 0) await sleep(12)
    }
    await back()
    for (let oid = 0; oid < 9; oid++) {
      const last = inputs.findLast((input) => input.id === String(oid))
      expect(shown(String(oid))?.position).toBe(last?.position)
    }
    expect(served.history.figures().journal.parked).toBe(0)
  })

  it('a hot store that comes back and refuses writes loses no acknowledged write', async () => {
    stores.set('hot', 'down')
    for (const id of ['1', '2', '3', '4', '5']) await send(report(id, { viewer: id }))
    stores.refuse((call) => (call === 'hot.putProgress' ? 'DATA_INCOMPATIBLE' : undefined))
    stores.set('hot', 'up')
    await until('it was tried', () => stores.calls.filter((call) => call === 'hot.putProgress').length > 1)
    // Each report wakes the replay.
    for (let n = 0; n < 20; n++) {
      await send(report(`more ${n}`, { viewer: '1' }))
      await sleep(10)
    }
    expect(await served.journals.own.count()).toEqual({ waiting: 25, parked: 0 })
    stores.refuse(() => undefined)
    await drained()
    for (const id of ['1', '2', '3', '4', '5'])
      expect(stores.state.lookUp({ viewer: id, business: 1, oid: id }).record?.position).toBe(60_000)
    expect(stores.state.lookUp({ viewer: '1', business: 1, oid: 'more 19' }).record).toBeDefined()
  })

  it('a report behind an unapplied pause is not recorded, and an older report behind a clearing is never shown', async () => {
    stores.set('hot', 'down')
    await served.history.service.setPaused({ id: '8', scopes: [] }, true, degraded)
    await served.history.service.clearHistory(viewer, 'video', degraded)
    const unfit = new Set(['hot.setPaused', 'hot.clearProgress'])
    stores.refuse((call) => (unfit.has(call) ? 'INTERNAL' : undefined))
    stores.set('hot', 'up')
    await until('the breaker closes', () => !served.history.figures().outages.hotStore.isDown)
    const [answer] = await send(report('1', { viewer: '8' }))
    await send(report('2', { viewedAt: Date.now() - 5_000 }))
    expect(answer?.outcome).toBe('PAUSED')
    expect(shown('2')).toBeUndefined()
    stores.refuse(() => undefined)
    await drained()
    expect(stores.state.lookUp({ viewer: '8', business: 1, oid: '1' }).record).toBeUndefined()
    expect(shown('2')).toBeUndefined()
  })

  it('and failing again during replay, the rest of the journal waits and nothing overtakes it', async () => {
    stores.set('hot', 'down')
    for (let n = 1; n <= 6; n++) await send(report('1', { position: n * 10_000 }))
    await served.history.service.deleteHistory(viewer, 'video', ['1'], degraded)
    let puts = 0
    stores.refuse((call) => (call === 'hot.putProgress' && ++puts === 3 ? 'HOT_STORE_UNAVAILABLE' : undefined))
    stores.set('hot', 'up')
    await drained()
    await until('all are counted', () => served.history.figures().journal.replayed === 7)
    expect(served.history.figures().outages.hotStore.count).toBe(2)
    expect(stores.calls.filter((call) => call === 'hot.deleteProgress')).toHaveLength(1)
    expect(stores.calls.lastIndexOf('hot.putProgress')).toBeLessThan(stores.calls.indexOf('hot.deleteProgress'))
    expect(shown('1')).toBeUndefined()
  })
})
