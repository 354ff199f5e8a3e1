import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openMysqlRecordStore } from '../../../subgraphs/history/stores/mysql/record-store.ts'
import { codeSchemaVersion, migrateMysql, printMigrations } from '../../../stores/mysql/schema-version.ts'
import { sampleFeedStatements } from '../../../subgraphs/thumbup/change-feed/mysql/feed-places.ts'
import { sampleMarkStatements } from '../../../harness/stores/mark-statement-samples.ts'
import { sampleSeenStatements } from '../../../subgraphs/feed-existence/stores/mysql/statements.ts'
import { samplePostStatements } from '../../../subgraphs/feed/stores/mysql/statements.ts'
import { sampleCountStatements } from '../../../subgraphs/feed/stores/mysql/counters/statements.ts'
import { sampleStatements } from '../../../subgraphs/history/stores/mysql/statements.ts'
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
      'counts deployment feed_counts feed_inbox feed_places feed_posts feed_words heartbeats history likes mark_blocks offsets outbox owners schema_version seen_filters seen_quarantine viewer_settings'
    expect(new Set(await tables())).toEqual(new Set(names.split(' ')))
    await open()
  })

  it('that is missing is refused with the command that creates it', async () => {
    await expect(open()).rejects.toMatchObject({ code: 'DATA_INCOMPATIBLE', message: expect.stringContaining('run `tidemark migrate`') })
  })

  it('that is newer than the program is refused for writing and migrating', async () => {
    await migrateMysql(test.database)
    await test.database.send(`INSERT INTO schema_version VALUES (${codeSchemaVersion() + 1}, 0)`)
    const refusal = { code: 'DATA_INCOMPATIBLE', message: expect.stringContaining('newer Tidemark') }
    await expect(open()).rejects.toMatchObject(refusal)
    await expect(migrateMysql(test.database)).rejects.toMatchObject(refusal)
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
