/** A recount of everything, beyond the subjects and owners with stored counts and sums. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openEnvironment, type Environment } from '../../../stores/lmdb/environment.ts'
import { plainMarkKey } from '../../../subgraphs/thumbup/stores/lmdb/records/keys.ts'
import { openLmdbMarkRecords } from '../../../subgraphs/thumbup/stores/lmdb/record-store.ts'
import { openMarkTables } from '../../../subgraphs/thumbup/stores/lmdb/records/tables.ts'
import type { MarkRecords } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { reconcileWhole } from '../../../subgraphs/thumbup/persist/whole-reconciliation.ts'
import { makeFolder } from '../../stores/lmdb/folders.ts'

const BUSINESS = 1
let folder: ReturnType<typeof makeFolder>
let environment: Environment
let records: MarkRecords
beforeEach(async () => {
  folder = makeFolder()
  environment = openEnvironment(folder.path, { regions: 4, sizeMaxGb: 1 })
  records = openLmdbMarkRecords(environment)
  const rows = ['a', 'b', 'c'].flatMap((oid) =>
    [1, 2, 3].map((at) => ({
      key: { viewer: String(at), business: BUSINESS, oid },
      record: { mark: 'LIKE' as const, markedAt: at, version: at },
    })),
  )
  await records.applyMarks(rows, [])
  const subjects = ['a', 'b', 'c', 'nobody likes it'].map((oid) => ({ business: BUSINESS, oid, owner: oid === 'a' ? 'o' : 'p' }))
  await records.registerSubjects([...subjects, { business: BUSINESS, oid: 'new', owner: 'nobody' }])
})
afterEach(async () => {
  await environment.close()
  folder.remove()
})

async function reconciled() {
  const found = { subjects: 0, owners: 0, drift: [] as unknown[], ownerDrift: [] as unknown[] }
  for await (const { subjects, owners, leftOut, drift, ownerDrift } of reconcileWhole(records, BUSINESS)) {
    expect(leftOut).toEqual([])
    found.subjects += subjects
    found.owners += owners
    found.drift.push(...drift)
    found.ownerDrift.push(...ownerDrift)
  }
  return found
}

async function lose(table: 'counts' | 'owners', id: string): Promise<void> {
  await environment.write(() => void openMarkTables(environment)[table].remove(plainMarkKey(BUSINESS, id)))
}

test('marks of a subject without counts are found, even once they are archived', async () => {
  expect(await reconciled()).toEqual({ subjects: 3, owners: 2, drift: [], ownerDrift: [] })
  await lose('counts', 'b')
  const lost = { business: BUSINESS, oid: 'b', counts: { likes: 0, dislikes: 0, version: 0 }, rows: { likes: 3, dislikes: 0 } }
  expect(await reconciled()).toMatchObject({ subjects: 3, owners: 2, drift: [lost], ownerDrift: [{ owner: 'p', likes: 6, summed: 3 }] })
  await records.archiveMarks(10, 100)
  expect((await reconciled()).drift).toEqual([lost])
})

test('an owner without a sum is found, and reported once', async () => {
  await lose('owners', 'p')
  expect(await reconciled()).toMatchObject({ subjects: 3, owners: 2, drift: [], ownerDrift: [{ owner: 'p', likes: 0, summed: 6 }] })
})
