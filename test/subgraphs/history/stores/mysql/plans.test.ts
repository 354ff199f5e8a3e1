import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openMysqlRecordStore } from '../../../../../subgraphs/history/stores/mysql/record-store.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import * as statements from '../../../../../subgraphs/history/stores/mysql/statements.ts'
import { report } from '../../../../contracts/reports.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../../../../stores/mysql/databases.ts'

const NOW = 1_700_000_000_000
const keys = Array.from({ length: 128 }, (_, index) => ({ viewer: String(index), business: 1, oid: String(index % 7) }))

describe.skipIf(mariadb === undefined)('the plans of MariaDB', () => {
  let test: TestDatabase
  beforeAll(async () => {
    test = await makeDatabase()
    await migrateMysql(test.database)
    const store = await openMysqlRecordStore({ url: test.url, regions: 100 })
    const rows = Array.from({ length: 4_000 }, (_, index) => ({
      key: { viewer: String(index % 200), business: 1 + (index % 3), oid: String(Math.floor(index / 200)) },
      record: report(NOW - (index % 11), { version: (NOW - index) * 1024 }),
    }))
    await store.putProgress(rows)
    await store.close()
    await test.database.send('ANALYZE TABLE history')
  })
  afterAll(async () => test?.drop())

  /** The steps that read our table: type, key, extra. */
  async function plan(sql: string): Promise<{ type: string; key: string; extra: string }[]> {
    const { rows } = await test.database.send(`EXPLAIN ${sql}`)
    return rows
      .map((row) => ({ table: row[2], type: String(row[3]), key: String(row[5]), extra: String(row[9]) }))
      .filter((step) => step.table === 'h' || step.table === 'history')
  }

  it.each([2, 8, 128])('read each of %i keys by the primary key', async (count) => {
    expect(await plan(statements.selectProgress(keys.slice(0, count)))).toEqual([
      expect.objectContaining({ type: 'eq_ref', key: 'PRIMARY' }),
    ])
  })

  it('read a first page in the order of the index', async () => {
    const [step, ...others] = await plan(statements.selectPage('7', [1], undefined, 20))
    expect(step).toMatchObject({ key: 'history_timeline', extra: expect.not.stringContaining('filesort') })
    expect(others).toEqual([])
  })

  it('read a page from the middle of a tie in the order of the index, for every business', async () => {
    const steps = await plan(statements.selectPage('7', [1, 2, 3], { viewedAt: NOW - 3, business: 2, oid: '5' }, 20))
    expect(steps).toHaveLength(3)
    for (const step of steps)
      expect(step).toMatchObject({ type: 'range', key: 'history_timeline', extra: expect.not.stringContaining('filesort') })
  })

  it('purge whole hours by their index', async () => {
    expect(await plan(statements.deleteHoursBefore(Math.floor(NOW / 3_600_000), 100))).toEqual([
      expect.objectContaining({ type: 'range', key: 'history_written' }),
    ])
  })

  it('purge keys by the primary key', async () => {
    expect(await plan(statements.deleteExpired(keys, NOW))).toEqual([expect.objectContaining({ type: 'eq_ref', key: 'PRIMARY' })])
  })
})
