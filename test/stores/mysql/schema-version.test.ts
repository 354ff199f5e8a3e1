import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openMysqlRecordStore } from '../../../subgraphs/history/stores/mysql/record-store.ts'
import { codeSchemaVersion, migrateMysql, printMigrations, readMigrations, statementsOf } from '../../../stores/mysql/schema-version.ts'
import { sampleFeedStatements } from '../../../subgraphs/thumbup/change-feed/mysql/feed-places.ts'
import { sampleMarkStatements } from '../../../harness/stores/mark-statement-samples.ts'
import { sampleSeenStatements } from '../../../subgraphs/feed-existence/stores/mysql/statements.ts'
import { samplePostStatements } from '../../../subgraphs/feed/stores/mysql/statements.ts'
import { sampleCountStatements } from '../../../subgraphs/feed/stores/mysql/counters/statements.ts'
import { sampleStatements } from '../../../subgraphs/history/stores/mysql/statements.ts'
import { sampleTracesStatements } from '../../../subgraphs/thumbup/stores/mysql/traces-statements.ts'
import { makeDatabase, mariadb, type TestDatabase } from './databases.ts'

describe.skipIf(mariadb === undefined)('the schema', () => {
  let test: TestDatabase
  beforeEach(async () => {
    test = await makeDatabase()
  })
  afterEach(async () => test?.drop())

  const open = async (regions = 100) => (await openMysqlRecordStore({ url: test.url, regions })).close()
  const tables = async () => (await test.database.send('SHOW TABLES')).rows.map((row) => row[0])

  it('is created once, for any number of concurrent migrations', async () => {
    const applied = await Promise.all([migrateMysql(test.database), migrateMysql(test.database)])
    expect(applied.flat()).toHaveLength(codeSchemaVersion())
    const names =
      'counts deployment feed_counts feed_inbox feed_places feed_posts feed_words heartbeats history likes mark_blocks offsets outbox owners schema_support schema_version seen_filters seen_quarantine viewer_settings'
    expect(new Set(await tables())).toEqual(new Set(names.split(' ')))
    await open()
  })

  it('that is missing is refused with the command that creates it', async () => {
    await expect(open()).rejects.toMatchObject({ code: 'DATA_INCOMPATIBLE', message: expect.stringContaining('run `tidemark migrate`') })
  })

  const makeNewer = async (oldest: number): Promise<void> => {
    await migrateMysql(test.database)
    await test.database.send(`INSERT INTO schema_version VALUES (${codeSchemaVersion() + 1}, 0)`)
    await test.database.send(`UPDATE schema_support SET oldest = ${oldest}`)
  }

  it('that is newer than the program is refused for writing and migrating, unless it supports the program', async () => {
    await makeNewer(codeSchemaVersion() + 1)
    const refusal = { code: 'DATA_INCOMPATIBLE', message: expect.stringMatching(/and programs from version \d+ on.*newer Tidemark/) }
    await expect(open()).rejects.toMatchObject(refusal)
    await expect(migrateMysql(test.database)).rejects.toMatchObject(refusal)
  })

  it('that is newer and supports the program is used, and is not migrated', async () => {
    await makeNewer(codeSchemaVersion())
    await open()
    expect(await migrateMysql(test.database)).toEqual([])
  })

  it('that is newer and does not say which programs it supports is refused', async () => {
    await makeNewer(codeSchemaVersion())
    await test.database.send('DROP TABLE schema_support')
    await expect(open()).rejects.toMatchObject({ code: 'DATA_INCOMPATIBLE', message: expect.stringContaining('newer Tidemark') })
  })

  it('says in each migration which older programs it supports', () => {
    const since = readMigrations().filter(({ version }) => version >= 7)
    for (const { version, name, text } of since) {
      const oldest = /REPLACE INTO schema_support \(id, oldest\) VALUES \(1, (\d+)\)$/.exec(statementsOf(text).at(-1) ?? '')
      expect(oldest, name).not.toBeNull()
      expect(Number(oldest?.[1]), name).toBeLessThanOrEqual(version)
    }
  })

  it('that is older than the program is refused', async () => {
    await migrateMysql(test.database)
    await test.database.send('DELETE FROM schema_version')
    await expect(open()).rejects.toMatchObject({
      code: 'DATA_INCOMPATIBLE',
      message: expect.stringMatching(/has version 0.*tidemark migrate/),
    })
  })

  it('that was interrupted is completed by another migration', async () => {
    await migrateMysql(test.database)
    await test.database.send('DROP TABLE deployment')
    await test.database.send('DELETE FROM schema_version')
    await migrateMysql(test.database)
    await open()
  })

  it('can be created from its printed text', async () => {
    const statements = printMigrations()
      .replaceAll(/^--.*$/gm, '')
      .split(';\n')
    for (const statement of statements) if (statement.trim() !== '') await test.database.send(statement)
    await open()
  })

  it('has one number of regions for good', async () => {
    await migrateMysql(test.database)
    await open(100)
    await open(100)
    await expect(open(64)).rejects.toMatchObject({ code: 'DATA_INCOMPATIBLE', message: expect.stringMatching(/100 regions.*64/) })
  })

  it('accepts every statement of the adapter', async () => {
    await migrateMysql(test.database)
    await test.database.send('DELETE FROM schema_version')
    for (const statement of [
      ...sampleStatements(),
      ...sampleTracesStatements(),
      ...sampleFeedStatements(),
      ...sampleSeenStatements(),
      ...samplePostStatements(),
      ...sampleCountStatements(),
    ])
      await test.database.send(statement)
    await test.database.session(async (session) => {
      for (const statement of sampleMarkStatements()) await session.send(statement)
    })
  })
})
