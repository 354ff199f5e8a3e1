/** The lanes of mark reads: the guards name the kind, tenant and lane of each read. */
import { expect, test } from 'vitest'
import { guardMarkStores } from '../../../../subgraphs/thumbup/stores/guarded.ts'
import { openModelMarkRecords } from '../../../../harness/models/thumbup/record-store-model.ts'
import { makeMarkRecordsState } from '../../../../harness/models/thumbup/record-rows.ts'
import { makeSteppedClock } from '../../../../harness/stepped-clock.ts'

const subject = (business: number) => ({ business, oid: '1' })
const key = (business: number) => ({ viewer: '7', ...subject(business) })

/** A record store with one connection. Its calls end in the order in which they began. */
function guarded() {
  const order: string[] = []
  const model = openModelMarkRecords(makeMarkRecordsState(), async (name, _args, act) => {
    order.push(name)
    await Promise.resolve()
    return act()
  })
  const unused = {} as never
  const records = { ...model, readsAtOnceMax: 1 }
  return { order, ...guardMarkStores(makeSteppedClock(), { hot: unused, cache: unused, log: unused, records }, {}, () => undefined) }
}

test('lookups and fills do not wait for the pages of their tenant, and each read of the service is counted', async () => {
  const { records, fillRecords, recordReads, order } = guarded()
  const pages = [
    () => records.listLikers(subject(1), undefined, 10),
    () => records.listMarks('7', 1, ['LIKE'], undefined, 10),
    () => records.recount([subject(1)]),
    () => records.recountOwners([{ business: 1, owner: '7' }]),
    () => records.listSubjects(1, undefined, 10),
    () => records.listMarkedSubjects(1, undefined, 10),
  ]
  const lookups = [
    () => records.getMarkMany([key(1)]),
    () => records.getCountsMany([subject(1)]),
    () => records.getOwnerSums([{ business: 1, owner: '7' }]),
    () => records.getOwners([subject(1)]),
    () => fillRecords.listMarks('8', 1, ['LIKE', 'DISLIKE'], undefined, 10),
  ]
  const asked = [...pages, ...pages, ...lookups].map((ask) => ask())
  expect(recordReads()).toMatchObject({ limit: 1, underWay: 1, waiting: asked.length - 1 })
  await Promise.all(asked)
  // From the second turn on every other turn is a lookup. This one is the last but one.
  expect(order.indexOf('getOwners')).toBeLessThanOrEqual(2 * lookups.length)
  expect(recordReads()).toMatchObject({ underWay: 0, waiting: 0, made: asked.length, refused: 0 })
})

test('a tenant with hundreds of list reads delays a lookup of another tenant by one of them', async () => {
  const { records, order } = guarded()
  const asked: Promise<unknown>[] = Array.from({ length: 300 }, () => records.listLikers(subject(1), undefined, 10))
  asked.push(records.getMarkMany([key(2)]))
  await Promise.all(asked)
  expect(order.indexOf('getMarkMany')).toBeLessThanOrEqual(2)
})

test('registering subjects takes no turn of the reads', async () => {
  const { records, recordReads } = guarded()
  await records.registerSubjects([{ ...subject(1), owner: '7' }])
  expect(recordReads().made).toBe(0)
})
