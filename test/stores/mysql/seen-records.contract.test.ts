import { describe } from 'vitest'
import { migrateMysql } from '../../../stores/mysql/schema-version.ts'
import { openMysqlSeenRecords } from '../../../stores/mysql/seen-records.ts'
import { seenRecordsContract } from '../../contracts/seen-records.ts'
import { makeDatabase, mariadb } from './databases.ts'

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
      async dispose() {
        await Promise.all([store.close(), second.close()])
        await drop()
      },
    }
  })
})
