import { beforeEach, describe, expect, test } from 'vitest'
import { complete } from '../../core/outage/degraded.ts'
import { persistKeys } from '../../subgraphs/history/persist/persist.ts'
import { getProgressMany } from '../../loaders/progress.ts'
import { makeSwitchedStores, type SwitchedStores } from '../subgraphs/switched-stores.ts'

const NOW = 1_700_000_000_000
const CAP = 5

describe('point lookups of progress', () => {
  let stores: SwitchedStores
  beforeEach(() => {
    stores = makeSwitchedStores()
  })

  /** Reports subject n at NOW + n, as position n. */
  function watch(numbers: readonly number[], viewer = '7'): void {
    for (const n of numbers) {
      const viewedAt = NOW + n
      const record = {
        viewedAt,
        since: 0,
        rank: viewedAt,
        version: 0,
        position: n,
        duration: 0,
        device: '',
        finished: false,
        deleted: false,
      }
      const write = { viewer, business: 1, oid: String(n), record, decisive: true, base: null }
      expect(stores.state.put(write, { now: viewedAt, timelineCap: CAP }).status).toBe('written')
    }
  }
  async function persist(): Promise<void> {
    const keys = stores.state.listDirty([0, 1, 2, 3], Number.MAX_SAFE_INTEGER, 1_000)
    await persistKeys(stores, keys, { timelineCap: CAP, purgeRowsMax: 100 })
  }
  const keyOf = (n: number, viewer = '7') => ({ viewer, business: 1, oid: String(n) })
  async function positions(...numbers: number[]): Promise<(number | undefined)[]> {
    stores.calls.length = 0
    const keys = numbers.map((n) => keyOf(n))
    const found = await complete((without) => getProgressMany(stores.hot, stores.records, keys, without))
    return found.map((record) => record?.position)
  }

  test('trimmed records are found in the record store, in key order, with one call', async () => {
    watch([1, 2, 3, 4, 5, 6, 7, 8])
    await persist()
    expect(stores.state.recordOf(keyOf(2))).toBeUndefined()
    expect(await positions(2, 8, 99, 1, 7)).toEqual([2, 8, undefined, 1, 7])
    expect(stores.calls).toEqual(['hot.getProgressMany', 'records.getProgressMany'])
  })

  test('the record store is asked for the misses only', async () => {
    watch([1, 2, 3, 4, 5, 6, 7, 8])
    await persist()
    const asked: string[] = []
    const records: typeof stores.records = {
      ...stores.records,
      getProgressMany(keys) {
        asked.push(...keys.map((key) => key.oid))
        return stores.records.getProgressMany(keys)
      },
    }
    await complete((without) => getProgressMany(stores.hot, records, [keyOf(2), keyOf(8), keyOf(1)], without))
    expect(asked).toEqual(['2', '1'])
  })

  test('the record store is not asked about an untrimmed timeline', async () => {
    watch([1, 2, 3, 4, 5])
    await persist()
    expect(await positions(5, 99, 1)).toEqual([5, undefined, 1])
    expect(await complete((without) => getProgressMany(stores.hot, stores.records, [keyOf(1, 'nobody')], without))).toEqual([undefined])
    expect(stores.calls.filter((call) => call.startsWith('records.'))).toEqual([])
  })

  test('a record that was trimmed and then deleted is null, even when the hot store has forgotten the tombstone', async () => {
    watch([1, 2, 3, 4, 5, 6, 7, 8])
    await persist()
    stores.state.remove(keyOf(2), NOW + 100)
    expect(await positions(2, 1)).toEqual([undefined, 1])
    await persist()
    while (stores.state.purge(NOW + 1_000, 100) > 0);
    expect(stores.state.lookUp(keyOf(2)).older).toBeDefined()
    expect(await positions(2, 1)).toEqual([undefined, 1])
  })

  test('a record that was trimmed and then cleared is null, while its row still exists', async () => {
    watch([1, 2, 3, 4, 5, 6, 7, 8])
    await persist()
    // At the time of the last cleared record. The settings are not persisted, so no row is purged.
    const clearedAt = stores.state.clear('7', 1, NOW + 8)
    watch([11, 12, 13, 14, 15, 16, 17])
    const keys = stores.state.listDirty([3], NOW + 1_000, 100).filter((key) => key.business === 1)
    await persistKeys(stores, keys, { timelineCap: CAP, purgeRowsMax: 100 })
    expect(stores.state.lookUp(keyOf(8)).older).toEqual({ clearedAt })
    expect(stores.rows.size).toBe(15)
    expect(await positions(1, 8, 11, 17)).toEqual([undefined, undefined, 11, 17])
  })

  test('a viewer never gets the progress of another one', async () => {
    watch([1, 2, 3, 4, 5, 6, 7, 8])
    watch([3, 4, 5, 6, 7, 8, 9], '11')
    await persist()
    const keys = [keyOf(1, '11'), keyOf(1), keyOf(3, '11'), keyOf(9)]
    const found = await complete((without) => getProgressMany(stores.hot, stores.records, keys, without))
    expect(found.map((record) => record?.position)).toEqual([undefined, 1, 3, undefined])
  })
})
