import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Mark } from '../../../core/domain.ts'
import { publishOutbox } from '../../../subgraphs/thumbup/persist/outbox.ts'
import { persistMarks, type MarkPersistOptions } from '../../../subgraphs/thumbup/persist/persist.ts'
import { openMarkedStores, type MarkedStores } from './marked-stores.ts'

const options: MarkPersistOptions = { capOf: () => 10, keysMax: 1_000, isOurs: () => true, deleted: new Set() }

describe('the persist step of marks', () => {
  let stores: MarkedStores
  let late: unknown[]
  beforeEach(() => {
    stores = openMarkedStores({ records: 'lmdb' })
    late = []
  })
  afterEach(() => stores.close())

  const keyOf = (viewer: string, oid: string) => ({ viewer, business: 1, oid })
  async function put(viewer: string, oid: string, mark: Mark = 'LIKE', markedAt = 1_000) {
    await stores.plain.hot.putMarks([{ ...keyOf(viewer, oid), mark, markedAt, base: null, blind: true }], { now: 2_000, cap: 10 })
    return keyOf(viewer, oid)
  }
  const persist = (keys: ReturnType<typeof keyOf>[], over: Partial<MarkPersistOptions> = {}, offset?: number) =>
    persistMarks(
      stores.stores,
      keys,
      offset === undefined ? [] : [{ stream: 'marks', partition: 0, offset }],
      { ...options, ...over },
      (error) => late.push(error),
    )
  const counts = async (oid: string) => (await stores.plain.records.getCountsMany([{ business: 1, oid }]))[0]

  test('a subject is in only one of several transactions, so its counts are written once', async () => {
    const keys = []
    for (let viewer = 0; viewer < 4; viewer++) for (const oid of ['a', 'b', 'c']) keys.push(await put(String(viewer), oid))
    const report = await persist(keys, { keysMax: 4 })
    expect(report).toEqual({ keys: 12, rows: 12, missing: 0, transitions: 12, countUpdates: 3 })
    expect(stores.count('records.applyMarks')).toBe(3)
  })

  test('a repetition counts nothing twice, and the offset moves with the last transaction only', async () => {
    const keys = [await put('1', 'a'), await put('2', 'a'), await put('3', 'b')]
    await persist(keys, { keysMax: 2 }, 7)
    await persist(keys, { keysMax: 2 }, 7)
    expect(await counts('a')).toMatchObject({ likes: 2, dislikes: 0 })
    expect(await stores.plain.records.getOffsets('marks')).toEqual([{ stream: 'marks', partition: 0, offset: 7 }])
    expect([await stores.plain.hot.countDirtyMarks(), await stores.plain.records.listOutbox(10), late]).toEqual([0, [], []])
  })

  test('if a later transaction fails, the offset stays', async () => {
    const keys = [await put('1', 'a'), await put('2', 'b'), await put('3', 'c')]
    let applied = 0
    stores.before('records.applyMarks', async () => {
      if (++applied === 2) throw new Error('the second fails')
    })
    await expect(persist(keys, { keysMax: 1 }, 7)).rejects.toThrow('the second fails')
    expect(await stores.plain.records.getOffsets('marks')).toEqual([])
    stores.before('records.applyMarks', undefined)
    await persist(keys, { keysMax: 1 }, 7)
    expect([await counts('a'), await counts('c')]).toMatchObject([{ likes: 1 }, { likes: 1 }])
  })

  test('a mark that changes between reading and clearing stays dirty, with its counted part known', async () => {
    const key = await put('1', 'a')
    stores.before('hot.clearDirtyMarks', async () => void (await put('1', 'a', 'NONE', 1_500)))
    await persist([key])
    expect(await stores.plain.hot.getMarkMany([key])).toMatchObject([{ mark: 'NONE', counted: 'LIKE', pending: true }])
    stores.before('hot.clearDirtyMarks', undefined)
    await persist([key])
    expect(await counts('a')).toMatchObject({ likes: 0 })
    expect(await stores.plain.hot.getMarkMany([key])).toMatchObject([{ mark: 'NONE', counted: 'NONE', pending: false }])
  })

  test('the caches get the counts before the dirty marks are cleared, so that no like disappears for a moment', async () => {
    const key = await put('1', 'a')
    let cached: unknown
    stores.before('hot.clearDirtyMarks', async () => {
      cached = await stores.plain.cache.getCountsMany([key])
    })
    await persist([key])
    expect(cached).toMatchObject([{ likes: 1 }])
  })

  test('an older step that refreshes the cache late does not restore an older count', async () => {
    const first = await put('1', 'a')
    let isHeld = true
    const second = put('2', 'a')
    stores.before('cache.putCounts', async () => {
      if (!isHeld) return
      isHeld = false
      await persist([await second])
    })
    await persist([first])
    expect(await stores.plain.cache.getCountsMany([{ business: 1, oid: 'a' }])).toMatchObject([{ likes: 2 }])
  })

  test('entries of the outbox that are not due do not hide due ones', async () => {
    stores.set('events', 'down')
    for (let at = 0; at < 12; at++) await persist([await put('1', `s${at}`)])
    expect(late).toHaveLength(12)
    stores.set('events', 'up')
    const isLast = ({ counts }: { counts: { oid: string }[] }) => counts.some(({ oid }) => oid === 's11')
    expect(await publishOutbox(stores.stores, isLast)).toBe(1)
    expect(await stores.plain.records.listOutbox(100)).toHaveLength(11)
  })

  test('a lost mark leaves no dirty mark and is not counted', async () => {
    expect(await persist([keyOf('9', 'lost')])).toMatchObject({ rows: 0, missing: 1, transitions: 0 })
  })

  test('marks of other tenants and of deleted businesses are not persisted', async () => {
    const [ours, others, gone] = [await put('1', 'a'), { ...keyOf('1', 'x'), business: 2 }, { ...keyOf('1', 'x'), business: 3 }]
    for (const key of [others, gone])
      await stores.plain.hot.putMarks([{ ...key, mark: 'LIKE', markedAt: 5, blind: true }], { now: 2_000, cap: 10 })
    await persist([ours, others, gone], { isOurs: (business) => business !== 2, deleted: new Set([3]) })
    expect(await stores.plain.records.getMarkMany([ours, others, gone])).toMatchObject([{ mark: 'LIKE' }, undefined, undefined])
    expect([await stores.plain.hot.countDirtyMarks(), stores.count('hot.forgetBusiness')]).toEqual([2, 0])
  })
})
