/** Contract of the record store of marks: drift, the lists of the reconciler, export and deletion of a business. */
import { expect, it } from 'vitest'
import type { Mark } from '../../../core/domain.ts'
import { compareIds } from '../../../core/keys.ts'
import type { MarkRecords, MarkRow } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { allPages, apply, archiveAll, countedOf, exportAll, freshBusiness, markRow, readScene, repeat } from './mark-rows.ts'
import { later } from '../reports.ts'
import type { MarkRecordsSubject } from './record-store-subject.ts'

const MARKS: readonly Mark[] = ['NONE', 'LIKE', 'DISLIKE']
const VIEWERS = ['2', '10', 'b', 'aa', 'ü']
const OIDS = ['3', '20', 'c', 'zz']

export function tenantsContract({ store, plant }: MarkRecordsSubject): void {
  it('a recount finds planted drift of the given subjects, in both tiers', async () => {
    const business = freshBusiness()
    await populate(store(), business)
    const subjects = OIDS.map((oid) => ({ business, oid }))
    expect(await store().recount(subjects)).toEqual([])
    const [first, second] = [await countedOf(store(), { business, oid: '3' }), await countedOf(store(), { business, oid: 'c' })]
    await plant().counts({ business, oid: '3' }, { likes: first[0] + 1, dislikes: first[1] })
    await plant().counts({ business, oid: 'c' }, { likes: second[0], dislikes: second[1] + 4 })
    const expected = [
      { business, oid: '3', counts: { likes: first[0] + 1, dislikes: first[1] }, rows: { likes: first[0], dislikes: first[1] } },
      { business, oid: 'c', counts: { likes: second[0], dislikes: second[1] + 4 }, rows: { likes: second[0], dislikes: second[1] } },
    ]
    expect((await store().recount(subjects)).toSorted((a, b) => compareIds(a.oid, b.oid))).toMatchObject(expected)
    await archiveAll(store(), later(1_000))
    expect((await store().recount(subjects)).toSorted((a, b) => compareIds(a.oid, b.oid))).toMatchObject(expected)
    expect(await store().recount([{ business, oid: '20' }])).toEqual([])
  })

  it('a recount of owners finds planted drift of the given owners', async () => {
    const business = freshBusiness()
    await populate(store(), business)
    const owners = ['o', 'p'].map((owner) => ({ business, owner }))
    expect(await store().recountOwners(owners)).toEqual([])
    const [sum] = await store().getOwnerSums([{ business, owner: 'o' }])
    await plant().ownerSum({ business, owner: 'o' }, 99)
    expect(await store().recountOwners(owners)).toMatchObject([{ business, owner: 'o', likes: 99, summed: sum?.likes }])
    expect(await store().recountOwners([{ business, owner: 'p' }])).toEqual([])
  })

  it('counted subjects are listed by id with their counts, and only registered ones are not', async () => {
    const business = freshBusiness()
    await populate(store(), business)
    await store().registerSubjects([{ business, oid: 'only-registered', owner: 'nobody’s-darling' }])
    await apply(store(), [markRow(business, '1', 'undone', 'LIKE', later()), markRow(business, '2', 'never', 'NONE', later())])
    await apply(store(), [markRow(business, '1', 'undone', 'NONE', later())])
    for (const limit of [1, 2, 100]) {
      const listed = await allPages<{ oid: string }>(limit, (last) => store().listSubjects(business, last?.oid, limit))
      const expected = [...OIDS, 'undone'].toSorted(compareIds)
      const counts = await store().getCountsMany(expected.map((oid) => ({ business, oid })))
      expect(listed).toEqual(expected.map((oid, at) => ({ business, oid, counts: counts[at] })))
    }
    expect((await store().listSubjects(business, 'c', 10)).map(({ oid }) => oid)).toEqual(['zz', 'undone'])
    expect((await store().listSubjects(business, '4', 2)).map(({ oid }) => oid)).toEqual(['20', 'c'])
  })

  it('marked subjects are listed by id, regardless of counts, in both tiers and in pages of any size', async () => {
    const business = freshBusiness()
    await populate(store(), business)
    await populate(store(), freshBusiness())
    const listed = async (limit: number) => {
      const found: string[] = []
      for (let page = await store().listMarkedSubjects(business, undefined, limit); page.length > 0;) {
        found.push(...page)
        page = await store().listMarkedSubjects(business, page.at(-1), limit)
      }
      return found
    }
    for (const limit of [1, 2, 100]) expect(await listed(limit)).toEqual(OIDS.toSorted(compareIds))
    await archiveAll(store(), later(1_000))
    await apply(store(), [markRow(business, '1', 'recent', 'LIKE', later()), markRow(business, '1', '0', 'DISLIKE', later())])
    for (const limit of [1, 2, 100]) expect(await listed(limit)).toEqual([...OIDS, 'recent', '0'].toSorted(compareIds))
    expect(await store().listMarkedSubjects(business, 'zz', 9)).toEqual(['recent'])
  })

  it('owners with received likes are listed by id, with their sums', async () => {
    const business = freshBusiness()
    await populate(store(), business)
    await store().registerSubjects([{ business, oid: 'only-registered', owner: 'nobody’s-darling' }])
    const listed = await allPages<{ owner: string }>(1, (last) => store().listOwners(business, last?.owner, 1))
    expect(listed).toEqual(await store().getOwnerSums(['o', 'p'].map((owner) => ({ business, owner }))))
  })

  it('an export has every live mark of the business once, by viewer and oid, in pages of any size', async () => {
    const business = freshBusiness()
    const rows = await populate(store(), business)
    const live = rows.filter(({ record }) => record.mark !== 'NONE')
    const expected = live.toSorted((a, b) => compareIds(a.key.viewer, b.key.viewer) || compareIds(a.key.oid, b.key.oid))
    const plain = (exported: readonly MarkRow[]) => exported.map(({ key, record }) => [key, record.mark, record.markedAt])
    for (const limit of [1, 3, 100]) expect(await exportAll(store(), business, limit)).toEqual(expected)
    const middle = later(1_000)
    await archiveAll(store(), Math.floor((rows[0]?.record.markedAt ?? 0) + 10))
    for (const limit of [1, 3, 100]) expect(plain(await exportAll(store(), business, limit))).toEqual(plain(expected))
    await archiveAll(store(), middle)
    for (const limit of [1, 3, 100]) expect(plain(await exportAll(store(), business, limit))).toEqual(plain(expected))
    const absent = { viewer: '10', business, oid: '19' }
    const after = expected.filter(({ key }) => (compareIds(key.viewer, '10') || compareIds(key.oid, '19')) > 0)
    expect(plain(await store().exportMarks(business, absent, 100))).toEqual(plain(after))
  })

  it('deleting a business removes all of it, in bounded steps, and no other', async () => {
    const [gone, next, before] = [freshBusiness(), freshBusiness(), 1 + (freshBusiness() % 900)]
    await repeat(1_000, () => store().deleteBusiness(before, 1_000))
    for (const business of [gone, next, before]) {
      await populate(store(), business)
      await archiveAll(store(), later(1_000))
      await apply(
        store(),
        VIEWERS.map((viewer, at) => markRow(business, viewer, '3', MARKS[at % 3] ?? 'NONE', later())),
      )
    }
    const sceneOf = (business: number) => ({ business, viewers: VIEWERS, oids: OIDS, owners: ['o', 'p'] })
    const kept = [await readScene(store(), sceneOf(next)), await readScene(store(), sceneOf(before))]
    expect(await repeat(3, () => store().deleteBusiness(gone, 3))).toBeGreaterThan(3)
    expect(await store().deleteBusiness(gone, 3)).toBe(0)
    expect([await readScene(store(), sceneOf(next)), await readScene(store(), sceneOf(before))]).toEqual(kept)
    const empty = freshBusiness()
    expect(JSON.stringify(await readScene(store(), sceneOf(gone)))).toBe(
      JSON.stringify(await readScene(store(), sceneOf(empty))).replaceAll(`"business":${empty}`, `"business":${gone}`),
    )
    await archiveAll(store(), later(1_000))
    expect(await exportAll(store(), gone)).toEqual([])
    await repeat(1_000, () => store().deleteBusiness(before, 1_000))
  })

  it('registrations are listed by oid, even of subjects without likes, in pages of any size', async () => {
    const business = freshBusiness()
    await populate(store(), business)
    await store().registerSubjects([
      { business, oid: 'only-registered', owner: 'o' },
      { business, oid: '3', owner: 'q' },
      { business: freshBusiness(), oid: '3', owner: 'other' },
    ])
    const expected = [
      { business, oid: '3', owner: 'q' },
      { business, oid: 'c', owner: 'o' },
      { business, oid: 'only-registered', owner: 'o' },
      { business, oid: 'zz', owner: 'p' },
    ].toSorted((a, b) => compareIds(a.oid, b.oid))
    for (const limit of [1, 3, 100])
      expect(await allPages<{ oid: string }>(limit, (last) => store().listRegistrations(business, last?.oid, limit))).toEqual(expected)
  })

  it('the leftovers of a business are measured in both tiers until its deletion is complete', async () => {
    const [business, other] = [freshBusiness(), freshBusiness()]
    await populate(store(), other)
    const nothing = { rows: 0, blocks: 0, subjects: 0, owners: 0 }
    expect(await store().measureBusiness(business)).toEqual(nothing)
    await populate(store(), business)
    await store().registerSubjects([{ business, oid: 'only-registered', owner: 'o' }])
    expect(await store().measureBusiness(business)).toEqual({
      rows: VIEWERS.length * OIDS.length + 1,
      blocks: 0,
      subjects: OIDS.length + 1,
      owners: 2,
    })
    await archiveAll(store(), later(1_000))
    const archived = await store().measureBusiness(business)
    expect(archived.blocks).toBeGreaterThan(0)
    const kept = await store().measureBusiness(other)
    await repeat(100, () => store().deleteBusiness(business, 3))
    expect(await store().measureBusiness(business)).toEqual(nothing)
    expect(await store().measureBusiness(other)).toEqual(kept)
  })

  it('a deleted business may begin again', async () => {
    const business = freshBusiness()
    await populate(store(), business)
    await repeat(100, () => store().deleteBusiness(business, 100))
    const { changes } = await apply(store(), [markRow(business, '2', '3', 'LIKE', later())])
    expect(changes?.transitions).toHaveLength(1)
    expect(changes?.owners).toEqual([])
    expect(await countedOf(store(), { business, oid: '3' })).toEqual([1, 0])
    expect(await store().recount([{ business, oid: '3' }])).toEqual([])
    expect(await store().recountOwners([{ business, owner: 'o' }])).toEqual([])
  })
}

/** Marks of all kinds by VIEWERS of OIDS, some of them owned by "o" and "p". Returns the rows. */
async function populate(store: MarkRecords, business: number): Promise<MarkRow[]> {
  await store.registerSubjects([
    { business, oid: '3', owner: 'o' },
    { business, oid: 'c', owner: 'o' },
    { business, oid: 'zz', owner: 'p' },
  ])
  const base = later(1_000)
  const rows = VIEWERS.flatMap((viewer, v) =>
    OIDS.map((oid, o) => markRow(business, viewer, oid, MARKS[(v + o) % 3] ?? 'NONE', base + v * OIDS.length + o)),
  )
  await apply(store, rows)
  const more = markRow(business, '1', 'zz', 'LIKE', base)
  await apply(store, [more])
  return [...rows, more]
}
