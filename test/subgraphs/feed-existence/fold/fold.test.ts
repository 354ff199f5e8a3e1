import { describe, expect, test } from 'vitest'
import { isTidemarkError, TidemarkError } from '../../../../core/errors.ts'
import { makeFold, type FoldOptions } from '../../../../subgraphs/feed-existence/fold/fold.ts'
import { MARK_MONTH } from '../../../../subgraphs/feed-existence/migration/progress.ts'
import { addToFilter, openFilter } from '../../../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../../../subgraphs/feed-existence/filter/hash.ts'
import { beginningOf } from '../../../../subgraphs/feed-existence/model/time-ring.ts'
import { FILTER_BYTES_MAX, type FilterWrite, type SeenRecords } from '../../../../subgraphs/feed-existence/stores/record-store.ts'
import type { SeenStore } from '../../../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeSeenRecordsState, openModelSeenRecords } from '../../../../harness/models/feed-existence/record-store-model.ts'
import { makeSeenStoreModel } from '../../../../harness/models/feed-existence/hot-store-model.ts'

const MONTH = 680
const AT = beginningOf(MONTH) + 1_000
const SLOT = 2
const RATE = 0.0025

function open(options: Partial<FoldOptions> = {}) {
  const state = makeSeenRecordsState()
  const hot = makeSeenStoreModel(2, { slots: 6, shards: 4 })
  const records = openModelSeenRecords(state)
  const stores: { hot: SeenStore; records: SeenRecords } = { hot: { ...hot }, records: { ...records } }
  const fold = makeFold(stores, { rate: RATE, isOver: (month) => month < MONTH, expiryOf: (month) => month, ...options })
  return {
    ...{ hot, records, stores, state, fold },
    async stage(viewer: string, ids: readonly string[], playedAt = AT) {
      await hot.stagePlays(
        ids.map((oid) => ({ viewer, business: 1, oid, playedAt })),
        { now: AT, slot: SLOT },
      )
    },
    async has(viewer: string, id: string, month = MONTH): Promise<boolean> {
      const [stored] = await records.getFilters([{ viewer, month }])
      const [hash1, hash2] = hashSeen(1, [id]) as unknown as [number, number]
      return stored !== undefined && openFilter(stored.filter).has(hash1, hash2)
    },
    staged: async (viewer: string) => (await hot.getSeen(viewer, 1)).staged.map(({ oid }) => oid),
  }
}

function damaged(filter: Buffer): Buffer {
  const copy = Buffer.from(filter)
  copy[copy.length - 1]! ^= 1
  return copy
}

describe('a fold', () => {
  test('closes every live month before a started one, once, even if the viewer was absent in it', async () => {
    const { fold, stage, has, records, stores } = open({ isOver: (month) => month < MONTH, monthsBefore: 3 })
    const ids = Array.from({ length: 500 }, (_, id) => String(id))
    const open3 = addToFilter(undefined, hashSeen(1, ids), { rate: RATE })
    const put = (month: number) => records.putFilters([{ viewer: '7', month, filter: open3, expected: 0, expiresAt: month }])
    for (const back of [1, 3, 4]) await put(MONTH - back)
    const sizes = async () => {
      const found = await records.getFilters([1, 2, 3, 4].map((back) => ({ viewer: '7', month: MONTH - back })))
      return found.map((stored) => stored && stored.filter.length < open3.length)
    }
    expect(await sizes()).toEqual([false, undefined, false, false])
    const written: (readonly FilterWrite[])[] = []
    const { putFilters } = stores.records
    stores.records.putFilters = (writes) => {
      written.push(writes)
      return putFilters(writes)
    }
    await stage('7', ['new'])
    await stage('7', ['late'], beginningOf(MONTH - 2))
    expect(await fold.fold(SLOT, ['7'])).toMatchObject({ plays: 2, writes: 2, closed: 2, failed: [] })
    expect(
      written
        .at(-1)
        ?.map(({ month }) => MONTH - month)
        .sort(),
    ).toEqual([1, 3])
    expect(await sizes()).toEqual([true, true, true, false])
    expect([await has('7', '77', MONTH - 3), await has('7', 'new'), await has('7', 'late', MONTH - 2)]).toEqual([true, true, true])
  })

  test('leaves a viewer with too many plays for a filter staged, and delays no other viewer', async () => {
    const { fold, stage, has, staged, records } = open()
    const hashes = new Uint32Array(2 * 2_600_000)
    for (let i = 0, next = 1; i < hashes.length; i++) hashes[i] = next = Math.imul(next, 1_664_525) + 1_013_904_223
    const filter = addToFilter(undefined, hashes, { rate: RATE })
    expect(filter.length).toBeGreaterThan(FILTER_BYTES_MAX)
    await records.putFilters([{ viewer: 'heavy', month: MONTH, filter, expected: 0, expiresAt: MONTH }])
    for (const viewer of ['7', 'heavy', '8']) await stage(viewer, ['1'])
    const { failed, writes } = await fold.fold(SLOT, ['7', 'heavy', '8'])
    expect([failed, writes]).toMatchObject([[{ viewer: 'heavy', error: { code: 'PLAYS_TOO_MANY' } }], 2])
    expect([await staged('7'), await staged('heavy'), await staged('8')]).toEqual([[], ['1'], []])
    expect([await has('7', '1'), await has('8', '1')]).toEqual([true, true])
  })

  test('yields to the event loop every few filters for a page of heavy viewers, when it adds and when it closes', async () => {
    const { fold, stage, records, stores } = open()
    const viewers = Array.from({ length: 40 }, (_, at) => String(at))
    const filter = addToFilter(
      undefined,
      hashSeen(
        1,
        Array.from({ length: 4_000 }, (_, id) => String(id)),
      ),
      { rate: RATE },
    )
    await records.putFilters(viewers.map((viewer) => ({ viewer, month: MONTH - 1, filter, expected: 0, expiresAt: MONTH })))
    for (const viewer of viewers) await stage(viewer, ['new'])
    let turns = 0
    const turn = (): void => {
      turns++
      next = setImmediate(turn)
    }
    let next = setImmediate(turn)
    const { getFilters, putFilters } = stores.records
    const turnsOfEach: number[] = []
    stores.records.getFilters = async (keys) => {
      turns = 0
      return getFilters(keys)
    }
    stores.records.putFilters = async (writes) => {
      turnsOfEach.push(turns)
      return putFilters(writes)
    }
    try {
      // The fold starts a month, which has nothing to decode, and then closes the month before.
      expect(await fold.fold(SLOT, viewers)).toMatchObject({ writes: 40, closed: 40, failed: [] })
      expect(turnsOfEach[0]).toBe(0)
      expect(turnsOfEach[1]).toBeGreaterThan(1)
      for (const viewer of viewers) await stage(viewer, ['late'], beginningOf(MONTH - 1))
      expect(await fold.fold(SLOT, viewers)).toMatchObject({ writes: 40, failed: [] })
      expect(turnsOfEach[2]).toBeGreaterThan(1)
    } finally {
      clearImmediate(next)
    }
  })

  test('adds the staged plays to the filters of their months with one write each, and removes exactly those plays', async () => {
    const { fold, stage, has, staged, stores, hot } = open()
    await stage('7', ['1', '2'])
    await stage('7', ['old'], beginningOf(MONTH) - 1)
    await stage('8', ['1'])
    const { putFilters } = stores.records
    stores.records.putFilters = async (writes) => {
      await stage('7', ['meanwhile'])
      await stage('7', ['2'], AT + 5)
      return putFilters(writes)
    }
    const report = await fold.fold(SLOT, ['7', '8'])
    expect(report).toEqual({ plays: 4, writes: 3, refused: 0, closed: 0, quarantined: 0, failed: [] })
    expect([await has('7', '1'), await has('7', 'old', MONTH - 1), await has('8', '1'), await has('8', '2')]).toEqual([
      true,
      true,
      true,
      false,
    ])
    expect((await staged('7')).sort()).toEqual(['2', 'meanwhile'])
    expect(await hot.countRing()).toEqual([0, 0, 1, 0, 0, 0])
  })

  test('that loses a race is repeated on top of the other write', async () => {
    const { fold, stage, has, records, stores } = open()
    await stage('7', ['1'])
    const { putFilters } = stores.records
    let others = 0
    stores.records.putFilters = async (writes) => {
      if (others++ < 3) {
        const [stored] = await records.getFilters([{ viewer: '7', month: MONTH }])
        const filter = addToFilter(stored?.filter, hashSeen(1, [`other${others}`]), { rate: RATE })
        await putFilters([{ viewer: '7', month: MONTH, filter, expected: stored?.version ?? 0, expiresAt: 1 }])
      }
      return putFilters(writes)
    }
    expect(await fold.fold(SLOT, ['7'])).toMatchObject({ writes: 1, refused: 3, failed: [] })
    for (const id of ['1', 'other1', 'other2', 'other3']) expect(await has('7', id)).toBe(true)
  })

  test.each(['readStaged', 'getFilters', 'putFilters', 'removeStaged'])(
    'that dies after %s loses nothing, and its repetition writes only the missing filters',
    async (dies) => {
      const { fold, stage, has, staged, stores, state } = open()
      await stage('7', ['1'])
      const store = (dies in stores.hot ? stores.hot : stores.records) as unknown as Record<
        string,
        (...args: unknown[]) => Promise<unknown>
      >
      const call = store[dies] as (...args: unknown[]) => Promise<unknown>
      store[dies] = async (...args) => {
        await call(...args)
        throw new TidemarkError('RECORD_STORE_UNAVAILABLE', 'the answer was lost')
      }
      await expect(fold.fold(SLOT, ['7'])).rejects.toThrow('the answer was lost')
      expect((await staged('7')).length === 1 || (await has('7', '1'))).toBe(true)
      store[dies] = call
      await fold.fold(SLOT, ['7'])
      expect([await has('7', '1'), await staged('7'), state.filters.get(`${MONTH}:7`)?.version]).toEqual([true, [], 1])
    },
  )

  test('quarantines a damaged filter, and rebuilds it from the staged plays and the known history', async () => {
    const { fold, stage, has, records, state } = open({ rebuild: async () => [{ business: 1, oid: 'known' }] })
    await stage('7', ['1'])
    await fold.fold(SLOT, ['7'])
    const kept = state.filters.get(`${MONTH}:7`) as { filter: Buffer }
    kept.filter = damaged(kept.filter)
    await stage('7', ['2'])
    expect(await fold.fold(SLOT, ['7'])).toMatchObject({ quarantined: 1, failed: [] })
    expect([await has('7', '1'), await has('7', '2'), await has('7', 'known')]).toEqual([false, true, true])
    expect(await records.listQuarantined(5)).toHaveLength(1)
  })

  test('leaves a filter of a newer version and its staged plays unchanged, and delays no other viewer', async () => {
    const { fold, stage, has, staged, records, state } = open()
    const newer = addToFilter(undefined, hashSeen(1, ['x']), { rate: RATE })
    const { crc32 } = await import('node:zlib')
    newer[0] = 0xf2
    newer.writeUInt32BE(crc32(newer.subarray(5), crc32(newer.subarray(0, 1))), 1)
    await records.putFilters([{ viewer: '7', month: MONTH, filter: newer, expected: 0, expiresAt: 1 }])
    await stage('7', ['1'])
    await stage('7', ['old'], beginningOf(MONTH) - 1)
    await stage('8', ['1'])
    const { failed } = await fold.fold(SLOT, ['7', '8'])
    expect(failed.map(({ viewer, error }) => [viewer, isTidemarkError(error) && error.code])).toEqual([['7', 'DATA_INCOMPATIBLE']])
    expect([await staged('7'), await has('7', 'old', MONTH - 1), await has('8', '1')]).toEqual([['1'], true, true])
    expect(state.filters.get(`${MONTH}:7`)?.filter).toEqual(newer)
  })

  test('that loses every race gives up, and leaves every play staged', async () => {
    const { fold, stage, staged, stores } = open()
    await stage('7', ['1'])
    stores.records.putFilters = async (writes) => writes.map(() => false)
    const { failed, writes } = await fold.fold(SLOT, ['7'])
    expect([failed.length, writes, await staged('7')]).toEqual([1, 0, ['1']])
  })
})

describe('a repair', () => {
  test('rebuilds a damaged filter, and leaves good and missing filters unchanged', async () => {
    const { fold, stage, has, state } = open({ rebuild: async () => [{ business: 1, oid: 'known' }] })
    const key = { viewer: '7', month: MONTH }
    expect(await fold.repair(key)).toBe(false)
    await stage('7', ['1'])
    await fold.fold(SLOT, ['7'])
    expect(await fold.repair(key)).toBe(false)
    const kept = state.filters.get(`${MONTH}:7`) as { filter: Buffer }
    kept.filter = damaged(kept.filter)
    expect(await fold.repair(key)).toBe(true)
    expect([await has('7', '1'), await has('7', 'known')]).toEqual([false, true])
  })

  test('for a past month leaves a mark that lives as long as the newest filter, beyond the repaired filter', async () => {
    const { fold, stage, state } = open({ relist: () => Promise.resolve() })
    await stage('7', ['1'], beginningOf(MONTH - 2))
    await fold.fold(SLOT, ['7'])
    const kept = state.filters.get(`${MONTH - 2}:7`) as { filter: Buffer }
    kept.filter = damaged(kept.filter)
    expect(await fold.repair({ viewer: '7', month: MONTH - 2 })).toBe(true)
    expect(state.filters.get(`${MARK_MONTH}:7`)?.expiresAt).toBe(MONTH)
  })

  test('beyond the maximum size of a filter is refused, and the damaged filter stays for inspection', async () => {
    const known = Array.from({ length: 2_200_000 }, (_, id) => ({ business: 1, oid: String(id) }))
    const { fold, stage, records, state } = open({ rate: 0.0005, rebuild: () => Promise.resolve(known) })
    await stage('7', ['1'])
    await fold.fold(SLOT, ['7'])
    const kept = state.filters.get(`${MONTH}:7`) as { filter: Buffer }
    kept.filter = damaged(kept.filter)
    await expect(fold.repair({ viewer: '7', month: MONTH })).rejects.toMatchObject({ code: 'PLAYS_TOO_MANY' })
    expect(await records.listQuarantined(5)).toEqual([])
    expect(state.filters.get(`${MONTH}:7`)?.filter).toEqual(kept.filter)
  })
})
