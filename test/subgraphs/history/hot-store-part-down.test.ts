import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { PartOutage } from '../../../core/outage/part-outage.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { openLmdbJournals } from '../../../writeback/stores/lmdb/journal.ts'
import type { Journals } from '../../../writeback/journal.ts'
import { guardStores } from '../../../subgraphs/history/stores/guarded.ts'
import type { HotStore, ProgressWrite } from '../../../subgraphs/history/stores/hot-store.ts'
import type { RecordStore } from '../../../subgraphs/history/stores/record-store.ts'
import { makeHistorySubgraph, type HistorySubgraph } from '../../../subgraphs/history/index.ts'
import { config, makeDataFolder, makeSwitchedStores, type Folder, type SwitchedStores } from '../switched-stores.ts'
import { until } from '../../../harness/until.ts'

/** This hot store has two parts: viewers with an even id, and viewers with an odd id. */
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
    history.service.report({ id: viewer, scopes: [] }, [{ business: 'video', id: oid, position: 60_000 }], new Set())
  const isShown = (viewer: string, oid: string) => stores.state.lookUp({ viewer, business: 1, oid }).record !== undefined

  it('waiting changes of the available part are applied, and changes of the other part keep their order until it is back', async () => {
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

  it('a read of the record store waits for its turn as always, and only briefly once many parts are down', async () => {
    const partOf = (viewer: ViewerId) => Number(viewer)
    const keyOf = (viewer: string) => ({ viewer, business: 1, oid: 'a' })
    const hot: HotStore = {
      ...stores.hot,
      partOf,
      getProgressMany: async (keys) => (keys.some(({ viewer }) => out.has(partOf(viewer))) ? fail() : stores.hot.getProgressMany(keys)),
    }
    const records: RecordStore = {
      ...stores.records,
      readsAtOnceMax: 1,
      async getProgressMany(keys) {
        await sleep(500)
        return stores.records.getProgressMany(keys)
      },
    }
    const guarded = guardStores(systemClock, { ...stores, hot, records }, { checkEveryMs: 60_000 }, () => undefined)
    const readTwice = async () => {
      const reads = await Promise.allSettled([1, 2].map(() => guarded.records.getProgressMany([keyOf('2')])))
      return reads.map(({ status }) => status)
    }
    for (let part = 0; part < 10; part++) await guarded.hot.getProgressMany([keyOf(String(part))])
    out.add(1)
    await expect(guarded.hot.getProgressMany([keyOf('1')])).rejects.toThrow()
    expect([guarded.breakers.hotStore.isOpen(), await readTwice()]).toEqual([true, ['fulfilled', 'fulfilled']])
    out.add(0)
    await expect(guarded.hot.getProgressMany([keyOf('0')])).rejects.toThrow()
    expect(await readTwice()).toEqual(['fulfilled', 'rejected'])
    guarded.stop()
  })

  it('many journal entries of the unavailable part do not block entries of the other part', async () => {
    out.add(0).add(1)
    for (let turn = 0; turn < 1_200; turn++) await send('1', String(turn % 8))
    await send('2', 'behind')
    out.delete(0)
    await until('the part that is back has its report', () => isShown('2', 'behind'))
    expect(isShown('1', '1')).toBe(false)
  })
})
