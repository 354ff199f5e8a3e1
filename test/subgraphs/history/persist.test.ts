import { beforeEach, describe, expect, test } from 'vitest'
import { persistKeys } from '../../../subgraphs/history/persist/persist.ts'
import type { ProgressKey } from '../../../core/domain.ts'
import { settingsKey } from '../../../core/progress-key.ts'
import type { RecordStore } from '../../../subgraphs/history/stores/record-store.ts'
import { openGate } from '../../../harness/simulation/gate.ts'
import { makeHotState } from '../../../harness/simulation/history/model-hot-state.ts'
import { openModelHotStore } from '../../../harness/simulation/history/model-hot-store.ts'
import { makeSwitchedStores, type SwitchedStores } from '../switched-stores.ts'

const NOW = 1_700_000_000_000
const options = { timelineCap: 10, purgeRowsMax: 3 }
const keyOf = (oid: string): ProgressKey => ({ viewer: '7', business: 1, oid })
const settings = settingsKey('7')

function recordAt(viewedAt: number, position = 60_000) {
  return { viewedAt, since: 0, rank: viewedAt, version: 0, position, duration: 0, device: '', finished: false, deleted: false }
}

describe('the persist step', () => {
  let stores: SwitchedStores
  beforeEach(() => {
    stores = makeSwitchedStores()
  })

  function watch(oid: string, viewedAt = NOW, position = 60_000): void {
    const write = { ...keyOf(oid), record: recordAt(viewedAt, position), decisive: true }
    expect(stores.state.put(write, { now: viewedAt, timelineCap: 10 }).status).toBe('written')
  }
  const persist = (keys: ProgressKey[], records: RecordStore = stores.records) => persistKeys({ hot: stores.hot, records }, keys, options)
  const marks = () => stores.state.listDirty([0, 1, 2, 3], Number.MAX_SAFE_INTEGER, 1_000)
  const rows = () => [...stores.rows.values()].map(({ key }) => key.oid).sort()

  /** The record store with an action before one of its calls. */
  function recordsWith(name: 'putProgress' | 'putSettings', happens: () => void | Promise<void>): RecordStore {
    const before =
      <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        await happens()
        return call(...args)
      }
    return name === 'putProgress'
      ? { ...stores.records, putProgress: before(stores.records.putProgress) }
      : { ...stores.records, putSettings: before(stores.records.putSettings) }
  }

  test('an upsert that fails leaves the dirty mark, and the retry persists the key', async () => {
    watch('1')
    stores.set('records', 'down')
    await expect(persist([keyOf('1')])).rejects.toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
    expect(marks()).toEqual([keyOf('1')])
    stores.set('records', 'up')
    expect(await persist([keyOf('1')])).toEqual({ keys: 1, rows: 1, missing: 0, settings: 0, purged: 0 })
    expect(marks()).toEqual([])
    expect(rows()).toEqual(['1'])
  })

  test('a key that is reported again during its write keeps its dirty mark', async () => {
    watch('1')
    const again = recordsWith('putProgress', () => watch('1', NOW + 5, 70_000))
    await persist([keyOf('1')], again)
    expect(marks()).toEqual([keyOf('1')])
    await persist(marks())
    expect([...stores.rows.values()][0]?.record.position).toBe(70_000)
    expect(marks()).toEqual([])
  })

  test('a row written after its clearing was persisted is removed', async () => {
    watch('1')
    watch('2', NOW + 100)
    const clearing = recordsWith('putProgress', async () => {
      stores.state.clear('7', 1, NOW + 200)
      await persist([settings])
    })
    expect((await persist([keyOf('1'), keyOf('2')], clearing)).purged).toBe(2)
    expect(rows()).toEqual([])
  })

  test('a clearing of one business purges no other business and nothing viewed later', async () => {
    watch('1')
    stores.state.clear('7', 2, NOW + 200)
    await persist([keyOf('1'), settings])
    stores.state.clear('7', 1, NOW + 200)
    watch('2', NOW + 300)
    expect(await persist([keyOf('2')])).toMatchObject({ rows: 1, purged: 0 })
    expect(rows()).toEqual(['1', '2'])
    expect((await persist([settings])).purged).toBe(1)
    expect(rows()).toEqual(['2'])
  })

  test('a retry after a crash purges a cleared row, although its hot content is gone', async () => {
    watch('1')
    const dies = recordsWith('putProgress', async () => {
      stores.state.clear('7', 1, NOW + 200)
      await persist([settings])
    })
    const hot = { ...stores.hot, readDirtySettings: () => Promise.reject(new Error('the process died')) }
    await expect(persistKeys({ hot, records: dies }, [keyOf('1')], options)).rejects.toThrow('died')
    expect(rows()).toEqual(['1'])
    expect(await persist([keyOf('1')])).toMatchObject({ missing: 1, purged: 1 })
    expect(rows()).toEqual([])
  })

  test.each([7, 6])('a clearing purges all of %i rows at three per statement', async (count) => {
    for (let index = 0; index < count; index++) watch(String(index), NOW + index)
    await persist(marks())
    stores.state.clear('7', 1, NOW + 1_000)
    const before = stores.calls.length
    expect((await persist([settings])).purged).toBe(count)
    expect(rows()).toEqual([])
    expect(stores.calls.slice(before).filter((call) => call === 'records.purgeCleared')).toHaveLength(3)
  })

  test('rows and settings are published after they are durable and before their dirty marks are cleared', async () => {
    watch('1')
    stores.state.setPaused('7', true, NOW)
    const published: unknown[] = []
    const publish = async (events: readonly unknown[]) => {
      expect(rows()).toEqual(['1'])
      expect(marks()).toHaveLength(2 - published.length)
      published.push(...events)
    }
    await persistKeys({ ...stores, publish }, [keyOf('1'), settings], options)
    expect(published).toEqual([
      { key: keyOf('1'), record: expect.objectContaining({ position: 60_000, viewedAt: NOW }) },
      { viewer: '7', settings: expect.objectContaining({ paused: true }) },
    ])
    expect(marks()).toEqual([])
    await persistKeys({ ...stores, publish }, [keyOf('9')], options)
    expect(published).toHaveLength(2)
  })

  test('the dirty mark of lost settings is removed and counted', async () => {
    const dropped: ProgressKey[][] = []
    const hot = {
      ...stores.hot,
      dropDirty(keys: readonly ProgressKey[]) {
        dropped.push([...keys])
        return stores.hot.dropDirty(keys)
      },
    }
    expect((await persistKeys({ hot, records: stores.records }, [settings], options)).missing).toBe(1)
    expect(dropped).toEqual([[settings]])
    stores.state.setPaused('7', true, NOW)
    expect((await persistKeys({ hot, records: stores.records }, [settings], options)).missing).toBe(0)
    expect(dropped).toHaveLength(1)
  })

  test('the dirty mark of settings is removed once they are persisted', async () => {
    stores.state.setPaused('7', true, NOW)
    expect(marks()).toEqual([settings])
    expect(await persist([settings])).toMatchObject({ keys: 0, settings: 1 })
    expect(marks()).toEqual([])
    expect((await stores.records.getSettingsMany(['7']))[0]?.paused).toBe(true)
  })

  test('settings keep their dirty mark if their write fails or they change during it', async () => {
    stores.state.setPaused('7', true, NOW)
    stores.set('records', 'down')
    await expect(persist([settings])).rejects.toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
    expect(marks()).toEqual([settings])
    stores.set('records', 'up')
    const switching = recordsWith('putSettings', () => void stores.state.setPaused('7', false, NOW + 1))
    await persist([settings], switching)
    expect(marks()).toEqual([settings])
  })

  test('a key without content is counted, and its dirty mark is removed', async () => {
    const state = makeHotState({ regions: 4, clearing: 'keeps marks', faults: {} })
    state.put({ ...keyOf('1'), record: recordAt(NOW), decisive: true }, { now: NOW, timelineCap: 10 })
    state.put({ ...keyOf('2'), record: recordAt(NOW), decisive: true }, { now: NOW, timelineCap: 10 })
    state.clear('7', 1, NOW + 1)
    state.put({ ...keyOf('2'), record: recordAt(NOW + 2), decisive: true }, { now: NOW + 2, timelineCap: 10 })
    const hot = openModelHotStore(state, openGate)
    const report = await persistKeys({ hot, records: stores.records }, [keyOf('1'), keyOf('2')], options)
    expect(report).toEqual({ keys: 2, rows: 1, missing: 1, settings: 0, purged: 0 })
    expect(state.listDirty([0, 1, 2, 3], NOW + 10, 10)).toEqual([settings])
  })

  test('a key given several times is read and written once', async () => {
    watch('1')
    watch('2')
    const written: string[][] = []
    const records: RecordStore = {
      ...stores.records,
      putProgress(incoming) {
        written.push(incoming.map(({ key }) => key.oid))
        return stores.records.putProgress(incoming)
      },
    }
    const report = await persist([keyOf('1'), keyOf('2'), keyOf('1'), { ...keyOf('2') }], records)
    expect(written).toEqual([['1', '2']])
    expect(report).toMatchObject({ keys: 2, rows: 2 })
  })

  test('without keys no store is called', async () => {
    expect(await persist([])).toEqual({ keys: 0, rows: 0, missing: 0, settings: 0, purged: 0 })
    expect(stores.calls).toEqual([])
  })
})
