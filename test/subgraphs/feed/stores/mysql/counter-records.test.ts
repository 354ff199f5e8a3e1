import { describe, expect, it } from 'vitest'
import { idLiteral } from '../../../../../stores/mysql/literals.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { placed } from '../../../../../stores/mysql/tuples.ts'
import { openMysqlCounterRecords } from '../../../../../subgraphs/feed/stores/mysql/counters/counter-records.ts'
import { selectTotals } from '../../../../../subgraphs/feed/stores/mysql/counters/statements.ts'
import { counterRecordsContract } from '../../../../contracts/feed/counter-records.ts'
import { COUNTER_REGIONS } from '../../../../contracts/feed/counter-samples.ts'
import { openedBy } from '../../../../contracts/opened-store.ts'
import { numbered } from '../../../../contracts/reports.ts'
import { makeDatabase, mariadb } from '../../../../stores/mysql/databases.ts'

describe.skipIf(mariadb === undefined)('the record store of counters on MariaDB', () => {
  counterRecordsContract('MariaDB', async () => {
    const { url, database, drop } = await makeDatabase()
    await migrateMysql(database)
    return openedBy(COUNTER_REGIONS, () => openMysqlCounterRecords({ url, regions: COUNTER_REGIONS }), drop)
  })

  it('a lookup of many subjects reads each by the primary key', async () => {
    const { url, database, drop } = await makeDatabase()
    await migrateMysql(database)
    const store = await openMysqlCounterRecords({ url, regions: COUNTER_REGIONS })
    await store.putTotals(numbered(5_000).map((oid) => ({ subject: { business: 4, oid }, version: 1, counts: { read: 1 } })))
    await store.close()
    await database.send('ANALYZE TABLE feed_counts')
    const { rows } = await database.send(`EXPLAIN ${selectTotals(placed(numbered(128).map((oid) => ['4', idLiteral(oid)])))}`)
    expect(rows.filter((row) => row[2] === 'f').map((row) => [row[3], row[5]])).toEqual([['eq_ref', 'PRIMARY']])
    await drop()
  })
})
