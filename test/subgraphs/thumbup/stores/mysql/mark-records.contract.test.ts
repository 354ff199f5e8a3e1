import { describe } from 'vitest'
import { idLiteral } from '../../../../../stores/mysql/literals.ts'
import { openMysqlMarkRecords } from '../../../../../subgraphs/thumbup/stores/mysql/record-store.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { markRecordsContract } from '../../../../contracts/thumbup/record-store.ts'
import { makeDatabase, mariadb } from '../../../../stores/mysql/databases.ts'

describe.skipIf(mariadb === undefined)('the record store of marks on MariaDB', () => {
  markRecordsContract('MariaDB', async () => {
    const { url, database, drop } = await makeDatabase()
    await migrateMysql(database)
    const open = () => openMysqlMarkRecords({ url, regions: 100 })
    let store = await open()
    return {
      store,
      async reopen() {
        await store.close()
        return (store = await open())
      },
      plant: {
        async counts({ business, oid }, { likes, dislikes }) {
          const where = `business = ${business} AND oid = ${idLiteral(oid)}`
          await database.send(`UPDATE counts SET likes = ${likes}, dislikes = ${dislikes} WHERE ${where}`)
        },
        async ownerSum({ business, owner }, likes) {
          await database.send(`UPDATE owners SET likes = ${likes} WHERE business = ${business} AND owner = ${idLiteral(owner)}`)
        },
      },
      async dispose() {
        await store.close()
        await drop()
      },
    }
  })
})
