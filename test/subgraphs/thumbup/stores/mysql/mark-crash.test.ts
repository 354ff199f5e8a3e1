import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../../core/clock.ts'
import { openDatabase } from '../../../../../stores/mysql/database.ts'
import { openMysqlMarkRecords } from '../../../../../subgraphs/thumbup/stores/mysql/record-store.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import type { MarkRow } from '../../../../../subgraphs/thumbup/stores/record-store.ts'
import { makeServer, mariadb, type OwnServer } from '../../../../stores/mysql/databases.ts'

const NOW = 1_700_000_000_000
const SUBJECTS = 50
const WRITERS = ['1', '2', '3', '4']

describe.skipIf(mariadb === undefined)('kill -9 of MariaDB under marks', () => {
  let server: OwnServer
  beforeAll(async () => {
    server = await makeServer()
    await server.start()
    const database = openDatabase(systemClock, { url: server.url })
    await migrateMysql(database)
    await database.close()
  })
  afterAll(async () => server?.remove())

  it('loses no acknowledged mark, counts none twice, and moves offsets with their marks', async () => {
    const store = await openMysqlMarkRecords({ url: server.url, regions: 100, connectTimeoutMs: 2_000 })
    const subjects = Array.from({ length: SUBJECTS }, (_, index) => ({ business: 1, oid: String(index) }))
    const rowsOf = (viewer: string, round: number): MarkRow[] =>
      subjects.map((subject) => ({
        key: { viewer, ...subject },
        record: { mark: round % 2 === 0 ? 'LIKE' : 'DISLIKE', markedAt: NOW + round, version: round + 1 },
      }))
    const acknowledged = new Map<string, number>()
    let failures = 0
    let running = true
    const writers = WRITERS.map(async (viewer, partition) => {
      for (let round = 1; running;) {
        try {
          await store.applyMarks(rowsOf(viewer, round), [{ stream: 'flushes', partition, offset: round }])
          acknowledged.set(viewer, round)
          round += 1
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
    expect(await store.recount(subjects)).toEqual([])
    const offsets = await store.getOffsets('flushes')
    for (const [partition, viewer] of WRITERS.entries()) {
      const stored = await store.getMarkMany(subjects.map((subject) => ({ viewer, ...subject })))
      const rounds = new Set(stored.map((record) => (record?.markedAt ?? NOW) - NOW))
      expect(rounds.size, `viewer ${viewer} has marks of the rounds ${[...rounds].join()}`).toBe(1)
      const [round = 0] = rounds
      expect(round).toBeGreaterThanOrEqual(acknowledged.get(viewer) ?? 0)
      expect(offsets[partition]?.offset).toBe(round)
    }
    await store.close()
  })
})
