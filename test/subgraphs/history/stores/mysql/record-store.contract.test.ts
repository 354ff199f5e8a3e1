import { describe } from 'vitest'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { openMysqlRecordStore } from '../../../../../subgraphs/history/stores/mysql/record-store.ts'
import { recordStoreContract } from '../../../../contracts/history/record-store.ts'
import { makeDatabase, mariadb } from '../../../../stores/mysql/databases.ts'

describe.skipIf(mariadb === undefined)('the record store on MariaDB', () => {
  recordStoreContract('MariaDB', async () => {
    const { url, database, drop } = await makeDatabase()
    await migrateMysql(database)
    const open = () => openMysqlRecordStore({ url, regions: 100 })
    let store = await open()
    return {
      store,
      async reopen() {
        await store.close()
        return (store = await open())
      },
      async dispose() {
        await store.close()
        await drop()
      },
    }
  })
})
