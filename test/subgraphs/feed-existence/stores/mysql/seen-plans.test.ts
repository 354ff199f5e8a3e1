import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { idLiteral } from '../../../../../stores/mysql/literals.ts'
import { packFilterKey } from '../../../../../subgraphs/feed-existence/stores/mysql/put.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { openMysqlSeenRecords } from '../../../../../subgraphs/feed-existence/stores/mysql/record-store.ts'
import * as statements from '../../../../../subgraphs/feed-existence/stores/mysql/statements.ts'
import { someBytes } from '../../../../contracts/feed-existence/seen-filters.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../../../../stores/mysql/databases.ts'
import { placed } from '../../../../../stores/mysql/tuples.ts'

const EXPIRES_AT = 1_800_000_000_000
const viewers = Array.from({ length: 2_000 }, (_, i) => String(i * 37))
const keys = placed(viewers.slice(0, 128).map((viewer, i) => packFilterKey({ viewer, month: 680 + (i % 4) }).key))

describe.skipIf(mariadb === undefined)('the plans of MariaDB for filters', () => {
  let test: TestDatabase
  beforeAll(async () => {
    test = await makeDatabase()
    await migrateMysql(test.database)
    const store = await openMysqlSeenRecords({ url: test.url, regions: 100 })
    const writes = viewers.flatMap((viewer, i) =>
      [680, 681, 682, 683].map((month) => ({
        viewer,
        month,
        filter: someBytes(300),
        expected: 0,
        expiresAt: EXPIRES_AT + i * 1_000 + month,
      })),
    )
    await store.putFilters(writes)
    await store.close()
    await test.database.send('ANALYZE TABLE seen_filters')
  })
  afterAll(async () => test?.drop())

  /** The steps that read our tables: type, key, extra. */
  async function plan(sql: string): Promise<{ type: string; key: string; extra: string }[]> {
    const { rows } = await test.database.send(`EXPLAIN ${sql}`)
    return rows
      .map((row) => ({ table: String(row[2]), type: String(row[3]), key: String(row[5]), extra: String(row[9]) }))
      .filter(({ table }) => ['f', 'seen_filters', 'seen_quarantine'].includes(table))
  }

  it.each([
    ['a lookup', statements.selectFilters(keys), 'eq_ref'],
    ['a locking read', statements.lockFilters(keys), 'eq_ref'],
    ['a list', statements.selectFiltersOf(placed(viewers.slice(0, 128).map((viewer) => [idLiteral(viewer)]))), 'ref'],
  ])('%s of many keys reads each by the primary key', async (_name, sql, type) => {
    expect(await plan(sql)).toMatchObject([{ type, key: 'PRIMARY' }])
  })

  it('a purge is a range of the expiry index, without sorting, even if most filters have expired', async () => {
    for (const before of [EXPIRES_AT + 100_000, EXPIRES_AT * 2]) {
      const steps = await plan(statements.deleteExpiredOf('seen_filters', before, 100))
      expect(steps).toMatchObject([{ type: 'range', key: 'seen_filters_expiring', extra: expect.not.stringContaining('filesort') }])
    }
  })

  it('locks are taken in the order of the given keys, and held', async () => {
    const order = placed([5, 3, 9, 1].map((i) => packFilterKey({ viewer: String(i * 37), month: 680 }).key))
    const { rows } = await test.database.send(statements.lockFilters(order))
    expect(rows.map(([at]) => Number(at))).toEqual([0, 1, 2, 3])
  })
})
