import { describe } from 'vitest'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { openMysqlFeedRecords } from '../../../../../subgraphs/feed/stores/mysql/record-store.ts'
import { REGIONS } from '../../../../contracts/feed/record-posts.ts'
import { feedRecordsContract } from '../../../../contracts/feed/record-store.ts'
import { openedBy } from '../../../../contracts/opened-store.ts'
import { makeDatabase, mariadb } from '../../../../stores/mysql/databases.ts'

describe.skipIf(mariadb === undefined)('the record store of the feed on MariaDB', () => {
  feedRecordsContract('MariaDB', async () => {
    const { url, database, drop } = await makeDatabase()
    await migrateMysql(database)
    return openedBy(REGIONS, () => openMysqlFeedRecords({ url, regions: REGIONS }), drop)
  })
})
