import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { idLiteral } from '../../../../../stores/mysql/literals.ts'
import { migrateMysql } from '../../../../../stores/mysql/schema-version.ts'
import { placed } from '../../../../../stores/mysql/tuples.ts'
import { postKeyTuple } from '../../../../../subgraphs/feed/stores/mysql/put.ts'
import { openMysqlFeedRecords } from '../../../../../subgraphs/feed/stores/mysql/record-store.ts'
import * as statements from '../../../../../subgraphs/feed/stores/mysql/statements.ts'
import { REGIONS, deletedPost, somePost } from '../../../../contracts/feed/record-posts.ts'
import { numbered } from '../../../../contracts/reports.ts'
import { makeDatabase, mariadb, type TestDatabase } from '../../../../stores/mysql/databases.ts'

const authors = Array.from({ length: 200 }, (_, place) => String(place * 37))
const posts = numbered(20).flatMap((round) =>
  authors.map((author) => somePost({ author, ...(Number(round) % 4 === 0 && { audience: ['7', 'a', author] }) })),
)
const keys = placed(posts.slice(0, 128).map(({ id }) => postKeyTuple(id)))
const inboxKeys = posts.slice(0, 128).map(({ id }) => [idLiteral('7'), idLiteral(id)])

describe.skipIf(mariadb === undefined)('the plans of MariaDB for the feed', () => {
  let test: TestDatabase
  beforeAll(async () => {
    test = await makeDatabase()
    await migrateMysql(test.database)
    const store = await openMysqlFeedRecords({ url: test.url, regions: REGIONS })
    await store.putPosts(posts)
    await store.putPosts(posts.filter((_, place) => place % 10 === 0).map((post) => deletedPost(post)))
    await store.putWords(authors.map((viewer) => ({ viewer, words: { words: ['a'], version: 1 } })))
    await store.close()
    await test.database.send('ANALYZE TABLE feed_posts, feed_inbox, feed_words')
  })
  afterAll(async () => test?.drop())

  /** The steps that read our tables: type, key, extra. */
  async function plan(sql: string): Promise<{ type: string; key: string; extra: string }[]> {
    const { rows } = await test.database.send(`EXPLAIN ${sql}`)
    return rows
      .map((row) => ({ table: String(row[2]), type: String(row[3]), key: String(row[5]), extra: String(row[9]) }))
      .filter(({ table }) => ['f', 'feed_posts', 'feed_inbox', 'feed_words'].includes(table))
  }

  it.each([
    ['a lookup', statements.selectPosts(keys)],
    ['a locking read', statements.lockPosts(keys)],
    ['a read of filter words', statements.selectWords(placed(authors.slice(0, 128).map((viewer) => [idLiteral(viewer)])))],
    ['a removal from inboxes', statements.deleteInbox(inboxKeys)],
  ])('%s of many keys reads each by the primary key', async (_name, sql) => {
    expect(await plan(sql)).toMatchObject([{ type: 'eq_ref', key: 'PRIMARY' }])
  })

  it('a page of outboxes reads the index alone, without sorting, from the newest and from a cursor', async () => {
    for (const before of [undefined, posts[1_000]?.id]) {
      const steps = await plan(statements.selectOutboxes(authors, before, 5))
      expect(steps).toHaveLength(authors.length)
      for (const { type, key, extra } of steps) {
        expect({ type, key }).toEqual({ type: before === undefined ? 'ref' : 'range', key: 'feed_outbox' })
        expect(extra).toContain('Using index')
        expect(extra).not.toContain('filesort')
      }
    }
  })

  it('a page of inboxes reads the primary key, without sorting', async () => {
    for (const before of [undefined, posts[1_000]?.id]) {
      for (const { key, extra } of await plan(statements.selectInboxes(['7', 'a', '37'], before, 5))) {
        expect(key).toBe('PRIMARY')
        expect(extra).toContain('Using index')
        expect(extra).not.toContain('filesort')
      }
    }
  })

  it('a page reads as many rows as it has, however long the list is', async () => {
    await test.database.session(async (session) => {
      const rowsRead = async (): Promise<number> => {
        const { rows } = await session.send("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return rows.reduce((sum, [, value]) => sum + Number(value), 0)
      }
      const before = await rowsRead()
      await session.send(statements.selectInboxes(['a'], undefined, 10))
      const asked = await rowsRead()
      expect(asked - before).toBeLessThan(40)
    })
  })

  it('a purge is a range of the index of tombstones, without sorting', async () => {
    const steps = await plan(statements.deleteTombstones(2 ** 50, 100))
    expect(steps).toMatchObject([{ type: 'range', key: 'feed_deleted', extra: expect.not.stringContaining('filesort') }])
  })
})
