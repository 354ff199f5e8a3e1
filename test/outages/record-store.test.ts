/** MariaDB stopped, killed and restarted under a history subgraph on Redis whose pages go beyond the hot timeline. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import { openMysqlRecordStore } from '../../subgraphs/history/stores/mysql/record-store.ts'
import { openDatabase } from '../../stores/mysql/database.ts'
import { makeServer, mariadb, startMigrated, type OwnServer } from '../stores/mysql/databases.ts'
import { redisIsHere, startRedis, type TestServers } from '../../harness/deployment/redis-servers.ts'
import { makeDataFolder, type Folder } from '../subgraphs/switched-stores.ts'
import { openHistoryOnRedis, readPage, type HistoryOnRedis } from './history-on-redis.ts'
import { until } from '../../harness/until.ts'

const SUBJECTS = 30

describe.skipIf(mariadb === undefined || !(await redisIsHere()))('when MariaDB', () => {
  let redis: TestServers
  let database: OwnServer
  let folder: Folder
  let history: HistoryOnRedis
  beforeAll(async () => {
    redis = await startRedis()
    database = await makeServer()
    await startMigrated(database)
    folder = makeDataFolder()
    const records = await openMysqlRecordStore(
      { url: database.url, regions: 16, connectTimeoutMs: 500, statementTimeoutMs: 2_000 },
      systemClock,
    )
    history = await openHistoryOnRedis(redis.urls, folder.path, records)
    const now = Date.now() - SUBJECTS
    const inputs = Array.from({ length: SUBJECTS }, (_, index) => ({
      business: 'video',
      id: String(index),
      position: 10_000,
      viewedAt: now + index,
    }))
    await history.service.report({ id: '7', scopes: [] }, inputs, new Set())
    // On a busy machine the first connection may time out, and the report then goes through the journal.
    await until('everything is persisted', async () => {
      return (
        (await history.records.countProgress()) === SUBJECTS &&
        (await history.hot.countDirty()) === 0 &&
        (await page()).degraded.length === 0
      )
    })
  })
  afterAll(async () => {
    await history?.stop()
    await redis?.stop()
    await database?.remove()
    folder?.remove()
  })

  /** A page through the API, and its duration. */
  async function page() {
    const degraded: Degraded = new Set()
    const startedAt = performance.now()
    const oids = await readPage(history, '7', degraded)
    return { oids: oids.length, degraded: [...degraded], ms: performance.now() - startedAt }
  }
  const whole = () => until('pages are whole', async () => (await page()).oids === 20)

  async function expectCutWithoutErrors(): Promise<number[]> {
    const times: number[] = []
    for (let round = 0; round < 20; round++) {
      const { ms, ...rest } = await page()
      expect(rest).toEqual({ oids: 10, degraded: ['recordStore'] })
      times.push(ms)
      await sleep(20)
    }
    return times
  }

  it('is up, pages are complete and not degraded', async () => {
    expect(await page()).toMatchObject({ oids: 20, degraded: [] })
  })

  it.each(['kills', 'keeps waiting'])('%s a single read, only that page is incomplete', async (fate) => {
    const administrator = openDatabase(systemClock, { url: database.url })
    await administrator.session(async ({ send }) => {
      await send('LOCK TABLES history WRITE')
      const incomplete = page()
      if (fate === 'kills') {
        await until('the read is killed', async () => {
          const { rows } = await send(`SELECT id FROM information_schema.processlist WHERE state LIKE 'Waiting for table%'`)
          for (const [id] of rows) await send(`KILL QUERY ${String(id)}`)
          return rows.length > 0
        })
      }
      expect(await incomplete).toMatchObject({ oids: 10, degraded: ['recordStore'] })
      await send('UNLOCK TABLES')
    })
    expect(await page()).toMatchObject({ oids: 20, degraded: [] })
    await administrator.close()
  })

  it('hangs, the first page waits for the timeout, the next ones do not, none fails, and all recover afterwards', async () => {
    database.pause()
    // The signal is delivered while this process continues.
    await sleep(100)
    const times = await expectCutWithoutErrors()
    expect(times[0]).toBeLessThan(1_500)
    expect(Math.max(...times.slice(1))).toBeLessThan(450)
    database.resume()
    await whole()
    console.log(`stopped: first page ${Math.round(times[0] ?? 0)} ms, then at most ${Math.round(Math.max(...times.slice(1)))} ms`)
  })

  it('is killed, pages show the hot timeline, writes are accepted, and are stored when it is back', async () => {
    await database.kill()
    await expectCutWithoutErrors()
    const degraded: Degraded = new Set()
    const [glance] = await history.service.report({ id: '7', scopes: [] }, [{ business: 'video', id: '2', position: 3 }], degraded)
    expect(glance).toMatchObject({ outcome: 'ACCEPTED', record: { position: 3 } })
    expect([...degraded]).toEqual(['recordStore'])
    const [fresh] = await history.service.report({ id: '7', scopes: [] }, [{ business: 'video', id: 'new', position: 20_000 }], new Set())
    expect(fresh?.outcome).toBe('ACCEPTED')
    await database.start()
    await whole()
    await until('the glance is merged with the resume point, in both stores', async () => {
      const key = { viewer: '7', business: 1, oid: '2' }
      const [lookup] = await history.hot.getProgressMany([key])
      const [row] = await history.records.getProgressMany([key])
      return lookup?.record?.position === 10_000 && row?.position === 10_000 && (row?.viewedAt ?? 0) > Date.now() - 60_000
    })
    await until('the new one is a row', async () => {
      const [row] = await history.records.getProgressMany([{ viewer: '7', business: 1, oid: 'new' }])
      return row?.position === 20_000
    })
  })
})
