/** Mark store contract: unknown, complete and truncated viewers; fills and their races; writes that need a base. */
import { expect, it } from 'vitest'
import type { Mark, MarkRecord } from '../../../core/domain.ts'
import { CAP, NOTHING, UNDONE, asksForBase, beginFill, fill, listedOids, lookUp, markOf, persist, putMark, written } from './marks.ts'
import { freshNamedViewer, freshViewer, freshViewerIn, keyOf, later } from '../reports.ts'
import type { MarkStoreSubject } from './hot-store-subject.ts'

export function fillsContract({ store, another, reopen, regions }: MarkStoreSubject): void {
  const rowOf = (oid: string, mark: Mark, markedAt: number): MarkRecord & { oid: string } => ({
    oid,
    mark,
    markedAt,
    version: markedAt * 1_024,
  })

  it('a miss of an unknown viewer is marked unknown, lists have no floor, and a write needs a base', async () => {
    const viewer = freshNamedViewer()
    expect(await lookUp(store(), viewer, '1')).toEqual({ ...NOTHING, older: 'unknown' })
    expect(await store().listLikes(viewer, 1, undefined, 10)).toEqual({ entries: [], floor: null })
    expect(asksForBase(await putMark(store(), markOf(viewer, '1', 'LIKE', later()))).unknown).toBe(true)
    expect(await store().readDirtyMarks([keyOf(viewer, '1')])).toEqual([{ key: keyOf(viewer, '1'), record: undefined }])
  })

  it('beginReads reports for each viewer, in order, whether the marks are unknown, and a moment that a later base may have', async () => {
    const at = later(1_000)
    const [unknown, complete, truncated, dirty] = [freshNamedViewer(), freshViewer(), freshViewer(), freshViewer()]
    await fill(store(), complete)
    await fill(store(), truncated, [rowOf('3', 'LIKE', at)], { whole: false })
    await putMark(store(), markOf(dirty, '1', 'LIKE', at, { blind: true }))
    const owners = [dirty, complete, unknown, truncated, unknown].map((viewer) => ({ viewer, business: 1 }))
    const starts = await store().beginReads([...owners, { viewer: complete, business: 2 }])
    expect(starts.map((start) => start.unknown)).toEqual([true, false, true, false, true, true])
    const { asOf } = asksForBase(await putMark(store(), markOf(unknown, '1', 'LIKE', at)))
    expect(starts[2]?.asOf).toBe(asOf)
    const base = rowOf('1', 'DISLIKE', at - 1)
    const put = await putMark(store(), markOf(unknown, '1', 'LIKE', at, { base, baseAsOf: starts[2]?.asOf ?? 0 }))
    expect(written(put).old).toBe('DISLIKE')
    expect(await store().beginReads([])).toEqual([])
  })

  it('beginReads reports on more viewers than fit in one script', async () => {
    const viewers = Array.from({ length: 450 }, () => freshViewerIn(0, regions()))
    for (const viewer of viewers.filter((_, place) => place % 7 === 0)) await fill(store(), viewer)
    const starts = await store().beginReads(viewers.map((viewer) => ({ viewer, business: 1 })))
    expect(starts.map((start) => start.unknown)).toEqual(viewers.map((_, place) => place % 7 !== 0))
  })

  it('a base is refused if a mark of the viewer left the hot store after its `asOf`', async () => {
    const viewer = freshViewer()
    const at = later(1_000)
    await putMark(store(), markOf(viewer, '1', 'LIKE', at, { blind: true }))
    await putMark(store(), markOf(viewer, '2', 'LIKE', at + 1, { blind: true }))
    const asOf = await beginFill(store(), viewer)
    await persist(store(), [keyOf(viewer, '1')], 1)
    const late = markOf(viewer, '1', 'DISLIKE', at + 2, { base: null, baseAsOf: asOf })
    expect(asksForBase(await putMark(store(), late)).unknown).toBe(true)
  })

  it('a whole fill makes the viewer complete: the rows are there, all else is NONE, in this business only', async () => {
    const viewer = freshViewer()
    const at = later(1_000)
    await fill(store(), viewer, [rowOf('2', 'DISLIKE', at), rowOf('1', 'LIKE', at - 1)])
    const other = await another()
    try {
      const keys = [keyOf(viewer, '1'), keyOf(viewer, '2'), keyOf(viewer, '3'), keyOf(viewer, '1', 2)]
      expect(await other.getMarkMany(keys)).toEqual([
        { mark: 'LIKE', counted: 'LIKE', pending: false },
        { mark: 'DISLIKE', counted: 'DISLIKE', pending: false },
        NOTHING,
        { ...NOTHING, older: 'unknown' },
      ])
    } finally {
      await other.close()
    }
    expect(await store().listLikes(viewer, 1, undefined, 10)).toEqual({ entries: [{ id: '1', markedAt: at - 1 }], floor: undefined })
    expect(written(await putMark(store(), markOf(viewer, '1', 'NONE', later()))).old).toBe('LIKE')
    expect(written(await putMark(store(), markOf(viewer, '3', 'LIKE', later()))).old).toBe('NONE')
  })

  it('an empty whole fill makes the viewer complete, even after reopening', async () => {
    const viewer = freshViewer()
    await fill(store(), viewer)
    expect(await lookUp(await reopen(), viewer, '1')).toEqual(NOTHING)
    expect(await store().listLikes(viewer, 1, undefined, 10)).toEqual({ entries: [], floor: undefined })
  })

  it('a partial fill makes the viewer truncated, with the oldest row as floor', async () => {
    const viewer = freshViewer()
    const at = later(1_000)
    await fill(store(), viewer, [rowOf('3', 'LIKE', at), rowOf('2', 'DISLIKE', at - 1), rowOf('1', 'LIKE', at - 2)], { whole: false })
    expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'LIKE', counted: 'LIKE', pending: false })
    expect(await lookUp(store(), viewer, '9')).toEqual({ ...NOTHING, older: 'truncated' })
    const page = await store().listLikes(viewer, 1, undefined, 10)
    expect(page.entries.map(({ id }) => id)).toEqual(['3', '1'])
    expect(page.floor).toEqual({ id: '1', markedAt: at - 2 })
    expect(asksForBase(await putMark(store(), markOf(viewer, '9', 'LIKE', later()))).unknown).toBe(false)
  })

  it('a fill changes no held mark: neither a newer nor an undone one', async () => {
    const viewer = freshViewer()
    const at = later(1_000)
    const rows = [rowOf('1', 'LIKE', at), rowOf('2', 'LIKE', at), rowOf('3', 'LIKE', at)]
    const asOf = await beginFill(store(), viewer)
    await putMark(store(), markOf(viewer, '1', 'DISLIKE', at + 1, { base: rowOf('1', 'LIKE', at), baseAsOf: asOf }))
    await putMark(store(), markOf(viewer, '2', 'NONE', at + 1, { base: rowOf('2', 'LIKE', at), baseAsOf: asOf }))
    await store().fillMarks(viewer, 1, rows, { cap: CAP, asOf, whole: true })
    const states = await store().getMarkMany(['1', '2', '3'].map((oid) => keyOf(viewer, oid)))
    expect(states).toEqual([
      { mark: 'DISLIKE', counted: 'LIKE', pending: true },
      { mark: 'NONE', counted: 'LIKE', pending: true, undone: true },
      { mark: 'LIKE', counted: 'LIKE', pending: false },
    ])
    expect(await listedOids(store(), viewer)).toEqual(['3'])
  })

  it('two concurrent fills end as one, and a mark undone between them stays undone', async () => {
    const viewer = freshViewer()
    const at = later(1_000)
    const rows = [rowOf('1', 'LIKE', at), rowOf('2', 'LIKE', at - 1)]
    const [first, second] = [await beginFill(store(), viewer), await beginFill(store(), viewer)]
    await store().fillMarks(viewer, 1, rows, { cap: CAP, asOf: first, whole: true })
    await putMark(store(), markOf(viewer, '1', 'NONE', at + 1))
    await persist(store(), [keyOf(viewer, '1')])
    await store().fillMarks(viewer, 1, rows, { cap: CAP, asOf: second, whole: true })
    await store().fillMarks(viewer, 1, rows, { cap: CAP, asOf: second, whole: true })
    expect(await listedOids(store(), viewer)).toEqual(['2'])
    expect(await lookUp(store(), viewer, '1')).toEqual(UNDONE)
    expect(await lookUp(store(), viewer, '3')).toEqual(NOTHING)
  })

  it('a fill is refused if a row left the hot store after it began, because its rows may be older than that row', async () => {
    const viewer = freshViewer()
    const at = later(1_000)
    const stale = [rowOf('1', 'DISLIKE', at - 5)]
    await putMark(store(), markOf(viewer, '1', 'LIKE', at, { blind: true }))
    const asOf = await beginFill(store(), viewer)
    await persist(store(), [keyOf(viewer, '1')])
    await putMark(store(), markOf(viewer, '2', 'LIKE', at + 1, { blind: true }), 1)
    expect(await lookUp(store(), viewer, '1')).toEqual({ ...NOTHING, older: 'unknown' })
    await store().fillMarks(viewer, 1, stale, { cap: CAP, asOf, whole: true })
    expect(await lookUp(store(), viewer, '1')).toEqual({ ...NOTHING, older: 'unknown' })
    await fill(store(), viewer, [rowOf('1', 'LIKE', at)])
    expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'LIKE', counted: 'LIKE', pending: false })
    expect(await listedOids(store(), viewer)).toEqual(['2', '1'])
  })

  it('a put finds the rows of a fill that was sent before it and is not awaited', async () => {
    const viewer = freshViewerIn(0, regions())
    const at = later(1_000)
    // This fill loads the script into Redis. Otherwise the adapter would have to repeat the next fill, and the put would come first.
    await fill(store(), freshViewerIn(0, regions()))
    const { asOf } = asksForBase(await putMark(store(), markOf(viewer, '1', 'DISLIKE', at)))
    const filled = store().fillMarks(viewer, 1, [rowOf('1', 'LIKE', at - 5)], { cap: CAP, asOf, whole: true })
    expect(written(await putMark(store(), markOf(viewer, '1', 'DISLIKE', at))).old).toBe('LIKE')
    await filled
  })

  it('a fill is refused if a row left without any other write: leaving alone advances the clock', async () => {
    const viewer = freshViewer()
    const at = later(1_000)
    await putMark(store(), markOf(viewer, '1', 'LIKE', at, { blind: true }))
    await putMark(store(), markOf(viewer, '2', 'LIKE', at + 1, { blind: true }))
    const asOf = await beginFill(store(), viewer)
    await persist(store(), [keyOf(viewer, '1')], 1)
    expect(await lookUp(store(), viewer, '1')).toEqual({ ...NOTHING, older: 'unknown' })
    await store().fillMarks(viewer, 1, [rowOf('1', 'DISLIKE', at - 5)], { cap: CAP, asOf, whole: true })
    expect(await lookUp(store(), viewer, '1')).toEqual({ ...NOTHING, older: 'unknown' })
  })

  it('a row that left another viewer, or another business of the viewer, does not block a fill', async () => {
    const [viewer, other] = [freshViewer(), freshViewer()]
    const at = later(1_000)
    await fill(store(), other)
    await fill(store(), viewer, [], { business: 2 })
    const asOf = await beginFill(store(), viewer)
    for (const [who, business] of [
      [other, 1],
      [viewer, 2],
    ] as const) {
      await putMark(store(), markOf(who, '1', 'LIKE', at, { business }))
      await persist(store(), [keyOf(who, '1', business)])
      await putMark(store(), markOf(who, '2', 'LIKE', at + 1, { business }), 1)
      expect((await lookUp(store(), who, '1', business)).older).toBe('truncated')
    }
    await store().fillMarks(viewer, 1, [], { cap: CAP, asOf, whole: true })
    expect(await lookUp(store(), viewer, '1')).toEqual(NOTHING)
  })

  it('with a base the write is compared with it', async () => {
    const viewer = freshViewer()
    const at = later(10_000)
    const base: MarkRecord = { mark: 'LIKE', markedAt: at, version: at * 1_024 + 7 }
    const { asOf } = asksForBase(await putMark(store(), markOf(viewer, '1', 'NONE', at + 1)))
    const based = { base, baseAsOf: asOf }
    expect(await putMark(store(), markOf(viewer, '1', 'NONE', at - 1, based))).toEqual({ status: 'stale', record: base })
    expect(await putMark(store(), markOf(viewer, '1', 'LIKE', at, based))).toEqual({ status: 'stale', record: base })
    expect(await lookUp(store(), viewer, '1')).toEqual({ ...NOTHING, older: 'unknown' })
    const outcome = written(await putMark(store(), markOf(viewer, '1', 'NONE', at, based)))
    expect(outcome).toMatchObject({ old: 'LIKE', record: { mark: 'NONE', markedAt: at } })
    expect(outcome.record.version).toBeGreaterThan(base.version)
    expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'NONE', counted: 'LIKE', pending: true, undone: true })
    const none = written(await putMark(store(), markOf(viewer, '2', 'DISLIKE', at, { base: null, baseAsOf: asOf })))
    expect(none.old).toBe('NONE')
    expect((await lookUp(store(), viewer, '3')).older).toBe('unknown')
  })

  it('a version is above that of the base, even with a base from a faster clock', async () => {
    const viewer = freshViewer()
    const at = later(1_000)
    const base: MarkRecord = { mark: 'LIKE', markedAt: at, version: (at + 3_600_000) * 1_024 }
    const { record } = written(await putMark(store(), markOf(viewer, '1', 'NONE', at, { base })))
    expect(record.version).toBeGreaterThan(base.version)
  })

  it('a base that was read before a row left is requested again', async () => {
    const viewer = freshViewer()
    const at = later(10_000)
    await fill(store(), viewer, [rowOf('old', 'LIKE', at - 100)], { whole: false })
    const { asOf } = asksForBase(await putMark(store(), markOf(viewer, '1', 'LIKE', at)))
    await putMark(store(), markOf(viewer, '1', 'DISLIKE', at + 1, { base: null, baseAsOf: asOf }))
    await putMark(store(), markOf(viewer, '2', 'DISLIKE', at + 2, { base: null, baseAsOf: asOf }))
    await persist(store(), [keyOf(viewer, '1'), keyOf(viewer, '2')], 1)
    expect(await lookUp(store(), viewer, '1')).toEqual({ ...NOTHING, older: 'truncated' })
    const late = markOf(viewer, '1', 'NONE', at + 3)
    const again = asksForBase(await putMark(store(), { ...late, base: null, baseAsOf: asOf }))
    expect(again.asOf).toBeGreaterThan(asOf)
    const base: MarkRecord = { mark: 'DISLIKE', markedAt: at + 1, version: (at + 1) * 1_024 }
    expect(written(await putMark(store(), { ...late, base, baseAsOf: again.asOf })).old).toBe('DISLIKE')
  })

  it('a held mark takes precedence over any given base', async () => {
    const viewer = freshViewer()
    const at = later(1_000)
    await fill(store(), viewer)
    await putMark(store(), markOf(viewer, '1', 'LIKE', at))
    const base: MarkRecord = { mark: 'DISLIKE', markedAt: at - 1, version: 1 }
    expect(written(await putMark(store(), markOf(viewer, '1', 'NONE', at + 1, { base }))).old).toBe('LIKE')
    expect((await lookUp(store(), viewer, '1')).counted).toBe('NONE')
  })

  it('a blind write treats a missing mark as NONE, and the viewer stays unknown', async () => {
    const viewer = freshViewer()
    const at = later(1_000)
    expect(written(await putMark(store(), markOf(viewer, '1', 'LIKE', at, { blind: true }))).old).toBe('NONE')
    expect(await lookUp(store(), viewer, '1')).toEqual({ mark: 'LIKE', counted: 'NONE', pending: true })
    expect((await lookUp(store(), viewer, '2')).older).toBe('unknown')
    expect(await store().listLikes(viewer, 1, undefined, 10)).toEqual({ entries: [{ id: '1', markedAt: at }], floor: null })
    expect(written(await putMark(store(), markOf(viewer, '1', 'NONE', at + 1, { blind: true }))).old).toBe('LIKE')
    expect((await putMark(store(), markOf(viewer, '1', 'LIKE', at, { blind: true }))).status).toBe('stale')
    expect(asksForBase(await putMark(store(), markOf(viewer, '2', 'LIKE', at + 1))).unknown).toBe(true)
  })

  it('in one call each write is judged separately: known, unknown, based and blind ones', async () => {
    const [known, unknown] = [freshViewer(), freshViewer()]
    await fill(store(), known)
    const now = later(1_000)
    const outcomes = await store().putMarks(
      [
        markOf(unknown, '1', 'LIKE', now),
        markOf(known, '1', 'LIKE', now),
        markOf(unknown, '2', 'LIKE', now, { base: null }),
        markOf(unknown, '1', 'DISLIKE', now, { blind: true }),
        markOf(unknown, '1', 'NONE', now + 1),
      ],
      { now, cap: CAP },
    )
    expect(outcomes.map(({ status }) => status)).toEqual(['needs-base', 'written', 'written', 'written', 'written'])
    expect(written(outcomes[4]).old).toBe('DISLIKE')
  })
}
