/** Mark store contract: tombstones until they are purged, late writes after that, and deleted businesses. */
import { expect, it } from 'vitest'
import { regionOf } from '../../../core/regions.ts'
import {
  CAP,
  NOTHING,
  asksForBase,
  beginFill,
  dirtyOids,
  fill,
  listedOids,
  lookUp,
  markOf,
  persist,
  purgeAll,
  putMark,
  written,
} from './marks.ts'
import { freshNamedViewer, freshViewer, freshViewerIn, keyOf, later, numbered } from '../reports.ts'
import type { MarkStoreSubject } from './hot-store-subject.ts'

export function removalContract({ store, regions, another }: MarkStoreSubject): void {
  /** A viewer who undid `1` at the returned time, persisted. */
  async function undone(viewer = freshViewer()): Promise<{ viewer: string; region: number; at: number }> {
    await fill(store(), viewer)
    const at = later(10_000)
    await putMark(store(), markOf(viewer, '1', 'LIKE', at - 1))
    await putMark(store(), markOf(viewer, '1', 'NONE', at))
    await persist(store(), [keyOf(viewer, '1')])
    return { viewer, region: regionOf(viewer, regions()), at }
  }
  const isHeld = async (viewer: string, oid: string): Promise<boolean> =>
    (await store().readDirtyMarks([keyOf(viewer, oid)]))[0]?.record !== undefined

  it('a tombstone keeps a late older mark out until it is purged; then the late mark needs a base', async () => {
    const { viewer, region, at } = await undone()
    const late = markOf(viewer, '1', 'LIKE', at - 1)
    expect((await putMark(store(), late)).status).toBe('stale')
    expect(await purgeAll(store(), [region], at)).toBeGreaterThanOrEqual(1)
    expect(await isHeld(viewer, '1')).toBe(false)
    expect(await lookUp(store(), viewer, '1')).toEqual(NOTHING)
    for (const markedAt of [at - 1, at]) {
      expect(asksForBase(await putMark(store(), { ...late, markedAt })).unknown).toBe(false)
    }
    const { asOf } = asksForBase(await putMark(store(), late))
    const base = { mark: 'NONE' as const, markedAt: at, version: at * 1_024 }
    expect(await putMark(store(), { ...late, base, baseAsOf: asOf })).toEqual({ status: 'stale', record: base })
    expect(written(await putMark(store(), { ...late, markedAt: at + 1 })).old).toBe('NONE')
  })

  it('after a purge the viewer is as complete as before', async () => {
    const { viewer, region, at } = await undone()
    await purgeAll(store(), [region], at)
    expect((await store().listLikes(viewer, 1, undefined, 10)).floor).toBeUndefined()
    expect(await lookUp(store(), viewer, 'never')).toEqual(NOTHING)
  })

  it('tombstones that are dirty, newer, or marked again stay', async () => {
    const { viewer, region, at } = await undone()
    await purgeAll(store(), [region], at - 1)
    expect(await isHeld(viewer, '1')).toBe(true)
    await putMark(store(), markOf(viewer, '2', 'NONE', at - 5))
    await putMark(store(), markOf(viewer, '1', 'DISLIKE', at + 1))
    await putMark(store(), markOf(viewer, '3', 'LIKE', at - 5))
    await persist(store(), [keyOf(viewer, '3')])
    await purgeAll(store(), [region], at + 100)
    expect(await Promise.all(numbered(3).map((oid) => isHeld(viewer, oid)))).toEqual([true, true, true])
    expect((await dirtyOids(store(), regions(), viewer, later(60_000))).toSorted()).toEqual(['1', '2'])
    await persist(store(), [keyOf(viewer, '1'), keyOf(viewer, '2')])
    await purgeAll(store(), [region], at + 100)
    expect(await Promise.all(numbered(3).map((oid) => isHeld(viewer, oid)))).toEqual([true, false, true])
  })

  it('a tombstone that is undone again later is purged by the later time', async () => {
    const { viewer, region, at } = await undone()
    await putMark(store(), markOf(viewer, '1', 'NONE', at + 500))
    await persist(store(), [keyOf(viewer, '1')])
    await purgeAll(store(), [region], at + 499)
    expect(await isHeld(viewer, '1')).toBe(true)
    await purgeAll(store(), [region], at + 500)
    expect(await isHeld(viewer, '1')).toBe(false)
  })

  it('a NONE adopted from the record store is purged like any other', async () => {
    const viewer = freshViewer()
    await fill(store(), viewer)
    const at = later(10_000)
    const { record } = written(await putMark(store(), markOf(viewer, '1', 'LIKE', at)))
    const newer = { mark: 'NONE' as const, markedAt: at + 1, version: record.version + 1 }
    await store().clearDirtyMarks([{ key: keyOf(viewer, '1'), version: record.version, record: newer }], CAP)
    expect(await isHeld(viewer, '1')).toBe(true)
    await purgeAll(store(), [regionOf(viewer, regions())], at + 1)
    expect(await isHeld(viewer, '1')).toBe(false)
  })

  it('a fill that began before a purge is refused, because it might bring back an undone mark', async () => {
    const viewer = freshNamedViewer()
    const at = later(10_000)
    await putMark(store(), markOf(viewer, '1', 'NONE', at, { base: { mark: 'LIKE', markedAt: at - 1, version: 1 } }))
    const asOf = await beginFill(store(), viewer)
    await persist(store(), [keyOf(viewer, '1')])
    await purgeAll(store(), [regionOf(viewer, regions())], at)
    const rows = [{ oid: '1', mark: 'LIKE' as const, markedAt: at - 1, version: 1 }]
    await store().fillMarks(viewer, 1, rows, { cap: CAP, asOf, whole: true })
    expect(await lookUp(store(), viewer, '1')).toEqual({ ...NOTHING, older: 'unknown' })
  })

  it('a purge affects only the given regions, and no more keys than the limit', async () => {
    const [here, there] = [await undone(freshViewerIn(0, regions())), await undone(freshViewerIn(1, regions()))]
    const until = Math.max(here.at, there.at)
    for (const oid of ['2', '3']) await putMark(store(), markOf(here.viewer, oid, 'NONE', here.at))
    await persist(store(), [keyOf(here.viewer, '2'), keyOf(here.viewer, '3')])
    expect(await store().purgeUndone([], until, 10)).toBe(0)
    expect(await store().purgeUndone([0], until, 1)).toBe(1)
    await purgeAll(store(), [0], until)
    expect(await isHeld(here.viewer, '3')).toBe(false)
    expect(await isHeld(there.viewer, '1')).toBe(true)
    expect(await store().purgeUndone([0], until, 10)).toBe(0)
  })

  it('a business is forgotten completely, with dirty marks and tombstones, in bounded steps, and no other', async () => {
    const [gone, kept] = [60_001, 60_002]
    const viewers = [freshViewer(), freshNamedViewer(), freshViewer()]
    const dirtyBefore = await store().countDirtyMarks()
    const at = later(1_000)
    for (const viewer of viewers) {
      for (const business of [gone, kept]) {
        await fill(store(), viewer, [{ oid: 'old', mark: 'LIKE', markedAt: at, version: at }], { business })
        for (const [oid, mark] of [
          ['1', 'LIKE'],
          ['2', 'DISLIKE'],
          ['3', 'NONE'],
          ['4', 'NONE'],
        ] as const)
          await putMark(store(), markOf(viewer, oid, mark, at, { business }))
        await persist(store(), [keyOf(viewer, '4', business)])
      }
    }
    expect(await store().countDirtyMarks()).toBe(dirtyBefore + 18)
    expect(await store().countViewers(gone)).toBe(viewers.length)
    let steps = 0
    while ((await store().forgetBusiness(gone, 1)) > 0) steps += 1
    expect(await store().countViewers(gone)).toBe(0)
    expect(await store().countViewers(kept)).toBe(viewers.length)
    expect(steps).toBeGreaterThanOrEqual(2)
    expect(await store().countDirtyMarks()).toBe(dirtyBefore + 9)
    const other = await another()
    try {
      for (const viewer of viewers) {
        const keys = ['old', ...numbered(4)].map((oid) => keyOf(viewer, oid, gone))
        expect((await other.getMarkMany(keys)).map(({ older }) => older)).toEqual(Array(5).fill('unknown'))
        expect(await other.listLikes(viewer, gone, undefined, 10)).toEqual({ entries: [], floor: null })
        expect((await other.readDirtyMarks(keys)).every(({ record }) => record === undefined)).toBe(true)
        expect((await listedOids(other, viewer, kept)).toSorted()).toEqual(['1', 'old'])
        expect((await dirtyOids(other, regions(), viewer, later(60_000))).toSorted()).toEqual(['1', '2', '3'])
      }
    } finally {
      await other.close()
    }
    const purged = await purgeAll(store(), [...Array(regions()).keys()], at)
    expect(purged).toBeGreaterThanOrEqual(3)
    expect(await store().forgetBusiness(gone, 10)).toBe(0)
    const again = freshViewer()
    await fill(store(), again, [], { business: gone })
    expect(written(await putMark(store(), markOf(again, '1', 'LIKE', later(), { business: gone }))).old).toBe('NONE')
    while ((await store().forgetBusiness(gone, 100)) > 0);
    while ((await store().forgetBusiness(kept, 100)) > 0);
    expect(await store().countDirtyMarks()).toBe(dirtyBefore)
  })

  it('a viewer with only a pending undo is forgotten too', async () => {
    const viewer = freshViewer()
    const business = 60_003
    await putMark(store(), markOf(viewer, '1', 'NONE', later(1_000), { business, blind: true }))
    while ((await store().forgetBusiness(business, 10)) > 0);
    expect(await store().readDirtyMarks([keyOf(viewer, '1', business)])).toEqual([{ key: keyOf(viewer, '1', business), record: undefined }])
    expect(await dirtyOids(store(), regions(), viewer, later(60_000))).toEqual([])
  })
}
