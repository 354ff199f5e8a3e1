import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { openDatabase } from '../../../stores/mysql/database.ts'
import { checkMysql, versionFinding } from '../../../stores/mysql/doctor.ts'
import { migrateMysql } from '../../../stores/mysql/schema-version.ts'
import { makeDatabase, makeServer, mariadb, type OwnServer, type TestDatabase } from './databases.ts'

describe.skipIf(mariadb === undefined)('the check of MariaDB', () => {
  let test: TestDatabase
  let careless: OwnServer
  beforeAll(async () => {
    test = await makeDatabase()
    careless = await makeServer([
      '--innodb-flush-log-at-trx-commit=2',
      '--log-bin',
      '--binlog-format=STATEMENT',
      '--max-allowed-packet=65536',
    ])
    await careless.start()
  })
  afterAll(async () => {
    await test?.drop()
    await careless?.remove()
  })

  const wrongOf = async (database: TestDatabase['database'], clock = systemClock) =>
    (await checkMysql(database, clock))
      .filter((found) => found.level !== 'good')
      .map((found) => `${found.level} ${found.subject}: ${found.sentence}`)

  it('finds on the server of scripts/services only its fast settings, and the missing schema until it is migrated', async () => {
    const quick = expect.stringMatching(/^doubtful binary log: binlog_format is ROW, sync_binlog 0/) as string
    expect(await wrongOf(test.database)).toEqual(['wrong schema: there is no schema: run `tidemark migrate`', quick])
    await migrateMysql(test.database)
    expect(await wrongOf(test.database)).toEqual([quick])
    expect((await checkMysql(test.database)).find(({ subject }) => subject === 'change feed')?.sentence).toBe(
      'the binary log can be followed',
    )
    const unfollowed = await checkMysql(test.database, systemClock, false)
    expect(unfollowed.map(({ subject }) => subject)).not.toContain('change feed')
  })

  it('names settings that lose data and their correct values', async () => {
    const database = openDatabase(systemClock, { url: careless.url })
    const wrong = (await wrongOf(database)).join('\n')
    expect(wrong).toMatch(/innodb_flush_log_at_trx_commit is 2: set it to 1/)
    expect(wrong).toMatch(/binlog_format is STATEMENT: set it to ROW/)
    expect(wrong).toMatch(/max_allowed_packet is 65536: set it to 8388608/)
    await database.close()
  })

  it('detects clock differences', async () => {
    const ahead = { ...systemClock, now: () => Date.now() + 60_000 }
    expect((await wrongOf(test.database, ahead)).join()).toMatch(/doubtful clock: the server's clock is off by (59|60)\d{3} ms/)
  })
})

describe('the version of a server', () => {
  it.each([
    ['10.11.19-MariaDB-0+deb12u1', 'good'],
    ['11.4.2-MariaDB', 'good'],
    ['10.6.18-MariaDB', 'wrong'],
    ['8.0.36', 'good'],
    ['8.4.0', 'good'],
    ['5.7.44-log', 'wrong'],
    ['8.0.11-TiDB-v7.5.1', 'good'],
    ['5.7.25-TiDB-v5.4.0', 'wrong'],
  ])('%s is %s', (version, level) => expect(versionFinding(version).level).toBe(level))
})
