import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type MysqlRecordStore, openMysqlRecordStore } from '../../../../../subgraphs/history/stores/mysql/record-store.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { deleteExpired } from '../../../../../subgraphs/history/stores/mysql/statements.ts'
import { idLiteral } from '../../../../../stores/mysql/literals.ts'
import { freshViewer, keyOf, numbered, report } from '../../../../contracts/reports.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../../../../stores/mysql/databases.ts'
import { until } from '../../../../../harness/until.ts'
import type { ProgressRow } from '../../../../../core/domain.ts'

const NOW = 1_700_000_000_000

describe.skipIf(mariadb === undefined)('concurrent writers of the same rows', () => {
  let test: TestDatabase
  let stores: MysqlRecordStore[]
  beforeAll(async () => {
    test = await makeDatabase()
    await migrateMysql(test.database)
    stores = await Promise.all([1, 2, 3, 4].map(() => openMysqlRecordStore({ url: test.url, regions: 100 })))
  })
  afterAll(async () => {
    await Promise.all((stores ?? []).map((store) => store.close()))
    await test?.drop()
  })

  it('four processes that write overlapping batches all succeed, and the newest row wins', async () => {
    const viewers = Array.from({ length: 20 }, freshViewer)
    const keys = viewers.flatMap((viewer) => numbered(30).map((oid) => keyOf(viewer, oid)))
    await Promise.all(
      stores.map(async (store, writer) => {
        for (let round = 0; round < 12; round++) {
          const rows = keys
            .filter((_, index) => (index + round + writer) % 3 !== 0 || round === 11)
            .map((key, index): ProgressRow => ({
              key,
              record: report(NOW + round * 10 + writer, { position: index, version: NOW * 1024 + round * 4 + writer }),
            }))
          await store.putProgress(round % 2 === 0 ? rows : rows.toReversed())
        }
      }),
    )
    const records = await stores[0]?.getProgressMany(keys)
    expect(records?.map((record) => record?.viewedAt)).toEqual(keys.map(() => NOW + 113))
  })

  it('a row that was written again after it was found expired is not removed', async () => {
    const [store] = stores as [MysqlRecordStore]
    const [expired, renewed] = [keyOf(freshViewer(), '1'), keyOf(freshViewer(), '1')]
    await store.putProgress([expired, renewed].map((key) => ({ key, record: report(NOW, { version: 5 }) })))
    await store.putProgress([{ key: renewed, record: report(NOW + 1, { version: 9 }) }])
    const { affected } = await test.database.send(deleteExpired([expired, renewed], 9))
    expect(affected).toBe(1)
    expect((await store.getProgressMany([expired, renewed])).map((record) => record?.version)).toEqual([undefined, 9])
  })

  it('the loser of a deadlock retries its statement', async () => {
    const [store] = stores as [MysqlRecordStore]
    const viewer = freshViewer()
    const [first, second, ...others] = numbered(200).map((oid): ProgressRow => ({
      key: keyOf(viewer, oid),
      record: report(NOW, { version: 1 }),
    })) as [ProgressRow, ProgressRow]
    await store.putProgress([first, second, ...(others as ProgressRow[])])
    const before = store.figures().retries
    const newer = [first, second].map(({ key }): ProgressRow => ({ key, record: report(NOW + 1, { version: 2 }) }))
    await test.database.session(async (session) => {
      const touch = (condition: string) =>
        session.send(`UPDATE history SET since = since + 1 WHERE viewer = ${idLiteral(viewer)} AND business = 1 AND ${condition}`)
      // 1: the other transaction changes all rows but the first. It is larger, so it survives.
      await session.send('BEGIN')
      await touch(`oid > ${idLiteral('1')}`)
      // 2: the store locks the first row and waits for the second.
      const put = store.putProgress(newer)
      await until('the store waits for a lock', async () => (await lockWaits()) > 0)
      // 3: the other transaction wants the first row: a deadlock, which the store loses.
      await touch(`oid = ${idLiteral('1')}`)
      await session.send('COMMIT')
      await put
    })
    expect(store.figures().retries).toBeGreaterThan(before)
    expect((await store.getProgressMany(newer.map((row) => row.key))).map((record) => record?.viewedAt)).toEqual([NOW + 1, NOW + 1])
  })

  async function lockWaits(): Promise<number> {
    const { rows } = await test.database.send('SHOW PROCESSLIST')
    return rows.filter((row) => String(row[4]) === 'Query' && String(row[7]).startsWith('INSERT INTO history')).length
  }
})
