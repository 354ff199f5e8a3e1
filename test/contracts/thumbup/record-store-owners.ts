/** Contract of the record store of marks: the owners of subjects, and the likes that owners have received. */
import { expect, it } from 'vitest'
import type { OwnerSum } from '../../../core/domain.ts'
import type { MarkRecords } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { apply, freshBusiness, markRow } from './mark-rows.ts'
import { later, numbered } from '../reports.ts'
import type { MarkRecordsSubject } from './record-store-subject.ts'

export function ownersContract({ store }: MarkRecordsSubject): void {
  it('an owner without likes has received 0, with version 0', async () => {
    const business = freshBusiness()
    expect(await store().getOwnerSums([{ business, owner: 'o' }])).toEqual([{ business, owner: 'o', likes: 0, version: 0 }])
    expect(await store().getOwners([{ business, oid: 'a' }])).toEqual([undefined])
  })

  it('likes of registered subjects add up, and dislikes do not', async () => {
    const business = freshBusiness()
    expect(await store().registerSubjects(['a', 'b'].map((oid) => ({ business, oid, owner: 'o' })))).toEqual([])
    const { changes } = await apply(store(), [
      markRow(business, '1', 'a', 'LIKE', later()),
      markRow(business, '2', 'a', 'LIKE', later()),
      markRow(business, '1', 'b', 'LIKE', later()),
      markRow(business, '2', 'b', 'DISLIKE', later()),
      markRow(business, '1', 'nobody’s', 'LIKE', later()),
    ])
    const sum = await sumOf(store(), business, 'o')
    expect(sum.likes).toBe(3)
    expect(changes?.owners).toEqual([sum])
    await apply(store(), [markRow(business, '1', 'a', 'NONE', later()), markRow(business, '2', 'a', 'DISLIKE', later())])
    const less = await sumOf(store(), business, 'o')
    expect(less.likes).toBe(1)
    expect(less.version).toBeGreaterThan(sum.version)
    expect(await store().getOwners(['b', 'nobody’s', 'a'].map((oid) => ({ business, oid })))).toEqual(['o', undefined, 'o'])
  })

  it('a late registration adds the likes received before', async () => {
    const business = freshBusiness()
    await apply(
      store(),
      numbered(5).map((viewer) => markRow(business, viewer, 'a', 'LIKE', later())),
    )
    const sums = await store().registerSubjects([{ business, oid: 'a', owner: 'o' }])
    expect(sums).toEqual([await sumOf(store(), business, 'o')])
    expect(sums).toMatchObject([{ likes: 5 }])
    expect(sums[0]?.version).toBeGreaterThan(0)
  })

  it('owner sums changed by a registration are in the outbox until they are published', async () => {
    const business = freshBusiness()
    await apply(store(), [markRow(business, '1', 'a', 'LIKE', later())])
    const moved = (await store().registerSubjects([{ business, oid: 'a', owner: 'o' }])).concat(
      await store().registerSubjects([{ business, oid: 'a', owner: 'p' }]),
    )
    const outbox = await store().listOutbox(100_000)
    const own = outbox.filter(({ owners }) => owners.some((sum) => sum.business === business))
    expect(own).toHaveLength(2)
    expect(own.flatMap(({ owners }) => owners)).toEqual(expect.arrayContaining(moved))
    expect(own.every(({ transitions, counts }) => transitions.length === 0 && counts.length === 0)).toBe(true)
    await store().dropOutbox(own.map(({ number }) => number))
    expect(await store().registerSubjects([{ business, oid: 'a', owner: 'p' }])).toEqual([])
    expect((await store().listOutbox(100_000)).filter(({ owners }) => owners.some((sum) => sum.business === business))).toEqual([])
  })

  it('a change of owner moves the received likes, and later likes go to the new owner', async () => {
    const business = freshBusiness()
    await store().registerSubjects([
      { business, oid: 'a', owner: 'old' },
      { business, oid: 'b', owner: 'old' },
    ])
    await apply(
      store(),
      ['a', 'b'].flatMap((oid) => numbered(4).map((viewer) => markRow(business, viewer, oid, 'LIKE', later()))),
    )
    const before = await sumOf(store(), business, 'old')
    const sums = await store().registerSubjects([{ business, oid: 'a', owner: 'new' }])
    const [old, changed] = [await sumOf(store(), business, 'old'), await sumOf(store(), business, 'new')]
    expect([old.likes, changed.likes]).toEqual([4, 4])
    expect(old.version).toBeGreaterThan(before.version)
    expect(sums.toSorted(byOwner)).toEqual([old, changed].toSorted(byOwner))
    await apply(store(), [markRow(business, '9', 'a', 'LIKE', later())])
    expect((await sumOf(store(), business, 'old')).likes).toBe(4)
    expect((await sumOf(store(), business, 'new')).likes).toBe(5)
    expect(await store().getOwners([{ business, oid: 'a' }])).toEqual(['new'])
    expect(await store().recountOwners(['old', 'new'].map((owner) => ({ business, owner })))).toEqual([])
  })

  it('a repeated registration changes nothing', async () => {
    const business = freshBusiness()
    await apply(store(), [markRow(business, '1', 'a', 'LIKE', later())])
    await store().registerSubjects([{ business, oid: 'a', owner: 'o' }])
    const before = await sumOf(store(), business, 'o')
    expect(await store().registerSubjects([{ business, oid: 'a', owner: 'o' }])).toEqual([])
    expect(await sumOf(store(), business, 'o')).toEqual(before)
  })

  it('one call may register many subjects to several owners, and move some of them', async () => {
    const business = freshBusiness()
    const oids = numbered(600)
    await store().registerSubjects(oids.map((oid) => ({ business, oid, owner: 'first' })))
    await apply(
      store(),
      oids.map((oid) => markRow(business, '1', oid, 'LIKE', later(1))),
    )
    const sums = await store().registerSubjects(oids.map((oid) => ({ business, oid, owner: `owner-${Number(oid) % 3}` })))
    expect(sums.map(({ owner, likes }) => `${owner} ${likes}`).toSorted()).toEqual(['first 0', 'owner-0 200', 'owner-1 200', 'owner-2 200'])
    const owners = ['first', 'owner-0', 'owner-1', 'owner-2'].map((owner) => ({ business, owner }))
    expect(await store().recountOwners(owners)).toEqual([])
  })

  it('owners with equal ids in two businesses are different, and different from a subject with that id', async () => {
    const [one, two] = [freshBusiness(), freshBusiness()]
    await store().registerSubjects([
      { business: one, oid: 'a', owner: 'a' },
      { business: two, oid: 'a', owner: 'a' },
    ])
    await apply(store(), [markRow(one, '1', 'a', 'LIKE', later())])
    expect((await sumOf(store(), one, 'a')).likes).toBe(1)
    expect((await sumOf(store(), two, 'a')).likes).toBe(0)
  })

  it('concurrent registrations and likes lose no like', async () => {
    const business = freshBusiness()
    const oids = numbered(10)
    const owners = ['a', 'b', 'c']
    await Promise.all(
      numbered(15).map((step) =>
        Number(step) % 3 === 0
          ? store().registerSubjects(oids.map((oid) => ({ business, oid, owner: owners[(Number(step) + Number(oid)) % 3] ?? 'a' })))
          : store().applyMarks(
              oids.map((oid) => markRow(business, step, oid, 'LIKE', later(1))),
              [],
            ),
      ),
    )
    const sums = await store().getOwnerSums(owners.map((owner) => ({ business, owner })))
    expect(sums.reduce((sum, { likes }) => sum + likes, 0)).toBe(100)
    expect(await store().recountOwners(owners.map((owner) => ({ business, owner })))).toEqual([])
  })

  it('sums have the order of the given owners', async () => {
    const business = freshBusiness()
    await store().registerSubjects(['1', '2', 'ü'].map((owner) => ({ business, oid: `of-${owner}`, owner })))
    await apply(
      store(),
      ['1', '2', 'ü'].flatMap((owner, at) => numbered(at + 1).map((viewer) => markRow(business, viewer, `of-${owner}`, 'LIKE', later()))),
    )
    const sums = await store().getOwnerSums(['ü', 'nobody', '1', '2', '1'].map((owner) => ({ business, owner })))
    expect(sums.map(({ owner, likes }) => [owner, likes])).toEqual([
      ['ü', 3],
      ['nobody', 0],
      ['1', 1],
      ['2', 2],
      ['1', 1],
    ])
  })
}

async function sumOf(store: MarkRecords, business: number, owner: string): Promise<OwnerSum> {
  const [sum] = await store.getOwnerSums([{ business, owner }])
  if (sum === undefined) throw new Error('an owner without an answer')
  return sum
}

function byOwner(a: OwnerSum, b: OwnerSum): number {
  return a.owner < b.owner ? -1 : 1
}
