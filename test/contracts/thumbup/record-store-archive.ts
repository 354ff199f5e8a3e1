/** Contract of the record store of marks: archiving, which no read shows, and the removal of tombstones. */
import { expect, it } from 'vitest'
import type { Mark } from '../../../core/domain.ts'
import {
  apply,
  archiveAll,
  countedOf,
  exportAll,
  freshBusiness,
  likedOids,
  likersOf,
  markRow,
  purgeAllUndone,
  readScene,
  recordOf,
  transitionsOf,
  withoutVersions,
} from './mark-rows.ts'
import { later, numbered } from '../reports.ts'
import type { MarkRecordsSubject } from './record-store-subject.ts'

const MARKS: readonly Mark[] = ['NONE', 'LIKE', 'DISLIKE']

export function archiveContract({ store, reopen }: MarkRecordsSubject): void {
  it('archiving changes no read except versions of marks', async () => {
    const business = freshBusiness()
    const scene = { business, viewers: ['1', '2', 'ü', '300'], oids: ['a', 'b', '7', '8'], owners: ['o', 'p'] }
    const base = later(1_000)
    await store().registerSubjects(scene.oids.map((oid, at) => ({ business, oid, owner: at < 3 ? 'o' : 'p' })))
    const rows = scene.viewers.flatMap((viewer, v) =>
      scene.oids.map((oid, o) => markRow(business, viewer, oid, MARKS[(v + 2 * o) % 3] ?? 'NONE', base - ((v * 5 + o) % 6))),
    )
    await apply(store(), rows)
    const before = withoutVersions('mark versions', await readScene(store(), scene))
    expect(await archiveAll(store(), base - 3)).toBeGreaterThan(0)
    expect(withoutVersions('mark versions', await readScene(store(), scene))).toEqual(before)
    expect(await archiveAll(store(), base + 1, 2)).toBeGreaterThan(0)
    expect(withoutVersions('mark versions', await readScene(store(), scene))).toEqual(before)
    expect(await archiveAll(store(), base + 1)).toBe(0)
    await reopen()
    expect(withoutVersions('mark versions', await readScene(store(), scene))).toEqual(before)
  })

  it('a mark at the bound or later stays, and an archived mark has version 0', async () => {
    const business = freshBusiness()
    const now = later(1_000)
    const rows = [markRow(business, '1', 'a', 'LIKE', now - 1), markRow(business, '1', 'b', 'LIKE', now)]
    await apply(store(), rows)
    await archiveAll(store(), now)
    expect(await store().getMarkMany(rows.map(({ key }) => key))).toEqual([
      { mark: 'LIKE', markedAt: now - 1, version: 0 },
      rows[1]?.record,
    ])
  })

  for (const archived of ['LIKE', 'DISLIKE'] as const) {
    for (const mark of MARKS) {
      it(`a ${mark} over an archived ${archived} is exact, and stays exact when it is archived again`, async () => {
        const business = freshBusiness()
        const subject = { business, oid: 'a' }
        const scene = { business, viewers: ['1', '2'], oids: ['a'], owners: ['o'] }
        const base = later(1_000)
        await store().registerSubjects([{ ...subject, owner: 'o' }])
        await apply(store(), [markRow(business, '1', 'a', archived, base), markRow(business, '2', 'a', 'LIKE', base)])
        await archiveAll(store(), base + 1)
        const row = markRow(business, '1', 'a', mark, base + 10)
        const applied = await apply(store(), [row])
        expect(applied.stored).toEqual([row.record])
        expect(transitionsOf(applied)).toEqual(mark === archived ? [] : [`1 a ${archived}→${mark}`])
        expect(await recordOf(store(), row.key)).toEqual(row.record)
        const likes = mark === 'LIKE' ? 2 : 1
        expect(await countedOf(store(), subject)).toEqual([likes, Number(mark === 'DISLIKE')])
        expect(await store().recount([subject])).toEqual([])
        expect(await store().getOwnerSums([{ business, owner: 'o' }])).toMatchObject([{ likes }])
        expect(await likersOf(store(), subject)).toEqual(mark === 'LIKE' ? ['1', '2'] : ['2'])
        expect(await likedOids(store(), '1', business)).toEqual(mark === 'LIKE' ? ['a'] : [])
        expect(await likedOids(store(), '1', business, ['DISLIKE'])).toEqual(mark === 'DISLIKE' ? ['a'] : [])
        expect(await exportAll(store(), business)).toHaveLength(mark === 'NONE' ? 1 : 2)
        const before = withoutVersions('mark versions', await readScene(store(), scene))
        expect(await archiveAll(store(), base + 11)).toBe(1)
        expect(withoutVersions('mark versions', await readScene(store(), scene))).toEqual(before)
      })
    }
  }

  it('an older row loses to an archived mark, and a row of the same time wins', async () => {
    const business = freshBusiness()
    const base = later(1_000)
    await apply(store(), [markRow(business, '1', 'a', 'LIKE', base), markRow(business, '1', 'b', 'LIKE', base)])
    await archiveAll(store(), base + 1)
    const late = markRow(business, '1', 'a', 'NONE', base - 1)
    expect(await apply(store(), [late])).toEqual({ stored: [{ mark: 'LIKE', markedAt: base, version: 0 }], changes: undefined })
    const equal = markRow(business, '1', 'b', 'DISLIKE', base)
    expect(transitionsOf(await apply(store(), [equal]))).toEqual(['1 b LIKE→DISLIKE'])
    expect(await countedOf(store(), { business, oid: 'a' })).toEqual([1, 0])
    expect(await countedOf(store(), { business, oid: 'b' })).toEqual([0, 1])
  })

  it('an archived mark may be undone and given again repeatedly, archived in between, with exact counts', async () => {
    const business = freshBusiness()
    const subject = { business, oid: 'a' }
    const others = numbered(30, 100)
    await apply(
      store(),
      others.map((viewer) => markRow(business, viewer, 'a', 'LIKE', later())),
    )
    for (const mark of ['LIKE', 'NONE', 'LIKE', 'DISLIKE', 'NONE', 'NONE', 'DISLIKE', 'LIKE'] as const) {
      const at = later(10)
      await apply(store(), [markRow(business, '1', 'a', mark, at)])
      for (const archive of [false, true]) {
        if (archive) await archiveAll(store(), at + 1)
        expect(await countedOf(store(), subject)).toEqual([30 + Number(mark === 'LIKE'), Number(mark === 'DISLIKE')])
        expect(await store().recount([subject])).toEqual([])
        expect(await likersOf(store(), subject)).toHaveLength(30 + Number(mark === 'LIKE'))
        expect(await recordOf(store(), { viewer: '1', business, oid: 'a' })).toMatchObject({ mark, markedAt: at })
      }
    }
  })

  it('thousands of marks of one subject and of one viewer are archived in steps, and read as before', async () => {
    const business = freshBusiness()
    const base = later(10_000)
    const rows = numbered(2_500).flatMap((number) => [
      markRow(business, number, 'hot', 'LIKE', base - (Number(number) % 900)),
      markRow(business, 'fan', number, Number(number) % 10 === 0 ? 'DISLIKE' : 'LIKE', base - (Number(number) % 700)),
    ])
    await apply(store(), rows)
    const scene = { business, viewers: ['fan', '17'], oids: ['hot', '17'], owners: [] }
    const before = withoutVersions('mark versions', await readScene(store(), scene, 400))
    const old = rows.filter(({ record }) => record.markedAt < base - 400).length
    expect(await archiveAll(store(), base - 400, 300)).toBeGreaterThanOrEqual(old)
    expect(withoutVersions('mark versions', await readScene(store(), scene, 400))).toEqual(before)
    await archiveAll(store(), base + 1, 1_000)
    expect(withoutVersions('mark versions', await readScene(store(), scene, 400))).toEqual(before)
    await apply(
      store(),
      numbered(50).map((number) => markRow(business, String(Number(number) * 40), 'hot', 'NONE', base + 1)),
    )
    expect(await countedOf(store(), { business, oid: 'hot' })).toEqual([2_450, 0])
    expect(await store().recount([{ business, oid: 'hot' }])).toEqual([])
    await archiveAll(store(), base + 2)
    expect(await store().listLikers({ business, oid: 'hot' }, undefined, 5_000)).toHaveLength(2_450)
    expect(await store().recount([{ business, oid: 'hot' }])).toEqual([])
  })

  it('archiving during writes loses and duplicates no mark', async () => {
    const business = freshBusiness()
    const subjects = numbered(4).map((oid) => ({ business, oid }))
    const viewers = numbered(30)
    const base = later(1_000)
    await apply(
      store(),
      viewers.flatMap((viewer) => subjects.map(({ oid }) => markRow(business, viewer, oid, 'LIKE', base))),
    )
    const writing = numbered(10).map((round) =>
      store().applyMarks(
        viewers
          .filter((viewer) => (Number(viewer) + Number(round)) % 3 === 0)
          .flatMap((viewer) =>
            subjects.map(({ oid }) => markRow(business, viewer, oid, MARKS[Number(round) % 3] ?? 'NONE', base + Number(round))),
          ),
        [],
      ),
    )
    const archiving = numbered(10).map((round) => store().archiveMarks(base + Number(round), 50))
    const purging = numbered(5).map((round) => store().purgeUndone(base - 5_000 + Number(round), 50))
    await Promise.all([...writing, ...archiving, ...purging])
    expect(await store().recount(subjects)).toEqual([])
    await archiveAll(store(), base + 100)
    expect(await store().recount(subjects)).toEqual([])
    const records = await store().getMarkMany(viewers.flatMap((viewer) => subjects.map((subject) => ({ viewer, ...subject }))))
    const counts = await store().getCountsMany(subjects)
    expect(counts.reduce((sum, { likes }) => sum + likes, 0)).toBe(records.filter((record) => record?.mark === 'LIKE').length)
  })

  it('tombstones undone before the bound are removed, in bounded steps, and nothing else', async () => {
    const business = freshBusiness()
    const base = later(1_000)
    await purgeAllUndone(store(), base)
    const undone = numbered(9).map((oid) => markRow(business, '1', oid, 'NONE', base))
    const kept = [
      markRow(business, '1', 'at-the-bound', 'NONE', base + 1),
      markRow(business, '1', 'liked', 'LIKE', base),
      markRow(business, '1', 'disliked', 'DISLIKE', base),
    ]
    await apply(store(), [...undone, ...kept])
    expect(await purgeAllUndone(store(), base + 1, 4)).toBe(9)
    expect(await store().getMarkMany(undone.map(({ key }) => key))).toEqual(undone.map(() => undefined))
    expect(await store().getMarkMany(kept.map(({ key }) => key))).toEqual(kept.map(({ record }) => record))
    expect(await likedOids(store(), '1', business, ['NONE'])).toEqual(['at-the-bound'])
  })

  it('purging never uncovers an archived mark; once the mark is out of its block, the tombstone is removed', async () => {
    const business = freshBusiness()
    const subject = { business, oid: 'a' }
    const base = later(1_000)
    await apply(store(), [markRow(business, '1', 'a', 'LIKE', base)])
    await archiveAll(store(), base + 1)
    const undone = markRow(business, '1', 'a', 'NONE', base + 1)
    await apply(store(), [undone])
    await purgeAllUndone(store(), base + 2)
    expect(await recordOf(store(), undone.key)).toEqual(undone.record)
    expect(await likersOf(store(), subject)).toEqual([])
    expect(await countedOf(store(), subject)).toEqual([0, 0])
    expect(await archiveAll(store(), base + 2)).toBe(1)
    expect(await recordOf(store(), undone.key)).toEqual(undone.record)
    expect(await purgeAllUndone(store(), base + 2)).toBe(1)
    expect(await recordOf(store(), undone.key)).toBeUndefined()
    expect(await store().recount([subject])).toEqual([])
    expect(transitionsOf(await apply(store(), [markRow(business, '1', 'a', 'LIKE', base + 5)]))).toEqual(['1 a NONE→LIKE'])
    expect(await countedOf(store(), subject)).toEqual([1, 0])
  })

  it('a row that was overwritten several times still covers its archived mark', async () => {
    const business = freshBusiness()
    const subject = { business, oid: 'a' }
    const base = later(1_000)
    const scene = { business, viewers: ['1', '2', '3'], oids: ['a'], owners: [] }
    await apply(
      store(),
      scene.viewers.map((viewer) => markRow(business, viewer, 'a', 'LIKE', base)),
    )
    await archiveAll(store(), base + 1)
    for (const [at, marks] of [
      ['NONE', 'DISLIKE', 'NONE'],
      ['DISLIKE', 'LIKE', 'NONE'],
      ['NONE', 'LIKE', 'NONE'],
    ].entries()) {
      const rows = marks.map((mark, v) => markRow(business, String(v + 1), 'a', mark as Mark, base + 10 + at))
      await apply(store(), rows)
    }
    expect(await countedOf(store(), subject)).toEqual([1, 0])
    const before = withoutVersions('mark versions', await readScene(store(), scene))
    await purgeAllUndone(store(), base + 13, 1)
    expect(withoutVersions('mark versions', await readScene(store(), scene))).toEqual(before)
    expect(await archiveAll(store(), base + 13)).toBe(3)
    expect(withoutVersions('mark versions', await readScene(store(), scene))).toEqual(before)
    expect(await purgeAllUndone(store(), base + 13)).toBe(2)
    expect(await likersOf(store(), subject)).toEqual(['2'])
    expect(await store().recount([subject])).toEqual([])
  })

  it('archived marks of two businesses with equal ids are separate', async () => {
    const [one, two] = [freshBusiness(), freshBusiness()]
    const base = later(1_000)
    await apply(store(), [markRow(one, '1', 'a', 'LIKE', base), markRow(two, '1', 'a', 'DISLIKE', base)])
    await archiveAll(store(), base + 1)
    await apply(store(), [markRow(one, '1', 'a', 'NONE', base + 1)])
    await archiveAll(store(), base + 2)
    expect(await countedOf(store(), { business: one, oid: 'a' })).toEqual([0, 0])
    expect(await recordOf(store(), { viewer: '1', business: two, oid: 'a' })).toEqual({ mark: 'DISLIKE', markedAt: base, version: 0 })
    expect(await store().recount([one, two].map((business) => ({ business, oid: 'a' })))).toEqual([])
  })

  it('live marks and their size are measured in both tiers', async () => {
    const business = freshBusiness()
    const base = later(1_000)
    await archiveAll(store(), base)
    const before = await store().measureMarks()
    await apply(store(), [
      ...numbered(200).map((viewer) => markRow(business, viewer, 'a', 'LIKE', base)),
      markRow(business, '1', 'b', 'NONE', base),
    ])
    const after = await store().measureMarks()
    expect([after.recent - before.recent, after.archived - before.archived]).toEqual([200, 0])
    expect(after.recentBytes).toBeGreaterThan(0)
    await archiveAll(store(), base + 1)
    const archived = await store().measureMarks()
    expect([archived.recent - before.recent, archived.archived - before.archived]).toEqual([0, 200])
    expect(archived.archivedBytes).toBeGreaterThan(0)
    await apply(store(), [markRow(business, '1', 'a', 'NONE', base + 2), markRow(business, '2', 'a', 'DISLIKE', base + 2)])
    const undone = await store().measureMarks()
    expect([undone.recent - before.recent, undone.archived - before.archived]).toEqual([1, 198])
  })
}
