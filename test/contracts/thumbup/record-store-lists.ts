/** Contract of the record store of marks: lists of the marks of a viewer, and of the likers of a subject. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Mark, MarkPlace } from '../../../core/domain.ts'
import { compareIds } from '../../../core/keys.ts'
import { allPages, apply, archiveAll, freshBusiness, likedOids, likersOf, markRow } from './mark-rows.ts'
import { later } from '../reports.ts'
import type { MarkRecordsSubject } from './record-store-subject.ts'

const MARKS: readonly Mark[] = ['NONE', 'LIKE', 'DISLIKE']
const IDS = ['0', '1', '2', '10', '9223372036854775807', '9223372036854775808', 'a', 'b', 'bb', '01', 'ü', '漢', 'x'.repeat(64)]

export function marksListsContract({ store }: MarkRecordsSubject): void {
  it('a viewer has the marks of the given kinds, newest first', async () => {
    const business = freshBusiness()
    const now = later(100)
    await apply(store(), [
      markRow(business, '7', 'a', 'LIKE', now),
      markRow(business, '7', 'b', 'DISLIKE', now + 1),
      markRow(business, '7', 'c', 'NONE', now + 2),
      markRow(business, '7', 'd', 'LIKE', now + 3),
      markRow(business, '8', 'e', 'LIKE', now + 4),
      markRow(freshBusiness(), '7', 'f', 'LIKE', now + 5),
    ])
    expect(await likedOids(store(), '7', business)).toEqual(['d', 'a'])
    expect(await likedOids(store(), '7', business, ['DISLIKE'])).toEqual(['b'])
    expect(await likedOids(store(), '7', business, ['DISLIKE', 'LIKE'])).toEqual(['d', 'b', 'a'])
    expect(await likedOids(store(), '7', business, ['NONE', 'LIKE', 'DISLIKE'])).toEqual(['d', 'c', 'b', 'a'])
  })

  it('a subject has its likers, newest first, without undone likes and dislikes', async () => {
    const business = freshBusiness()
    const subject = { business, oid: 'a' }
    const now = later(100)
    await apply(store(), [
      markRow(business, '1', 'a', 'LIKE', now),
      markRow(business, '2', 'a', 'LIKE', now + 1),
      markRow(business, '3', 'a', 'DISLIKE', now + 2),
      markRow(business, '4', 'a', 'LIKE', now + 3),
      markRow(business, '5', 'b', 'LIKE', now + 4),
    ])
    expect(await store().listLikers(subject, undefined, 10)).toEqual([
      { id: '4', markedAt: now + 3 },
      { id: '2', markedAt: now + 1 },
      { id: '1', markedAt: now },
    ])
    await apply(store(), [markRow(business, '4', 'a', 'NONE', now + 10), markRow(business, '3', 'a', 'LIKE', now + 11)])
    expect(await likersOf(store(), subject)).toEqual(['3', '2', '1'])
  })

  it('entries of the same time have the order of their packed ids', async () => {
    const business = freshBusiness()
    const now = later()
    await apply(store(), [
      ...IDS.toReversed().map((oid) => markRow(business, '7', oid, 'LIKE', now)),
      ...IDS.toReversed().map((viewer) => markRow(business, viewer, 'liked', 'LIKE', now)),
    ])
    expect(await likedOids(store(), '7', business)).toEqual(IDS.toSorted(compareIds))
    expect(await likersOf(store(), { business, oid: 'liked' })).toEqual(IDS.toSorted(compareIds))
  })

  it('a page begins strictly after its place, with or without a row there', async () => {
    const business = freshBusiness()
    const now = later()
    await apply(store(), [
      ...['1', '2', '4', 'a'].map((oid) => markRow(business, '7', oid, 'LIKE', now)),
      ...['1', '2', '4', 'a'].map((viewer) => markRow(business, viewer, 'liked', 'LIKE', now)),
    ])
    const after = async (place: MarkPlace): Promise<string[][]> => [
      (await store().listMarks('7', business, ['LIKE'], place, 10)).map(({ oid }) => oid),
      (await store().listLikers({ business, oid: 'liked' }, place, 10)).map(({ id }) => id),
    ]
    const twice = (...ids: string[]): string[][] => [ids, ids]
    expect(await after({ markedAt: now, id: '2' })).toEqual(twice('4', 'a'))
    expect(await after({ markedAt: now, id: '3' })).toEqual(twice('4', 'a'))
    expect(await after({ markedAt: now + 1, id: 'zzz' })).toEqual(twice('1', '2', '4', 'a'))
    expect(await after({ markedAt: now - 1, id: '0' })).toEqual(twice())
    expect(await after({ markedAt: 0, id: '0' })).toEqual(twice())
    expect(await after({ markedAt: Number.MAX_SAFE_INTEGER, id: '0' })).toEqual(twice('1', '2', '4', 'a'))
  })

  it('pages of any size join without gaps or duplicates, with equal times and archived marks', async () => {
    const item = fc.record({ id: fc.constantFrom(...IDS), age: fc.nat({ max: 4 }), mark: fc.constantFrom(...MARKS) })
    const items = fc.uniqueArray(item, { selector: ({ id }) => id, maxLength: IDS.length })
    const archivedFrom = fc.option(fc.nat({ max: 5 }), { nil: undefined })
    await fc.assert(
      fc.asyncProperty(items, fc.integer({ min: 1, max: 5 }), fc.subarray([...MARKS]), archivedFrom, async (specs, limit, marks, age) => {
        const business = freshBusiness()
        const now = later(100)
        await apply(store(), [
          ...specs.map(({ id, mark, age: old }) => markRow(business, '7', id, mark, now - old)),
          ...specs.map(({ id, mark, age: old }) => markRow(business, id, 'liked', mark, now - old)),
        ])
        if (age !== undefined) await archiveAll(store(), now - age)
        const sorted = specs.toSorted((a, b) => a.age - b.age || compareIds(a.id, b.id))
        const listed = await allPages<{ oid: string; markedAt: number }>(limit, (last) =>
          store().listMarks('7', business, marks, last === undefined ? undefined : { id: last.oid, markedAt: last.markedAt }, limit),
        )
        // "liked" would be a subject of viewer "7" only if "7" were among the ids.
        expect(listed.map(({ oid }) => oid)).toEqual(sorted.filter(({ mark }) => marks.includes(mark)).map(({ id }) => id))
        const likers = await allPages<MarkPlace>(limit, (last) => store().listLikers({ business, oid: 'liked' }, last, limit))
        expect(likers).toEqual(sorted.filter(({ mark }) => mark === 'LIKE').map(({ id, age: old }) => ({ id, markedAt: now - old })))
      }),
      { numRuns: 40 },
    )
  })
}
