/** Contract of the record store of marks: rows, transitions and counts, in one transaction. */
import { expect, it } from 'vitest'
import type { Mark } from '../../../core/domain.ts'
import { apply, countedOf, countsOf, freshBusiness, likersOf, markRow, recordOf, transitionsOf } from './mark-rows.ts'
import { later, numbered } from '../reports.ts'
import type { MarkRecordsSubject } from './record-store-subject.ts'

const MARKS: readonly Mark[] = ['NONE', 'LIKE', 'DISLIKE']

export function applyingContract({ store, reopen }: MarkRecordsSubject): void {
  it('rows are read back with all their fields, in key order, misses in their place', async () => {
    const business = freshBusiness()
    const now = later()
    const rows = [
      markRow(business, '1', '1', 'LIKE', now),
      markRow(65_535, `ü-${business}`, '9223372036854775807', 'DISLIKE', 0, 0),
      markRow(business, 'x'.repeat(64), '漢'.repeat(21), 'NONE', now, 2 ** 53 - 1),
      markRow(business, '1', '01', 'DISLIKE', now + 5),
    ]
    const { stored } = await apply(store(), rows)
    expect(stored).toEqual(rows.map(({ record }) => record))
    const miss = { viewer: '01', business, oid: '1' }
    const asked = [rows[2], rows[0], rows[3], rows[1], rows[0]].flatMap((row) => row ?? [])
    expect(await store().getMarkMany([...asked.map(({ key }) => key), miss])).toEqual([...asked.map(({ record }) => record), undefined])
  })

  it('empty calls return nothing', async () => {
    const business = freshBusiness()
    expect(await store().applyMarks([], [])).toEqual({ stored: [], changes: undefined })
    expect(await store().getMarkMany([])).toEqual([])
    expect(await store().getCountsMany([])).toEqual([])
    expect(await store().getOwnerSums([])).toEqual([])
    expect(await store().getOwners([])).toEqual([])
    expect(await store().registerSubjects([])).toEqual([])
    expect(await store().recount([])).toEqual([])
    expect(await store().recountOwners([])).toEqual([])
    expect(await store().listMarks('1', business, [], undefined, 10)).toEqual([])
    expect(await store().listMarks('1', business, ['LIKE'], undefined, 0)).toEqual([])
    expect(await store().listLikers({ business, oid: '1' }, undefined, 0)).toEqual([])
    await store().dropOutbox([])
  })

  it('an unmarked subject has counts of zero and version 0', async () => {
    expect(await countsOf(store(), { business: freshBusiness(), oid: '1' })).toEqual({ likes: 0, dislikes: 0, version: 0 })
  })

  for (const old of MARKS) {
    for (const mark of MARKS) {
      it(`a ${mark} over a ${old} returns its transition and is counted`, async () => {
        const business = freshBusiness()
        const subject = { business, oid: 'a' }
        await apply(store(), [markRow(business, '7', 'a', old, later())])
        const before = await countsOf(store(), subject)
        const row = markRow(business, '7', 'a', mark, later())
        const { stored, changes } = await apply(store(), [row])
        expect(stored).toEqual([row.record])
        expect(await countedOf(store(), subject)).toEqual([Number(mark === 'LIKE'), Number(mark === 'DISLIKE')])
        const after = await countsOf(store(), subject)
        if (old === mark && mark === 'LIKE') {
          expect(changes).toEqual({ number: changes?.number, transitions: [], counts: [{ ...subject, counts: after }], owners: [] })
          expect(after).toEqual({ ...before, version: before.version + 1 })
        } else if (old === mark) {
          expect(changes).toBeUndefined()
          expect(after).toEqual(before)
        } else {
          expect(changes).toEqual({
            number: changes?.number,
            transitions: [{ key: row.key, old, record: row.record }],
            counts: [{ ...subject, counts: after }],
            owners: [],
          })
          expect(after.version).toBeGreaterThan(before.version)
        }
        expect(await store().recount([subject])).toEqual([])
      })
    }
  }

  it('a tombstone without a mark before it is stored, and is not a transition', async () => {
    const business = freshBusiness()
    const row = markRow(business, '7', 'a', 'NONE', later())
    expect(await apply(store(), [row])).toEqual({ stored: [row.record], changes: undefined })
    expect(await recordOf(store(), row.key)).toEqual(row.record)
    expect(await countsOf(store(), { business, oid: 'a' })).toEqual({ likes: 0, dislikes: 0, version: 0 })
  })

  it('an older row returns the stored mark and changes nothing', async () => {
    const business = freshBusiness()
    const now = later(1_000)
    const undone = markRow(business, '7', 'a', 'NONE', now)
    const other = markRow(business, '7', 'b', 'DISLIKE', now)
    await apply(store(), [undone, other])
    const late = [markRow(business, '7', 'a', 'LIKE', now - 1), markRow(business, '7', 'b', 'LIKE', now - 1)]
    expect(await apply(store(), late)).toEqual({ stored: [undone.record, other.record], changes: undefined })
    expect(await countedOf(store(), { business, oid: 'a' })).toEqual([0, 0])
    expect(await countedOf(store(), { business, oid: 'b' })).toEqual([0, 1])
  })

  it('at equal times the higher version wins, in either order', async () => {
    const business = freshBusiness()
    const now = later()
    const low = (oid: string) => markRow(business, '7', oid, 'LIKE', now, 10)
    const high = (oid: string) => markRow(business, '7', oid, 'DISLIKE', now, 11)
    await apply(store(), [low('up'), high('down')])
    await apply(store(), [high('up'), low('down')])
    for (const oid of ['up', 'down']) {
      expect(await recordOf(store(), { viewer: '7', business, oid })).toEqual({ mark: 'DISLIKE', markedAt: now, version: 11 })
      expect(await countedOf(store(), { business, oid })).toEqual([0, 1])
    }
  })

  it('a like repeated at a later time is no transition, but moves in the list of likers, so its counts get a new version', async () => {
    const business = freshBusiness()
    const [first, second] = [later(), later()]
    await apply(store(), [markRow(business, '7', 'a', 'LIKE', first)])
    const again = markRow(business, '7', 'a', 'LIKE', second)
    const { stored, changes } = await apply(store(), [again])
    expect(stored).toEqual([again.record])
    expect(changes).toMatchObject({ transitions: [], counts: [{ oid: 'a', counts: { likes: 1, dislikes: 0, version: 2 } }], owners: [] })
    expect((await apply(store(), [again])).changes).toBeUndefined()
    expect(await store().listLikers({ business, oid: 'a' }, undefined, 10)).toEqual([{ id: '7', markedAt: second }])
    expect(await store().listMarks('7', business, ['LIKE'], undefined, 10)).toEqual([{ oid: 'a', ...again.record }])
    expect(await countedOf(store(), { business, oid: 'a' })).toEqual([1, 0])
  })

  it('a repeated batch has no transitions', async () => {
    const business = freshBusiness()
    const now = later()
    const rows = numbered(500).map((viewer) => markRow(business, viewer, String(Number(viewer) % 7), 'LIKE', now))
    const first = await apply(store(), rows)
    expect(first.changes?.transitions).toHaveLength(500)
    expect(first.changes?.counts).toHaveLength(7)
    expect(await apply(store(), rows.toReversed())).toEqual({ stored: rows.toReversed().map(({ record }) => record), changes: undefined })
    expect(await countedOf(store(), { business, oid: '0' })).toEqual([71, 0])
  })

  it('the transitions of a batch are summed: one change of counts per subject', async () => {
    const business = freshBusiness()
    await apply(store(), [markRow(business, '1', 'a', 'LIKE', later()), markRow(business, '2', 'b', 'LIKE', later())])
    const before = await countsOf(store(), { business, oid: 'a' })
    const applied = await apply(store(), [
      markRow(business, '1', 'a', 'NONE', later()),
      markRow(business, '2', 'a', 'LIKE', later()),
      markRow(business, '3', 'a', 'DISLIKE', later()),
      markRow(business, '4', 'a', 'DISLIKE', later()),
      markRow(business, '2', 'b', 'LIKE', later()),
    ])
    expect(transitionsOf(applied)).toEqual(['1 a LIKE→NONE', '2 a NONE→LIKE', '3 a NONE→DISLIKE', '4 a NONE→DISLIKE'])
    const after = await countsOf(store(), { business, oid: 'a' })
    expect(after).toMatchObject({ likes: 1, dislikes: 2 })
    const again = await countsOf(store(), { business, oid: 'b' })
    expect(applied.changes?.counts.toSorted((a, b) => (a.oid < b.oid ? -1 : 1))).toEqual([
      { business, oid: 'a', counts: after },
      { business, oid: 'b', counts: again },
    ])
    expect(again).toEqual({ likes: 1, dislikes: 0, version: 2 })
    expect(after.version).toBeGreaterThan(before.version)
  })

  it('transitions that add up to zero still give the counts a new version, because the likers have changed', async () => {
    const business = freshBusiness()
    const subject = { business, oid: 'a' }
    await apply(store(), [markRow(business, '1', 'a', 'LIKE', later())])
    const before = await countsOf(store(), subject)
    const { changes } = await apply(store(), [markRow(business, '1', 'a', 'NONE', later()), markRow(business, '2', 'a', 'LIKE', later())])
    const after = await countsOf(store(), subject)
    expect(after).toEqual({ likes: 1, dislikes: 0, version: after.version })
    expect(after.version).toBeGreaterThan(before.version)
    expect(changes?.counts).toEqual([{ ...subject, counts: after }])
    expect(await likersOf(store(), subject)).toEqual(['2'])
  })

  it('equal ids of two businesses are two keys and two subjects', async () => {
    const [one, two] = [freshBusiness(), freshBusiness()]
    const now = later()
    const { changes } = await apply(store(), [markRow(one, '7', 'a', 'LIKE', now), markRow(two, '7', 'a', 'DISLIKE', now)])
    expect(changes?.counts).toHaveLength(2)
    expect(await countedOf(store(), { business: one, oid: 'a' })).toEqual([1, 0])
    expect(await countedOf(store(), { business: two, oid: 'a' })).toEqual([0, 1])
    await apply(store(), [markRow(one, '7', 'a', 'NONE', later())])
    expect(await countedOf(store(), { business: two, oid: 'a' })).toEqual([0, 1])
    expect(await likersOf(store(), { business: one, oid: 'a' })).toEqual([])
  })

  it('a viewer with the id of a subject is not a subject', async () => {
    const business = freshBusiness()
    await apply(store(), [markRow(business, '5', '6', 'LIKE', later()), markRow(business, '6', '5', 'DISLIKE', later())])
    expect(await countedOf(store(), { business, oid: '5' })).toEqual([0, 1])
    expect(await countedOf(store(), { business, oid: '6' })).toEqual([1, 0])
    expect(await likersOf(store(), { business, oid: '6' })).toEqual(['5'])
  })

  it('concurrent overlapping calls end as if one after the other, and count nothing twice', async () => {
    const business = freshBusiness()
    const now = later(1_000)
    const viewers = numbered(20)
    const subjects = numbered(5).map((oid) => ({ business, oid }))
    const calls = numbered(12).map((call) => {
      const rows = viewers.flatMap((viewer) =>
        subjects.map(({ oid }) => {
          const turn = Number(call) * 7 + Number(viewer) * 3 + Number(oid)
          return markRow(business, viewer, oid, MARKS[turn % 3] ?? 'NONE', now + (turn % 11))
        }),
      )
      return store().applyMarks(Number(call) % 2 === 0 ? rows : rows.toReversed(), [])
    })
    await Promise.all(calls)
    expect(await store().recount(subjects)).toEqual([])
    const records = await store().getMarkMany(viewers.flatMap((viewer) => subjects.map((subject) => ({ viewer, ...subject }))))
    const counts = await store().getCountsMany(subjects)
    expect(counts.reduce((sum, { likes }) => sum + likes, 0)).toBe(records.filter((record) => record?.mark === 'LIKE').length)
    expect(counts.reduce((sum, { dislikes }) => sum + dislikes, 0)).toBe(records.filter((record) => record?.mark === 'DISLIKE').length)
  })

  it('thousands of viewers of one subject in one call are one change of its counts', async () => {
    const business = freshBusiness()
    const subject = { business, oid: 'hot' }
    const now = later()
    const { stored, changes } = await apply(
      store(),
      numbered(3_000).map((viewer) => markRow(business, viewer, 'hot', 'LIKE', now)),
    )
    expect(stored).toHaveLength(3_000)
    expect(changes?.counts).toEqual([{ ...subject, counts: await countsOf(store(), subject) }])
    expect(await countedOf(store(), subject)).toEqual([3_000, 0])
  })

  it('rows, counts, owners and sums are there after the store was closed and reopened', async () => {
    const business = freshBusiness()
    const subject = { business, oid: 'a' }
    await store().registerSubjects([{ ...subject, owner: 'o' }])
    const row = markRow(business, '7', 'a', 'LIKE', later())
    await apply(store(), [row])
    const counts = await countsOf(store(), subject)
    await reopen()
    expect(await recordOf(store(), row.key)).toEqual(row.record)
    expect(await countsOf(store(), subject)).toEqual(counts)
    expect(await store().getOwners([subject])).toEqual(['o'])
    expect(await store().getOwnerSums([{ business, owner: 'o' }])).toMatchObject([{ business, owner: 'o', likes: 1 }])
    expect((await apply(store(), [row])).changes).toBeUndefined()
  })
}
