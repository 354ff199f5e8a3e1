/** Mark store contract: the cap on likes and on dislikes, and the floor. */
import { expect, it } from 'vitest'
import { NOTHING, asksForBase, fill, likeClean, listedOids, lookUp, markOf, persist, putMark } from './marks.ts'
import { freshViewer, keyOf, later, numbered } from '../reports.ts'
import type { MarkStoreSubject } from './hot-store-subject.ts'

const cap = 3

export function marksTrimmingContract({ store, reopen }: MarkStoreSubject): void {
  async function completeViewer(): Promise<string> {
    const viewer = freshViewer()
    await fill(store(), viewer)
    return viewer
  }

  it('marks up to the cap stay; one more drops the oldest clean one, and the viewer is truncated', async () => {
    const viewer = await completeViewer()
    const records = await likeClean(store(), viewer, numbered(3), cap)
    expect((await store().listLikes(viewer, 1, undefined, 10)).floor).toBeUndefined()
    await putMark(store(), markOf(viewer, '4', 'LIKE', later()), cap)
    const page = await (await reopen()).listLikes(viewer, 1, undefined, 10)
    expect(page.entries.map(({ id }) => id)).toEqual(['4', '3', '2'])
    expect(page.floor).toEqual({ id: '1', markedAt: records[0]?.markedAt })
    expect(await lookUp(store(), viewer, '1')).toEqual({ ...NOTHING, older: 'truncated' })
    expect(await store().readDirtyMarks([keyOf(viewer, '1')])).toEqual([{ key: keyOf(viewer, '1'), record: undefined }])
  })

  it('trimming stops at a dirty mark, and continues when it is persisted', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    for (const [index, oid] of numbered(6).entries()) await putMark(store(), markOf(viewer, oid, 'LIKE', at + index), cap)
    expect(await listedOids(store(), viewer)).toHaveLength(6)
    await persist(
      store(),
      ['2', '3', '4', '5', '6'].map((oid) => keyOf(viewer, oid)),
      cap,
    )
    expect(await listedOids(store(), viewer)).toHaveLength(6)
    expect((await store().listLikes(viewer, 1, undefined, 10)).floor).toBeUndefined()
    await persist(store(), [keyOf(viewer, '1')], cap)
    const page = await store().listLikes(viewer, 1, undefined, 10)
    expect(page.entries.map(({ id }) => id)).toEqual(['6', '5', '4'])
    expect(page.floor).toEqual({ id: '3', markedAt: at + 2 })
  })

  it('likes and dislikes have separate caps', async () => {
    const viewer = await completeViewer()
    await likeClean(store(), viewer, numbered(3), cap)
    for (const oid of numbered(4, 10)) {
      await putMark(store(), markOf(viewer, oid, 'DISLIKE', later()), cap)
      await persist(store(), [keyOf(viewer, oid)], cap)
    }
    expect(await listedOids(store(), viewer)).toEqual(['3', '2', '1'])
    const states = await store().getMarkMany(numbered(4, 10).map((oid) => keyOf(viewer, oid)))
    expect(states.map(({ mark, older }) => older ?? mark)).toEqual(['truncated', 'DISLIKE', 'DISLIKE', 'DISLIKE'])
    expect((await store().listLikes(viewer, 1, undefined, 10)).floor).toBeDefined()
  })

  it('marks of the same time leave in list order, the last id first', async () => {
    const viewer = await completeViewer()
    const at = later(1_000)
    const oids = ['10', '9', 'b', 'ab', '2']
    const writes = oids.map((oid) => markOf(viewer, oid, 'LIKE', at))
    await store().putMarks(writes, { now: at, cap })
    await persist(
      store(),
      oids.map((oid) => keyOf(viewer, oid)),
      cap,
    )
    const page = await store().listLikes(viewer, 1, undefined, 10)
    expect(page.entries.map(({ id }) => id)).toEqual(['2', '9', '10'])
    expect(page.floor).toEqual({ id: 'b', markedAt: at })
  })

  it('the floor only rises: a late like below it is listed while it waits, and leaves without moving it', async () => {
    const viewer = await completeViewer()
    const [, second] = await likeClean(store(), viewer, numbered(5), cap)
    const floor = { id: '2', markedAt: second?.markedAt ?? 0 }
    const late = markOf(viewer, 'late', 'LIKE', floor.markedAt - 500)
    const { asOf } = asksForBase(await putMark(store(), late, cap))
    await putMark(store(), { ...late, base: null, baseAsOf: asOf }, cap)
    const page = await store().listLikes(viewer, 1, undefined, 10)
    expect(page.entries.map(({ id }) => id)).toEqual(['5', '4', '3', 'late'])
    expect(page.floor).toEqual(floor)
    await persist(store(), [keyOf(viewer, 'late')], cap)
    const after = await store().listLikes(viewer, 1, undefined, 10)
    expect(after.entries.map(({ id }) => id)).toEqual(['5', '4', '3'])
    expect(after.floor).toEqual(floor)
  })

  it('undoing a like makes room', async () => {
    const viewer = await completeViewer()
    await likeClean(store(), viewer, numbered(3), cap)
    await putMark(store(), markOf(viewer, '2', 'NONE', later()), cap)
    await putMark(store(), markOf(viewer, '4', 'LIKE', later()), cap)
    expect((await store().listLikes(viewer, 1, undefined, 10)).floor).toBeUndefined()
    expect(await listedOids(store(), viewer)).toEqual(['4', '3', '1'])
  })

  it('a fill beyond the cap keeps the newest of each kind', async () => {
    const viewer = freshViewer()
    const at = later(1_000)
    const rows = numbered(5).map((oid, index) => ({ oid, mark: 'LIKE' as const, markedAt: at - index, version: at - index }))
    await fill(store(), viewer, rows, { cap, whole: true })
    const page = await store().listLikes(viewer, 1, undefined, 10)
    expect(page.entries.map(({ id }) => id)).toEqual(['1', '2', '3'])
    expect(page.floor).toEqual({ id: '4', markedAt: at - 3 })
    expect((await lookUp(store(), viewer, '5')).older).toBe('truncated')
  })

  it('an unknown viewer is trimmed too, and stays unknown', async () => {
    const viewer = freshViewer()
    const at = later(1_000)
    for (const [index, oid] of numbered(5).entries()) await putMark(store(), markOf(viewer, oid, 'LIKE', at + index, { blind: true }), cap)
    await persist(
      store(),
      numbered(5).map((oid) => keyOf(viewer, oid)),
      cap,
    )
    const page = await store().listLikes(viewer, 1, undefined, 10)
    expect(page).toEqual({ entries: ['5', '4', '3'].map((id) => ({ id, markedAt: at + Number(id) - 1 })), floor: null })
    expect((await lookUp(store(), viewer, '1')).older).toBe('unknown')
  })
}
