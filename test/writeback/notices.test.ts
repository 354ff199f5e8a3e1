/** The notices of a process when stores fail and recover: two per outage, and not one for every failed step. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { openLmdbJournals } from '../../writeback/stores/lmdb/journal.ts'
import type { Journals } from '../../writeback/journal.ts'
import { makeOutageNotices } from '../../writeback/notices.ts'
import { makeHistorySubgraph, type HistorySubgraph } from '../../subgraphs/history/index.ts'
import { config, makeDataFolder, makeSwitchedStores, type Folder, type SwitchedStores } from '../subgraphs/switched-stores.ts'
import { until } from '../../harness/until.ts'

let stores: SwitchedStores
let folder: Folder
let journals: Journals
let history: HistorySubgraph
let said: unknown[][]

beforeEach(() => {
  stores = makeSwitchedStores()
  folder = makeDataFolder()
  journals = openLmdbJournals(folder.path)
  said = []
  const say =
    (what: string) =>
    (...about: unknown[]) =>
      void said.push([what, ...about])
  const notices = {
    failed: say('failed'),
    storeDown: say('down'),
    storeBack: say('back'),
    replayed: say('replayed'),
    parked: say('parked'),
    damaged: say('damaged'),
  }
  const guards = { checkEveryMs: 10, recordPatienceMs: 100, logPatienceMs: 100 }
  history = makeHistorySubgraph(systemClock, { ...stores, journals }, config, notices, guards)
})
afterEach(async () => {
  await history.drain()
  await journals.close()
  folder.remove()
})

const viewer = { id: '7', scopes: [] }
const report = (id: string) => history.service.report(viewer, [{ business: 'video', id, position: 10_000 }], new Set())
const kinds = () => said.map(([what]) => what)

describe('an outage', () => {
  it('has no negative duration, whether the clock ticks between two reads or was set back', () => {
    let now = 1_000
    let close: () => void = () => undefined
    const outages = makeOutageNotices(
      { now: () => now++, after: () => ({ cancel() {} }) },
      { failed() {}, storeDown() {}, storeBack() {}, replayed() {}, parked() {}, damaged() {} },
    )
    outages.followOne('log', { isOpen: () => false, onClose: (listener) => void (close = listener) })
    expect(outages.downMs()).toEqual({ hotStore: 0, log: 0, recordStore: 0 })
    outages.openedOf('log', new Error('down'))
    now = 500
    expect(outages.downMs().log).toBe(0)
    close()
    expect(outages.downMs().log).toBe(0)
  })

  it('counts as degraded time while it lasts and after it, for its store alone', async () => {
    const downMs = () => history.tenants(false)[0]?.downMs
    expect(downMs()).toEqual({ hotStore: 0, log: 0, recordStore: 0 })
    stores.set('hot', 'down')
    await report('1')
    await until('the outage shows', () => (downMs()?.hotStore ?? 0) > 20)
    stores.set('hot', 'up')
    await until('the outage has ended', () => kinds().includes('back'))
    const lasted = downMs()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(downMs()).toEqual(lasted)
    expect(lasted).toMatchObject({ hotStore: said.find(([what]) => what === 'back')?.[2], log: 0, recordStore: 0 })
  })

  it('of the hot store is reported once, and so are its end and the replay of the journal', async () => {
    stores.set('hot', 'down')
    for (let i = 0; i < 20; i++) await report(String(i))
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(said).toEqual([['down', 'hotStore', expect.objectContaining({ code: 'HOT_STORE_UNAVAILABLE' })]])
    stores.set('hot', 'up')
    await until('all is replayed', () => said.length >= 3)
    expect(said.slice(1)).toEqual(
      expect.arrayContaining([
        ['back', 'hotStore', expect.any(Number)],
        ['replayed', 20, expect.any(Number)],
      ]),
    )
    expect(said[1]?.[2]).toBeGreaterThanOrEqual(40)
  })

  it('of the log under load is two lines, for any number of failed flushes', async () => {
    stores.set('log', 'down')
    for (let i = 0; i < 50; i++) await report(String(i))
    await until('flushes went another way', () => history.figures().flushes.direct >= 5)
    stores.set('log', 'up')
    await until('it is back', () => kinds().includes('back'))
    expect(kinds()).toEqual(['down', 'back'])
  })
})
