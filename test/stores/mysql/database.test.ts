/** The pool on a MariaDB that loses connections, or allows fewer than the pool wants. */
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'
import { openDatabase, type Database } from '../../../stores/mysql/database.ts'
import { SHARE_MS } from '../../../stores/mysql/pool.ts'
import { makeServer, mariadb, type OwnServer } from './databases.ts'
import { makeStatementProxy, type StatementProxy } from './statement-proxy.ts'

describe.skipIf(mariadb === undefined)('a statement whose connection is lost', () => {
  let proxy: StatementProxy
  let database: Database
  beforeAll(async () => {
    proxy = await makeStatementProxy(mariadb as string)
    database = openDatabase(systemClock, { url: proxy.url, connectionsMax: 2 })
  })
  afterAll(async () => {
    await database?.close()
    await proxy?.close()
  })

  /** The connection is lost at the first `losses` statements with this name. Returns a function that counts those statements. */
  function lose(name: string, losses: number): () => number {
    let sent = 0
    proxy.setJudge((sql) => (sql.includes(name) && ++sent <= losses ? 'cut' : 'pass'))
    return () => sent
  }

  it('is sent again if it is a read, and answered', async () => {
    const sent = lose('read_once', 1)
    expect((await database.send('SELECT 7 AS read_once')).rows).toEqual([[7]])
    expect(sent()).toBe(2)
  })

  it('is sent again only once', async () => {
    const sent = lose('read_twice', 2)
    await expect(database.send('SELECT 7 AS read_twice')).rejects.toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
    expect(sent()).toBe(2)
  })

  it('is left to its caller if it is a change', async () => {
    const sent = lose('changed', 1)
    await expect(database.send('SET @changed = 1')).rejects.toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
    expect(sent()).toBe(1)
  })
})

describe.skipIf(mariadb === undefined)('an account with fewer connections than the pool', () => {
  let server: OwnServer
  beforeAll(async () => {
    server = await makeServer()
    await server.start()
  })
  afterAll(async () => server?.remove())

  it('has every call answered on the connections that it has, and gets more once the server allows them', async () => {
    const root = await createConnection({ socketPath: server.socket, user: 'root' })
    await root.query(`CREATE USER 'few'@'127.0.0.1' IDENTIFIED BY 'few' WITH MAX_USER_CONNECTIONS 3`)
    await root.query(`GRANT SELECT ON tidemark.* TO 'few'@'127.0.0.1'`)
    const clock = makeSteppedClock()
    const database = openDatabase(clock, { url: server.url, user: 'few', password: 'few', connectionsMax: 8 })
    /** The number of connections that answer many calls at once. */
    async function used(): Promise<number> {
      const calls = Array.from({ length: 24 }, () => database.send('SELECT CONNECTION_ID(), SLEEP(0.02)'))
      return new Set((await Promise.all(calls)).map(({ rows }) => rows[0]?.[0])).size
    }
    expect([await used(), await used()]).toEqual([3, 3])

    await root.query(`ALTER USER 'few'@'127.0.0.1' WITH MAX_USER_CONNECTIONS 6`)
    await root.query('FLUSH PRIVILEGES')
    expect(await used()).toBe(3)
    clock.advance(SHARE_MS)
    expect([await used(), await used()]).toEqual([6, 6])

    await database.close()
    expect(clock.pending()).toBe(0)
    await root.end()
  })
})
