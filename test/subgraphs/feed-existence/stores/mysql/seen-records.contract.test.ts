import { describe } from 'vitest'
import { bytesLiteral } from '../../../../../stores/mysql/literals.ts'
import { packFilterKey } from '../../../../../subgraphs/feed-existence/stores/mysql/put.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { openMysqlSeenRecords } from '../../../../../subgraphs/feed-existence/stores/mysql/record-store.ts'
import { seenRecordsContract } from '../../../../contracts/feed-existence/record-store.ts'
import { makeDatabase, mariadb } from '../../../../stores/mysql/databases.ts'

describe.skipIf(mariadb === undefined)('the record store of filters on MariaDB', () => {
  seenRecordsContract('MariaDB', async () => {
    const { url, database, drop } = await makeDatabase()
    await migrateMysql(database)
    const open = () => openMysqlSeenRecords({ url, regions: 100 })
    let store = await open()
    const second = await open()
    return {
      store,
      second,
      async reopen() {
        await store.close()
        return (store = await open())
      },
      async damage(key, bytes) {
        const [viewer, month] = packFilterKey(key).key
        const columns = `bytes = ${bytes.length}, filter = ${bytesLiteral(bytes)}`
        await database.send(`UPDATE seen_filters SET ${columns} WHERE viewer = ${viewer} AND month = ${month}`)
      },
      async dispose() {
        await Promise.all([store.close(), second.close()])
        await drop()
      },
    }
  })
})
