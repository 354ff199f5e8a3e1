/** Mark store contract: counted and pending marks, dirty marks by age, and the clearing of the persist step. */
import { expect, it } from 'vitest'
import type { DirtyWalk, Mark, MarkKey, MarkRecord } from '../../../core/domain.ts'
import { keyText } from '../../../core/progress-key.ts'
import { regionOf } from '../../../core/regions.ts'
import { CAP, NOTHING, UNDONE, dirtyOids, fill, listedOids, lookUp, markOf, persist, putMark, written } from './marks.ts'
import { freshNamedViewer, freshViewer, freshViewerIn, keyOf, later, numbered } from '../reports.ts'
import type { MarkStoreSubject } from './hot-store-subject.ts'

export function persistingContract({ store, regions, another, reopen }: MarkStoreSubject): void {
  async function completeViewer(viewer = freshViewer()): Promise<string> {
    await fill(store(), viewer)
    return viewer
  }
  const write = async (viewer: string, oid: string, mark: Mark, markedAt: number): Promise<MarkRecord> =>
    written(await putMark(store(), markOf(viewer, oid, mark, markedAt))).record
  const clear = (viewer: string, oid: string, version: number, record: MarkRecord): Promise<void> =>
    store().clearDirtyMarks([{ key: keyOf(viewer, oid), version, record }], CAP)
  /** Likes and persists, and returns the like as a persist step reads it then. */
  async function cleanLike(viewer: string, oid: string, markedAt: number): Promise<MarkRecord> {
    await write(viewer, oid, 'LIKE', markedAt)
    await persist(store(), [keyOf(viewer, oid)])
    const [read] = await store().readDirtyMarks([keyOf(viewer, oid)])
    return read?.record as MarkRecord
  }

  it('the counted mark stays while changes wait, and follows when they are persisted', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    await write(viewer, '1', 'LIKE', at)
    expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'LIKE', counted: 'NONE', pending: true })
    await write(viewer, '1', 'DISLIKE', at + 1)
    expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'DISLIKE', counted: 'NONE', pending: true })
    await persist(store(), [keyOf(viewer, '1')])
    expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'DISLIKE', counted: 'DISLIKE', pending: false })
    await write(viewer, '1', 'NONE', at + 2)
    expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'NONE', counted: 'DISLIKE', pending: true, undone: true })
    await persist(store(), [keyOf(viewer, '1')])
    expect(await lookUp(await reopen(), viewer, '1')).toEqual(UNDONE)
  })

  it('a read during a write returns the mark before or after it, the latter with its version', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    const before = await write(viewer, '1', 'DISLIKE', at)
    await persist(store(), [keyOf(viewer, '1')])
    for (let round = 1; round <= 20; round++) {
      const [reading, put] = [store().readDirtyMarks([keyOf(viewer, '1')]), putMark(store(), markOf(viewer, '1', 'LIKE', at + 2 * round))]
      const [[read], { record: after }] = [await reading, written(await put)]
      expect([before.markedAt, after.markedAt]).toContain(read?.record?.markedAt)
      if (read?.record?.markedAt === after.markedAt) expect(read.record).toEqual(after)
      await clear(viewer, '1', after.version, after)
      before.markedAt = at + 2 * round + 1
      await write(viewer, '1', 'DISLIKE', before.markedAt)
      await persist(store(), [keyOf(viewer, '1')])
    }
  })

  it('a changed version is not cleared: only the counted mark is updated', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    const first = await write(viewer, '1', 'LIKE', at)
    const second = await write(viewer, '1', 'NONE', at + 1)
    await clear(viewer, '1', first.version, first)
    expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'NONE', counted: 'LIKE', pending: true, undone: true })
    expect(await store().readDirtyMarks([keyOf(viewer, '1')])).toEqual([{ key: keyOf(viewer, '1'), record: second }])
    expect(await dirtyOids(store(), regions(), viewer, later(60_000))).toEqual(['1'])
    await clear(viewer, '1', second.version, second)
    expect(await lookUp(store(), viewer, '1')).toEqual(UNDONE)
    expect(await dirtyOids(store(), regions(), viewer, later(60_000))).toEqual([])
  })

  it('a clearing that comes after that of a newer mark does not change the counted mark, even if the mark is dirty again', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    const first = await write(viewer, '1', 'LIKE', at)
    const second = await write(viewer, '1', 'NONE', at + 1)
    await clear(viewer, '1', second.version, second)
    await write(viewer, '1', 'LIKE', at + 2)
    const counted = { mark: 'LIKE', counted: 'NONE', pending: true }
    expect(await lookUp(store(), viewer, '1')).toEqual(counted)
    await clear(viewer, '1', first.version, first)
    expect(await lookUp(store(), viewer, '1')).toEqual(counted)
    // The same after it became clean as a like, and for a mark that was never clean.
    const disliked = await write(viewer, '1', 'DISLIKE', at + 3)
    await clear(viewer, '1', disliked.version, disliked)
    const liked = await write(viewer, '1', 'LIKE', at + 4)
    await write(viewer, '1', 'NONE', at + 5)
    await clear(viewer, '1', second.version, second)
    expect(await lookUp(store(), viewer, '1')).toEqual({ ...UNDONE, counted: 'DISLIKE', pending: true })
    await clear(viewer, '1', liked.version, liked)
    await clear(viewer, '1', disliked.version, disliked)
    expect(await lookUp(store(), viewer, '1')).toEqual({ ...UNDONE, counted: 'LIKE', pending: true })
  })

  it('a late clearing of a clean mark does not bring back an older mark', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    const clean = await cleanLike(viewer, '1', at)
    for (const markedAt of [at, at + 1]) {
      await write(viewer, '1', 'DISLIKE', markedAt)
      await persist(store(), [keyOf(viewer, '1')])
      await clear(viewer, '1', clean.version, clean)
      expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'DISLIKE', counted: 'DISLIKE', pending: false })
      expect(await listedOids(store(), viewer)).toEqual([])
    }
  })

  it('a clean mark takes over a later row of the record store', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    const clean = await cleanLike(viewer, '1', at)
    await clear(viewer, '1', clean.version, { mark: 'DISLIKE', markedAt: at + 1, version: (at + 1) * 1_024 })
    expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'DISLIKE', counted: 'DISLIKE', pending: false })
    expect(await listedOids(store(), viewer)).toEqual([])
  })

  it('a newer mark of the record store is adopted', async () => {
    const viewer = await completeViewer()
    const at = later(10_000)
    const liked = await write(viewer, '1', 'LIKE', at)
    const disliked = await write(viewer, '2', 'DISLIKE', at)
    const alike = await write(viewer, '3', 'LIKE', at)
    const newer = (mark: Mark): MarkRecord => ({ mark, markedAt: at + 5, version: (at + 5) * 1_024 + 3 })
    await clear(viewer, '1', liked.version, newer('NONE'))
    await clear(viewer, '2', disliked.version, newer('LIKE'))
    await clear(viewer, '3', alike.version, newer('LIKE'))
    const states = await store().getMarkMany(numbered(3).map((oid) => keyOf(viewer, oid)))
    expect(states).toEqual([UNDONE, { mark: 'LIKE', counted: 'LIKE', pending: false }, { mark: 'LIKE', counted: 'LIKE', pending: false }])
    expect((await store().listLikes(viewer, 1, undefined, 10)).entries).toEqual(['2', '3'].map((id) => ({ id, markedAt: at + 5 })))
    for (const oid of numbered(3)) {
      expect((await putMark(store(), markOf(viewer, oid, 'DISLIKE', at + 4))).status).toBe('stale')
    }
    expect(await dirtyOids(store(), regions(), viewer, later(60_000))).toEqual([])
  })

  it('a version after an adopted mark is above its version', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    const { version } = await write(viewer, '1', 'LIKE', at)
    const ahead: MarkRecord = { mark: 'LIKE', markedAt: at + 1, version: (at + 3_600_000) * 1_024 }
    await clear(viewer, '1', version, ahead)
    expect((await write(viewer, '1', 'NONE', at + 2)).version).toBeGreaterThan(ahead.version)
    // The same for the row of a clean mark that stays.
    const clean = await cleanLike(viewer, '2', at)
    const further = { ...clean, version: (at + 7_200_000) * 1_024 }
    await clear(viewer, '2', clean.version, further)
    expect((await write(viewer, '2', 'NONE', at)).version).toBeGreaterThan(further.version)
  })

  it('a repeated or late clearing, or one of a missing mark, changes nothing', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    const first = await write(viewer, '1', 'LIKE', at)
    const second = await write(viewer, '1', 'NONE', at + 1)
    const before = await store().countDirtyMarks()
    await clear(viewer, '1', second.version, second)
    expect(await store().countDirtyMarks()).toBe(before - 1)
    await clear(viewer, '1', second.version, second)
    await clear(viewer, '1', first.version, first)
    await clear(viewer, '2', first.version, first)
    await store().clearDirtyMarks([], CAP)
    expect(await store().countDirtyMarks()).toBe(before - 1)
    expect(await store().getMarkMany([keyOf(viewer, '1'), keyOf(viewer, '2')])).toEqual([UNDONE, NOTHING])
    expect(await listedOids(store(), viewer)).toEqual([])
  })

  it('the persist step reads current records in key order, dirty, clean or undone, and undefined for missing ones', async () => {
    const viewer = await completeViewer(freshNamedViewer())
    const at = later(1_000)
    const liked = await write(viewer, '1', 'LIKE', at)
    await persist(store(), [keyOf(viewer, '1')])
    const disliked = await write(viewer, '2', 'DISLIKE', at)
    const undone = await write(viewer, '3', 'NONE', at)
    const keys = ['3', '9', '1', '2', '3'].map((oid) => keyOf(viewer, oid))
    const read = await store().readDirtyMarks(keys)
    // A clean mark waits for nothing, so its version may be forgotten.
    const { version } = read[2]?.record ?? {}
    expect([0, liked.version]).toContain(version)
    expect(read).toEqual(
      [undone, undefined, { ...liked, version }, disliked, undone].map((record, index) => ({ key: keys[index], record })),
    )
    expect(await store().readDirtyMarks([])).toEqual([])
  })

  it('dirty marks of 2,500 keys of two viewers are read in order', async () => {
    const viewers = [await completeViewer(), await completeViewer()] as const
    const at = later(1_000)
    const keys = Array.from({ length: 2_500 }, (_, place) => keyOf(viewers[place % 2 === 0 ? 0 : 1], String(place)))
    const records = new Map<number, MarkRecord>()
    for (const place of [0, 999, 1_000, 1_001, 1_999, 2_000, 2_499]) {
      const { viewer, oid } = keys[place] as MarkKey
      records.set(place, await write(viewer, oid, 'LIKE', at))
    }
    const clean = [1_001, 2_000]
    await persist(
      store(),
      clean.map((place) => keys[place] as MarkKey),
    )
    // A store may forget the version of a clean mark.
    const withoutVersion = (record: MarkRecord | undefined, place: number) =>
      record && clean.includes(place) ? { ...record, version: undefined } : record
    const read = await store().readDirtyMarks(keys)
    expect(read.map(({ key, record }, place) => ({ key, record: withoutVersion(record, place) }))).toEqual(
      keys.map((key, place) => ({ key, record: withoutVersion(records.get(place), place) })),
    )
  })

  it('dirty keys are listed by the time of their first unpersisted change, unaffected by later changes', async () => {
    const viewer = await completeViewer()
    const first = later(1_000)
    await store().putMarks([markOf(viewer, '1', 'LIKE', first)], { now: first, cap: CAP })
    const second = later(1_000)
    await store().putMarks([markOf(viewer, '2', 'LIKE', second)], { now: second, cap: CAP })
    const third = later(1_000)
    const again = await store().putMarks([markOf(viewer, '1', 'NONE', third)], { now: third, cap: CAP })
    expect(await dirtyOids(store(), regions(), viewer, first - 1)).toEqual([])
    expect(await dirtyOids(store(), regions(), viewer, first)).toEqual(['1'])
    expect(await dirtyOids(store(), regions(), viewer, third)).toEqual(['1', '2'])
    const { record } = written(again[0])
    await clear(viewer, '1', record.version, record)
    expect(await dirtyOids(store(), regions(), viewer, third)).toEqual(['2'])
    const fourth = later(1_000)
    await store().putMarks([markOf(viewer, '1', 'LIKE', fourth)], { now: fourth, cap: CAP })
    expect(await dirtyOids(store(), regions(), viewer, third)).toEqual(['2'])
    expect(await dirtyOids(store(), regions(), viewer, fourth)).toEqual(['2', '1'])
  })

  it('each dirty key counts once, and stale writes and those that need a base leave none', async () => {
    const viewer = await completeViewer()
    const before = await store().countDirtyMarks()
    const at = later(1_000)
    await write(viewer, '1', 'LIKE', at)
    await write(viewer, '1', 'NONE', at + 1)
    await write(viewer, '2', 'DISLIKE', at)
    expect(await store().countDirtyMarks()).toBe(before + 2)
    expect((await putMark(store(), markOf(viewer, '2', 'LIKE', at - 1))).status).toBe('stale')
    expect((await putMark(store(), markOf(viewer, '2', 'LIKE', at, { business: 9 }))).status).toBe('needs-base')
    expect(await store().countDirtyMarks()).toBe(before + 2)
    await persist(store(), [keyOf(viewer, '1'), keyOf(viewer, '2')])
    expect(await store().countDirtyMarks()).toBe(before)
    expect((await putMark(store(), markOf(viewer, '2', 'DISLIKE', at))).status).toBe('stale')
    expect(await store().countDirtyMarks()).toBe(before)
  })

  it('dirty keys are listed for the given regions, oldest first, up to the limit', async () => {
    const [here, there] = [freshViewerIn(0, regions()), freshViewerIn(1, regions())]
    for (const viewer of [here, there]) {
      await completeViewer(viewer)
      await fill(store(), viewer, [], { business: 2 })
      for (const oid of ['b', '5', 'a']) {
        const now = later(1_000)
        const writes = [1, 2].map((business) => markOf(viewer, oid, 'LIKE', now, { business }))
        await store().putMarks(writes, { now, cap: CAP })
      }
    }
    const end = later(1_000)
    const listed = await store().listDirtyMarks([0], end, 10_000_000)
    expect(listed.every((key) => regionOf(key.viewer, regions()) === 0)).toBe(true)
    const ours = listed.filter(({ viewer }) => viewer === here)
    expect(ours.map(({ oid }) => oid)).toEqual(['b', 'b', '5', '5', 'a', 'a'])
    expect(new Set(ours.map(({ business, oid }) => `${business}:${oid}`)).size).toBe(6)
    const both = await store().listDirtyMarks([1, 0], end, 10_000_000)
    expect(both.filter(({ viewer }) => viewer === here || viewer === there)).toHaveLength(12)
    expect(await store().listDirtyMarks([0], end, 2)).toEqual(listed.slice(0, 2))
    expect(await store().listDirtyMarks([0], end, 0)).toEqual([])
    expect(await store().listDirtyMarks([], end, 10)).toEqual([])
  })

  it('a walk over dirty keys returns each once, although keys stay or go, and many have the same time', async () => {
    const [here, there] = [freshViewerIn(0, regions()), freshViewerIn(1, regions())]
    // Long before all other dirty keys of the suite.
    const [now, end] = [10, 20]
    for (const viewer of [here, there]) {
      await completeViewer(viewer)
      const writes = numbered(25).map((oid) => markOf(viewer, oid, 'LIKE', now))
      await store().putMarks(writes, { now, cap: CAP })
      await store().putMarks([markOf(viewer, 'last', 'LIKE', now)], { now: end, cap: CAP })
    }
    const all = (await store().listDirtyMarks([0, 1], end, 10_000_000)).filter(({ viewer }) => viewer === here || viewer === there)
    expect(all).toHaveLength(52)
    const walk: DirtyWalk = {}
    const given: MarkKey[] = []
    for (let page = 0; ; page++) {
      const keys = await store().listDirtyMarks([0, 1], end, 7, walk)
      expect(keys.length).toBeLessThanOrEqual(7)
      if (keys.length === 0) break
      const ours = keys.filter(({ viewer }) => viewer === here || viewer === there)
      given.push(...ours)
      if (page % 2 === 0) await persist(store(), ours)
    }
    expect(given.map(keyText).toSorted()).toEqual(all.map(keyText).toSorted())
    expect(await store().listDirtyMarks([0, 1], end, 7, walk)).toEqual([])
    const again = (await store().listDirtyMarks([0, 1], end, 10_000_000, {})).filter(({ viewer }) => viewer === here || viewer === there)
    expect(again.length).toBeGreaterThan(0)
    expect(again.length).toBeLessThan(52)
  })

  it('dropping the dirty mark of an existing entry changes nothing', async () => {
    const viewer = await completeViewer()
    const record = await write(viewer, '1', 'LIKE', later(1_000))
    await store().dropDirtyMarks([keyOf(viewer, '1'), keyOf(viewer, '2')])
    await store().dropDirtyMarks([])
    expect(await dirtyOids(store(), regions(), viewer, later(60_000))).toEqual(['1'])
    expect(await store().readDirtyMarks([keyOf(viewer, '1')])).toEqual([{ key: keyOf(viewer, '1'), record }])
  })

  it('a mark cleared by another process is clean here, and a job may clear a mark it never wrote', async () => {
    const viewer = await completeViewer()
    await write(viewer, '1', 'LIKE', later(1_000))
    const other = await another()
    try {
      expect(await dirtyOids(other, regions(), viewer, later(60_000))).toEqual(['1'])
      await persist(other, [keyOf(viewer, '1')])
    } finally {
      await other.close()
    }
    expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'LIKE', counted: 'LIKE', pending: false })
  })

  it('an available store passes its check, as a whole and in each part it names', async () => {
    await store().check()
    const part = store().partOf?.(freshViewer())
    if (part !== undefined) await store().check(part)
  })
}
