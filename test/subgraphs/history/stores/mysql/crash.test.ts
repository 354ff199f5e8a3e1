import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../../../core/clock.ts'
import { openDatabase } from '../../../../../stores/mysql/database.ts'
import { openMysqlRecordStore } from '../../../../../subgraphs/history/stores/mysql/record-store.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { keyOf, numbered, report } from '../../../../contracts/reports.ts'
import { makeServer, mariadb, type OwnServer } from '../../../../stores/mysql/databases.ts'

const NOW = 1_700_000_000_000
const ROWS = 400

describe.skipIf(mariadb === undefined)('kill -9 of MariaDB', () => {
  let server: OwnServer
  beforeAll(async () => {
    server = await makeServer()
    await server.start()
    const database = openDatabase(systemClock, { url: server.url })
    await migrateMysql(database)
    await database.close()
  })
  afterAll(async () => server?.remove())

  it('loses nothing acknowledged, stores no partial batch, and the store recovers by itself', async () => {
    const store = await openMysqlRecordStore({ url: server.url, regions: 100, connectTimeoutMs: 2_000 })
    const acknowledged = new Map<string, number>()
    const rowsOf = (viewer: string, round: number) =>
      numbered(ROWS).map((oid) => ({ key: keyOf(viewer, oid), record: report(NOW + round, { position: round, version: round + 1 }) }))
    const attempted = new Map<string, number>()
    let failures = 0
    let running = true
    const writers = numbered(4).map(async (viewer) => {
      for (let round = 1; running; round++) {
        attempted.set(viewer, round)
        try {
          await store.putProgress(rowsOf(viewer, round))
          acknowledged.set(viewer, round)
        } catch (error) {
          expect(error).toMatchObject({ code: 'RECORD_STORE_UNAVAILABLE' })
          failures += 1
          await sleep(20)
        }
      }
    })
    for (let kills = 0; kills < 3; kills++) {
      await sleep(300 + Math.random() * 300)
      await server.kill()
      await sleep(100)
      await server.start()
    }
    await sleep(500)
    running = false
    await Promise.all(writers)
    expect(failures).toBeGreaterThan(0)
    for (const viewer of numbered(4)) {
      const rounds = new Set(
        (await store.getProgressMany(numbered(ROWS).map((oid) => keyOf(viewer, oid)))).map((record) => record?.position),
      )
      expect(rounds.size, `viewer ${viewer} has rows of the rounds ${[...rounds].join()}`).toBe(1)
      const [round] = rounds
      expect(round).toBeGreaterThanOrEqual(acknowledged.get(viewer) ?? 0)
      expect(round).toBeLessThanOrEqual(attempted.get(viewer) ?? 0)
    }
    await store.close()
  })
})
