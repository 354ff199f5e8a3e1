import { describe, expect, it } from 'vitest'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { openMysqlFeedRecords } from '../../../../../subgraphs/feed/stores/mysql/record-store.ts'
import { REGIONS } from '../../../../contracts/feed/record-posts.ts'
import { feedRecordsContract } from '../../../../contracts/feed/record-store.ts'
import { numbered } from '../../../../contracts/reports.ts'
import { openedBy } from '../../../../contracts/opened-store.ts'
import { makeDatabase, mariadb } from '../../../../stores/mysql/databases.ts'

describe.skipIf(mariadb === undefined)('the record store of the feed on MariaDB', () => {
  feedRecordsContract('MariaDB', async () => {
    const { url, database, drop } = await makeDatabase()
    await migrateMysql(database)
    return openedBy(REGIONS, () => openMysqlFeedRecords({ url, regions: REGIONS }), drop)
  })

  it('a read of thousands of lists waits for no connection if it has half of them', async () => {
    const { url, database, drop } = await makeDatabase()
    await migrateMysql(database)
    // The whole read takes many times this long.
    const store = await openMysqlFeedRecords({ url, regions: REGIONS, connectionsMax: 8, waitTimeoutMs: 150 })
    const authors = numbered(20_000)
    await Promise.all(numbered(8).map(() => store.check()))
    expect(await store.listOutboxMany(authors, undefined, 32)).toHaveLength(20_000)
    await store.close()
    await drop()
  })
})
