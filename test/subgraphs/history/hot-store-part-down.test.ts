import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { PartOutage } from '../../../core/outage/part-outage.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { openLmdbJournals } from '../../../writeback/stores/lmdb/journal.ts'
import type { Journals } from '../../../writeback/journal.ts'
import type { HotStore, ProgressWrite } from '../../../subgraphs/history/stores/hot-store.ts'
import { makeHistorySubgraph, type HistorySubgraph } from '../../../subgraphs/history/index.ts'
import { config, makeDataFolder, makeSwitchedStores, type Folder, type SwitchedStores } from '../switched-stores.ts'
import { until } from '../../../harness/until.ts'

/** Viewers whose id is even, and the others, are the two parts of this hot store. */
const partOf = (viewer: ViewerId) => Number(viewer) % 2

describe('with a part of the hot store down', () => {
  let stores: SwitchedStores
  let folder: Folder
  let journals: Journals
  let history: HistorySubgraph
  const out = new Set<number>()
  beforeEach(() => {
    out.clear()
    stores = makeSwitchedStores()
    folder = makeDataFolder()
    journals = openLmdbJournals(folder.path)
    const hot: HotStore = {
      ...stores.hot,
      partOf,
      check: async (part) => (out.has(part ?? 0) ? fail() : undefined),
      putProgress: async (writes: readonly ProgressWrite[], options) =>
        writes.some(({ viewer }) => out.has(partOf(viewer))) ? fail() : stores.hot.putProgress(writes, options),
      deleteProgress: async (keys, now) =>
        keys.some(({ viewer }) => out.has(partOf(viewer))) ? fail() : stores.hot.deleteProgress(keys, now),
    }
    history = makeHistorySubgraph(systemClock, { ...stores, hot, journals }, config, () => undefined, { checkEveryMs: 10 })
  })
  afterEach(async () => {
    out.clear()
    await history.drain()
    await journals.close()
    folder.remove()
  })

  function fail(): never {
    throw new PartOutage(new TidemarkError('HOT_STORE_UNAVAILABLE', 'a part is out'), (viewer) => out.has(partOf(viewer)))
  }
  const send = (viewer: string, oid: string) =>
    history.service.report({ id: viewer, scopes: [] }, [{ business: 'video', oid, position: 60_000 }], new Set())
  const isShown = (viewer: string, oid: string) => stores.state.lookUp({ viewer, business: 1, oid }).record !== undefined

  it('what waits for the other part is applied, and what waits for this one stays in order until it is back', async () => {
    out.add(0).add(1)
    await send('1', 'a')
    await send('2', 'a')
    await history.service.deleteHistory({ id: '1', scopes: [] }, 'video', ['a'], new Set())
    await send('1', 'b')
    await send('2', 'b')
    out.delete(0)
    await until('the part that is back has its reports', () => isShown('2', 'a') && isShown('2', 'b'))
    expect([isShown('1', 'a'), isShown('1', 'b')]).toEqual([false, false])
    await until('theirs is out of the journal', async () => (await journals.own.count()).waiting === 3)
    await send('2', 'c')
    expect(isShown('2', 'c')).toBe(true)
    out.delete(1)
    await until('the journal is empty', async () => (await journals.own.count()).waiting === 0)
    expect([isShown('1', 'a'), isShown('1', 'b')]).toEqual([false, true])
  })

  it('a journal of many entries of the part that is out does not keep others from being applied', async () => {
    out.add(0).add(1)
    for (let turn = 0; turn < 1_200; turn++) await send('1', String(turn % 8))
    await send('2', 'behind')
    out.delete(0)
    await until('the part that is back has its report', () => isShown('2', 'behind'))
    expect(isShown('1', '1')).toBe(false)
  })
})
