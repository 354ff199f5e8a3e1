import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Database } from '../../../../../stores/mysql/database.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { dropChanges, putChanges, readOutbox } from '../../../../../subgraphs/thumbup/stores/mysql/outbox.ts'
import { makeDatabase, mariadb } from '../../../../stores/mysql/databases.ts'

describe.skipIf(mariadb === undefined)('the outbox of marks on MariaDB', () => {
  let made: Awaited<ReturnType<typeof makeDatabase>>
  beforeEach(async () => {
    made = await makeDatabase()
    await migrateMysql(made.database)
  })
  afterEach(() => made.drop())

  it('a page is not empty because another process drops its changes while it is read', async () => {
    const { database } = made
    const numbers: number[] = []
    for (let at = 0; at < 3; at++) numbers.push(await putChanges(database, { transitions: [], counts: [], owners: [] }))
    let sent = 0
    const disturbed: Database = {
      ...database,
      async send(sql, timeoutMs) {
        if (++sent === 2) await dropChanges(database, numbers.slice(0, 2))
        return database.send(sql, timeoutMs)
      },
    }
    const page = await readOutbox(disturbed, 2, 0)
    expect(page.map(({ number }) => number)).toEqual(numbers.slice(2))
  })
})
