/** Mark store contract: pages of the likes of a viewer. */
import { expect, it } from 'vitest'
import type { MarkEntry } from '../../../core/domain.ts'
import { CAP, fill, listedOids, markOf, persist, putMark } from './marks.ts'
import { freshNamedViewer, freshViewer, keyOf, later, numbered } from '../reports.ts'
import type { MarkStoreSubject } from './hot-store-subject.ts'
import { compareMarkPlaces } from '../../../subgraphs/thumbup/model/places.ts'

export function likesContract({ store }: MarkStoreSubject): void {
  const pagesOf = async (viewer: string, limit: number): Promise<MarkEntry[][]> => {
    const pages: MarkEntry[][] = []
    for (let before: MarkEntry | undefined; ; before = pages.at(-1)?.at(-1)) {
      const { entries } = await store().listLikes(viewer, 1, before, limit)
      if (entries.length === 0) return pages
      pages.push(entries)
    }
  }

  it('likes are listed newest first, with unpersisted ones, and without dislikes and undone ones', async () => {
    const viewer = freshNamedViewer()
    await fill(store(), viewer)
    const at = later(1_000)
    for (const [index, oid] of numbered(5).entries()) await putMark(store(), markOf(viewer, oid, 'LIKE', at + index))
    await persist(store(), [keyOf(viewer, '1'), keyOf(viewer, '4')])
    await putMark(store(), markOf(viewer, '2', 'DISLIKE', at + 10))
    await putMark(store(), markOf(viewer, '4', 'NONE', at + 11))
    await putMark(store(), markOf(viewer, '1', 'LIKE', at + 12))
    expect((await store().listLikes(viewer, 1, undefined, 10)).entries).toEqual([
      { id: '1', markedAt: at + 12 },
      { id: '5', markedAt: at + 4 },
      { id: '3', markedAt: at + 2 },
    ])
  })

  it('likes of the same time have the order of their packed ids, and pages of any size join without gaps or duplicates', async () => {
    const viewer = freshViewer()
    await fill(store(), viewer)
    const at = later(1_000)
    const oids = ['10', '9', 'b', 'ab', '2', 'é', '100', 'B', '007', '9223372036854775808', '9223372036854775807', '0']
    const likes = oids.flatMap((oid) => [
      { id: oid, markedAt: at },
      { id: `${oid}+`, markedAt: at + (oid.length % 2) },
    ])
    const writes = likes.map(({ id, markedAt }) => markOf(viewer, id, 'LIKE', markedAt))
    await store().putMarks(writes, { now: at, cap: CAP })
    await persist(
      store(),
      likes.slice(0, 9).map(({ id }) => keyOf(viewer, id)),
    )
    const expected = likes.toSorted(compareMarkPlaces)
    for (const limit of [1, 2, 3, 5, 7, 23, 24, 100]) {
      const pages = await pagesOf(viewer, limit)
      expect(pages.flat(), `pages of ${limit}`).toEqual(expected)
      expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true)
    }
  })

  it('a place without a like lists the likes after it', async () => {
    const viewer = freshViewer()
    await fill(store(), viewer)
    const at = later(1_000)
    const writes = ['2', '4', 'b'].map((oid) => markOf(viewer, oid, 'LIKE', at))
    await store().putMarks([...writes, markOf(viewer, '1', 'LIKE', at - 5), markOf(viewer, '9', 'LIKE', at + 5)], { now: at, cap: CAP })
    const after = async (id: string, markedAt: number) =>
      (await store().listLikes(viewer, 1, { id, markedAt }, 10)).entries.map((entry) => entry.id)
    expect(await after('3', at)).toEqual(['4', 'b', '1'])
    expect(await after('a', at)).toEqual(['b', '1'])
    expect(await after('zz', at)).toEqual(['1'])
    expect(await after('0', at + 1)).toEqual(['2', '4', 'b', '1'])
    expect(await after('0', Number.MAX_SAFE_INTEGER)).toEqual(['9', '2', '4', 'b', '1'])
    expect(await after('zz', 0)).toEqual([])
  })

  it('pages have no gaps or repetitions while likes before them come and go', async () => {
    const viewer = freshViewer()
    await fill(store(), viewer)
    const at = later(1_000)
    const writes = numbered(9).map((oid, index) => markOf(viewer, oid, 'LIKE', at + index))
    await store().putMarks(writes, { now: at, cap: CAP })
    const { entries: first } = await store().listLikes(viewer, 1, undefined, 3)
    await putMark(store(), markOf(viewer, '10', 'LIKE', at + 20))
    await putMark(store(), markOf(viewer, '7', 'NONE', at + 21))
    const { entries: second } = await store().listLikes(viewer, 1, first.at(-1), 3)
    expect([...first, ...second].map(({ id }) => id)).toEqual(['9', '8', '7', '6', '5', '4'])
  })

  it('a page of size zero is empty, and each business has its own list', async () => {
    const viewer = freshViewer()
    await fill(store(), viewer)
    await putMark(store(), markOf(viewer, '1', 'LIKE', later()))
    expect((await store().listLikes(viewer, 1, undefined, 0)).entries).toEqual([])
    expect(await listedOids(store(), viewer, 2)).toEqual([])
  })
}
