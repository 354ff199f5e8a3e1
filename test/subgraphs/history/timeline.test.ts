import { beforeEach, describe, expect, test } from 'vitest'
import { complete, type Degraded } from '../../../core/outage/degraded.ts'
import type { Place } from '../../../core/domain.ts'
import { persistKeys } from '../../../subgraphs/history/persist/persist.ts'
import { keyText } from '../../../core/progress-key.ts'
import { placeOf, readTimeline, type TimelinePage } from '../../../subgraphs/history/read/timeline.ts'
import { makeSwitchedStores, type SwitchedStores } from '../switched-stores.ts'

const NOW = 1_700_000_000_000
const CAP = 5
const downTo = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, index) => from - index)

describe('a page of the timeline', () => {
  let stores: SwitchedStores
  /** Runs before the first time the record store lists rows. */
  let meanwhile: (() => void | Promise<void>) | undefined
  beforeEach(() => {
    stores = makeSwitchedStores()
    meanwhile = undefined
  })

  /** Reports subject n at NOW + `at`. */
  function watch(n: number, at = n): void {
    const viewedAt = NOW + at
    const record = { viewedAt, since: 0, rank: viewedAt, version: 0, position: n, duration: 0, device: '', finished: false, deleted: false }
    const key = keyOf(n)
    const write = { ...key, record, decisive: true, base: stores.rows.get(keyText(key))?.record ?? null }
    expect(stores.state.put(write, { now: viewedAt, timelineCap: CAP }).status).toBe('written')
  }
  const keyOf = (n: number) => ({ viewer: '7', business: 1, oid: String(n) })
  async function persist(): Promise<void> {
    const keys = stores.state.listDirty([3], Number.MAX_SAFE_INTEGER, 1_000).filter((key) => key.business !== 0)
    await persistKeys(stores, keys, { timelineCap: CAP, purgeRowsMax: 100 })
  }
  /** Reports and persists subjects 1 to `last`. The hot store keeps the newest five. */
  async function fill(last: number): Promise<void> {
    for (let n = 1; n <= last; n++) watch(n)
    await persist()
    expect(stores.state.list('7', [1], undefined, 100).entries).toHaveLength(Math.min(last, CAP))
  }
  function read(first: number, before?: Place): Promise<TimelinePage> {
    stores.calls.length = 0
    const records: typeof stores.records = {
      ...stores.records,
      async listProgress(...args) {
        const happens = meanwhile
        meanwhile = undefined
        await happens?.()
        return stores.records.listProgress(...args)
      },
    }
    return complete((without) => readTimeline(stores.hot, records, '7', [1], before, first, without))
  }
  const numbers = (page: TimelinePage) => page.entries.map((entry) => Number(entry.oid))
  const after = (page: TimelinePage) => placeOf(page.entries[page.entries.length - 1] as TimelinePage['entries'][number])
  const recordCalls = () => stores.calls.filter((call) => call.startsWith('records.'))

  test('continues in the record store without gaps or duplicates', async () => {
    await fill(12)
    const first = await read(4)
    expect([numbers(first), first.hasNextPage]).toEqual([downTo(12, 9), true])
    const second = await read(4, after(first))
    expect([numbers(second), second.hasNextPage]).toEqual([downTo(8, 5), true])
    const third = await read(4, after(second))
    expect([numbers(third), third.hasNextPage]).toEqual([downTo(4, 1), false])
  })

  test('calls only the hot store if nothing was trimmed', async () => {
    await fill(5)
    const page = await read(100)
    expect([numbers(page), page.hasNextPage]).toEqual([downTo(5, 1), false])
    expect(stores.calls).toEqual(['hot.listTimeline'])
  })

  test('calls only the hot store if the page ends above the floor', async () => {
    await fill(12)
    const page = await read(4)
    expect([numbers(page), page.hasNextPage]).toEqual([downTo(12, 9), true])
    expect(stores.calls).toEqual(['hot.listTimeline'])
  })

  test('calls the record store if only the entries after the page lie below the floor', async () => {
    await fill(12)
    const page = await read(5)
    expect([numbers(page), page.hasNextPage]).toEqual([downTo(12, 8), true])
    expect(recordCalls()).not.toEqual([])
  })

  test('lists a subject at its current place instead of the place in its row', async () => {
    await fill(12)
    const first = await read(7)
    watch(2, 50)
    watch(4, 51)
    const second = await read(7, after(first))
    expect([numbers(second), second.hasNextPage]).toEqual([[5, 3, 1], false])
    expect(numbers(await read(100))).toEqual([4, 2, ...downTo(12, 5), 3, 1])
  })

  test('lists a subject once, at the top, if it is watched again between the reads', async () => {
    await fill(12)
    meanwhile = () => watch(2, 50)
    const page = await read(100)
    expect(numbers(page)).toEqual([2, ...downTo(12, 3), 1])
    expect(page.entries[0]?.record.viewedAt).toBe(NOW + 50)
  })

  test('omits an outdated place of a subject that was watched again, persisted and trimmed elsewhere', async () => {
    await fill(12)
    const hot: typeof stores.hot = {
      ...stores.hot,
      async getProgressMany(keys) {
        if (stores.state.recordOf(keyOf(2)) === undefined && stores.rows.get(keyText(keyOf(2)))?.record.viewedAt === NOW + 2) {
          watch(2, 4.5)
          await persist()
        }
        return stores.hot.getProgressMany(keys)
      },
    }
    const page = await complete((without) => readTimeline(hot, stores.records, '7', [1], undefined, 100, without))
    expect(stores.state.recordOf(keyOf(2))).toBeUndefined()
    expect(page.entries.filter((entry) => entry.record.viewedAt === NOW + 2)).toEqual([])
    expect(numbers(await read(100))).toEqual([...downTo(12, 5), 2, 4, 3, 1])
  })

  test('lists an entry once if it is trimmed between the reads and both reads find it', async () => {
    await fill(12)
    // A late report: the hot store holds it, dirty, below its floor.
    watch(20, 4.5)
    meanwhile = persist
    const page = await read(100)
    expect(stores.state.recordOf(keyOf(20))).toBeUndefined()
    expect(numbers(page)).toEqual([...downTo(12, 5), 20, 4, 3, 2, 1])
  })

  test('loses no entry that is trimmed between the reads', async () => {
    await fill(12)
    meanwhile = async () => {
      for (const n of [13, 14, 15]) watch(n)
      await persist()
    }
    const page = await read(9)
    expect(numbers(page).filter((n) => n <= 12)).toEqual(downTo(12, 7))
    expect(numbers(page).slice(0, 3)).toEqual([15, 14, 13])
    expect(page.hasNextPage).toBe(true)
  })

  test('does not end because the first rows of the record store are all outdated', async () => {
    await fill(20)
    const first = await read(5)
    expect(numbers(first)).toEqual(downTo(20, 16))
    for (const n of [15, 14, 13, 12]) watch(n, 100 - n)
    const second = await read(2, after(first))
    expect([numbers(second), second.hasNextPage]).toEqual([[11, 10], true])
    expect(recordCalls().filter((call) => call === 'records.listProgress').length).toBeGreaterThan(1)
  })

  test('omits history viewed up to the clearing, although its rows still exist', async () => {
    await fill(12)
    const clearedAt = stores.state.clear('7', 1, NOW + 12)
    for (let n = 21; n <= 28; n++) watch(n)
    await persist()
    expect(stores.rows.size).toBe(20)
    const asked: string[] = []
    const records: typeof stores.records = {
      ...stores.records,
      getProgressMany(keys) {
        asked.push(...keys.map((key) => key.oid))
        return stores.records.getProgressMany(keys)
      },
    }
    const page = await complete((without) => readTimeline(stores.hot, records, '7', [1], undefined, 100, without))
    expect([numbers(page), page.hasNextPage]).toEqual([downTo(28, 21), false])
    expect(page.entries.every((entry) => entry.record.viewedAt > clearedAt)).toBe(true)
    expect(asked).toEqual(['23', '22', '21'])
  })

  test('omits cleared history of the record store alone, and continues with other businesses', async () => {
    await fill(12)
    for (let n = 1; n <= 3; n++) {
      const record = { ...(stores.rows.get(keyText(keyOf(n)))?.record as TimelinePage['entries'][number]['record']) }
      await stores.records.putProgress([{ key: { ...keyOf(n), business: 2 }, record }])
    }
    await stores.records.putSettings([{ viewer: '7', settings: { paused: false, clearedAt: { 1: NOW + 12 }, version: 1 } }])
    stores.set('hot', 'down')
    const degraded: Degraded = new Set()
    const page = await readTimeline(stores.hot, stores.records, '7', [1, 2], undefined, 2, degraded)
    expect(page.entries.map((entry) => [entry.business, entry.oid])).toEqual([
      [2, '3'],
      [2, '2'],
    ])
    expect(page.hasNextPage).toBe(true)
    expect([...degraded]).toEqual(['hotStore'])
  })

  test('ends early if the viewer deleted the rest', async () => {
    await fill(8)
    for (const n of [1, 2, 3]) stores.state.remove(keyOf(n), NOW + 100)
    const page = await read(5)
    expect([numbers(page), page.hasNextPage]).toEqual([downTo(8, 4), false])
  })
})
