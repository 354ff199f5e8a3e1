import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProgressRecord } from '../../../../../core/domain.ts'
import { mergeProgress } from '../../../../../subgraphs/history/model/merge.ts'
import { type MysqlRecordStore, openMysqlRecordStore } from '../../../../../subgraphs/history/stores/mysql/record-store.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { upsertProgress, upsertSettings } from '../../../../../subgraphs/history/stores/mysql/statements.ts'
import { freshViewer } from '../../../../contracts/reports.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../../../../stores/mysql/databases.ts'

/** Small numbers, so that every tie occurs, and sometimes the largest number. */
const moment = fc.oneof(
  { arbitrary: fc.nat({ max: 6 }), weight: 12 },
  { arbitrary: fc.integer({ min: 2 ** 52, max: 2 ** 53 - 1 }), weight: 1 },
)

const visit: fc.Arbitrary<ProgressRecord> = fc.tuple(moment, moment).chain(([a, b]) =>
  fc.record({
    viewedAt: fc.constant(Math.max(a, b)),
    since: fc.constant(Math.min(a, b)),
    rank: moment,
    version: moment,
    position: fc.nat({ max: 2 ** 31 - 1 }),
    duration: fc.nat({ max: 2 ** 31 - 1 }),
    device: fc.constantFrom('', 'tv', "o'); DROP TABLE history; --"),
    finished: fc.boolean(),
    deleted: fc.constant(false),
  }),
)

const tombstone: fc.Arbitrary<ProgressRecord> = fc.record({ at: moment, version: moment }).map(({ at, version }) => {
  return { viewedAt: at, since: at, rank: 0, version, position: 0, duration: 0, device: '', finished: false, deleted: true }
})

describe.skipIf(mariadb === undefined)('the upsert', () => {
  let test: TestDatabase
  let store: MysqlRecordStore
  beforeAll(async () => {
    test = await makeDatabase()
    await migrateMysql(test.database)
    store = await openMysqlRecordStore({ url: test.url, regions: 100 })
  })
  afterAll(async () => {
    await store?.close()
    await test?.drop()
  })

  it('merges any two records as mergeProgress does', async () => {
    const record = fc.oneof({ arbitrary: visit, weight: 4 }, { arbitrary: tombstone, weight: 1 })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(record, record), { minLength: 50, maxLength: 100 }), async (pairs) => {
        const viewer = freshViewer()
        const keys = pairs.map((_, oid) => ({ viewer, business: 1, oid: String(oid) }))
        const rowsOf = (side: 0 | 1) => keys.map((key, index) => ({ key, record: (pairs[index] as (typeof pairs)[number])[side] }))
        await store.putProgress(rowsOf(0))
        await store.putProgress(rowsOf(1))
        await store.putProgress(rowsOf(1))
        expect(await store.getProgressMany(keys)).toEqual(
          pairs.map(([stored, incoming]) => mergeProgress(mergeProgress(stored, incoming), incoming)),
        )
      }),
      { numRuns: 60 },
    )
  })

  it('merges any sequence of records as mergeProgress does', async () => {
    const record = fc.oneof({ arbitrary: visit, weight: 4 }, { arbitrary: tombstone, weight: 1 })
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 12 }), async (records) => {
        const key = { viewer: freshViewer(), business: 1, oid: 'a' }
        for (const record of records) await store.putProgress([{ key, record }])
        const expected = records.reduce<ProgressRecord | undefined>(mergeProgress, undefined)
        expect(await store.getProgressMany([key])).toEqual([expected])
      }),
      { numRuns: 60 },
    )
  })
})

describe('the text of an upsert', () => {
  it.each([
    ['progress', upsertProgress([])],
    ['settings', upsertSettings([])],
  ])('of %s never reads a column after its assignment', (_, text) => {
    const [, list = ''] = text.split('ON DUPLICATE KEY UPDATE')
    const assignments = list
      .trim()
      .split(',\n')
      .map((assignment) => /^(\w+) = ([^]*)$/.exec(assignment)?.slice(1) ?? [])
    expect(assignments.length).toBeGreaterThan(2)
    const assigned: string[] = []
    for (const [column = '', expression = ''] of assignments) {
      const read = expression.replaceAll(/VALUES\(\w+\)/g, '').match(/[a-z_]+/g) ?? []
      expect(
        read.filter((name) => assigned.includes(name)),
        column,
      ).toEqual([])
      assigned.push(column)
    }
  })
})
