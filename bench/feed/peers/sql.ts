/**
 * A home feed as a first version often has it: tables in MariaDB, one query per followed author, merged in JavaScript. Contents, authors,
 * marks, seen states and counts are read by the ids of the page, one query each. All statements are prepared.
 */
import { createConnection, createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import type { ViewerId } from '../../../core/domain.ts'
import type { Facts } from '../../../harness/samples/stored-facts.ts'
import { createdAtOf } from '../../../subgraphs/feed/packed/post-id.ts'
import type { Dataset } from '../dataset.ts'
import { PAGE_SIZE, type PeerPage } from './page.ts'

const TABLES = `
CREATE TABLE peer_users (id BIGINT PRIMARY KEY, followers BIGINT NOT NULL);
CREATE TABLE peer_follows (viewer BIGINT, author BIGINT, PRIMARY KEY (viewer, author));
CREATE TABLE peer_posts (id BIGINT PRIMARY KEY, author BIGINT NOT NULL, created_at BIGINT NOT NULL, source BIGINT NULL, text TEXT NOT NULL,
  media TEXT NOT NULL, KEY (author, id));
CREATE TABLE peer_likes (viewer BIGINT, post BIGINT, PRIMARY KEY (viewer, post));
CREATE TABLE peer_seen (viewer BIGINT, post BIGINT, PRIMARY KEY (viewer, post));
CREATE TABLE peer_counts (post BIGINT PRIMARY KEY, likes BIGINT NOT NULL, reposts BIGINT NOT NULL, comments BIGINT NOT NULL,
  views BIGINT NOT NULL);
`
const CONNECTIONS = 8
const ROWS_AT_ONCE = 2_000

export async function fillSql(url: string, { authors, posts, follows, likes, seen, counts }: Dataset): Promise<void> {
  const database = await createConnection({ uri: url, multipleStatements: true })
  try {
    await database.query(TABLES)
    const insert = async (table: string, rows: readonly (readonly (string | number | null)[])[]): Promise<void> => {
      for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
        await database.query(`INSERT INTO ${table} VALUES ?`, [rows.slice(at, at + ROWS_AT_ONCE)])
    }
    const pairs = (facts: readonly Facts[]): string[][] => facts.flatMap(({ viewer, oids }) => oids.map((oid) => [viewer, oid]))
    const [followers, liked] = [tallyOf(follows), tallyOf(likes)]
    await insert(
      'peer_users',
      authors.map((author) => [author, followers.get(author) ?? 0]),
    )
    await insert(
      'peer_posts',
      posts.map(({ id, author, source, text, media }) => [id, author, createdAtOf(id), source ?? null, text, JSON.stringify(media)]),
    )
    await insert(
      'peer_counts',
      counts.map(({ id, reposts, comments, reads }) => [id, liked.get(id) ?? 0, reposts, comments, reads]),
    )
    await insert('peer_follows', pairs(follows))
    await insert('peer_likes', pairs(likes))
    await insert('peer_seen', pairs(seen))
    await database.query('ANALYZE TABLE peer_posts, peer_follows')
  } finally {
    await database.end()
  }
}

/** The number of viewers by thing. */
export function tallyOf(facts: readonly Facts[]): Map<string, number> {
  const tally = new Map<string, number>()
  for (const { oids } of facts) for (const oid of oids) tally.set(oid, (tally.get(oid) ?? 0) + 1)
  return tally
}

type Row = RowDataPacket & Record<string, string | number | null>

export function makeSqlReader(url: string): (viewer: ViewerId) => Promise<PeerPage> {
  const pool: Pool = createPool({ uri: url, connectionLimit: CONNECTIONS, supportBigNumbers: true, bigNumberStrings: true })
  const ask = async (sql: string, values: readonly (string | number)[]): Promise<Row[]> => (await pool.execute<Row[]>(sql, [...values]))[0]
  const among = (ids: readonly string[]): string => `(${ids.map(() => '?').join(',')})`

  return async (viewer) => {
    const followed = await ask('SELECT author FROM peer_follows WHERE viewer = ?', [viewer])
    const newest = 'SELECT id FROM peer_posts WHERE author = ? ORDER BY id DESC LIMIT 20'
    const lists = await Promise.all(followed.map(({ author }) => ask(newest, [author as number])))
    const ids = lists
      .flat()
      .map(({ id }) => BigInt(id as string))
      .sort((a, b) => (a < b ? 1 : -1))
      .slice(0, PAGE_SIZE)
      .map(String)
    const rows = await ask(`SELECT * FROM peer_posts WHERE id IN ${among(ids)}`, ids)
    const authors = rows.map(({ author }) => String(author))
    const sources = rows.flatMap(({ source }) => (source === null ? [] : [String(source)]))
    const [users, counts, liked, seen, sourceRows] = await Promise.all([
      ask(`SELECT * FROM peer_users WHERE id IN ${among(authors)}`, authors),
      ask(`SELECT * FROM peer_counts WHERE post IN ${among(ids)}`, ids),
      ask(`SELECT post FROM peer_likes WHERE viewer = ? AND post IN ${among(ids)}`, [viewer, ...ids]),
      ask(`SELECT post FROM peer_seen WHERE viewer = ? AND post IN ${among(ids)}`, [viewer, ...ids]),
      sources.length === 0 ? [] : ask(`SELECT id, author, text FROM peer_posts WHERE id IN ${among(sources)}`, sources),
    ])
    const by = (found: readonly Row[], key: string) => new Map(found.map((row) => [String(row[key]), row]))
    const [post, user, count, like, watched, source] = [
      by(rows, 'id'),
      by(users, 'id'),
      by(counts, 'post'),
      by(liked, 'post'),
      by(seen, 'post'),
      by(sourceRows, 'id'),
    ]
    const posts = ids.map((id) => {
      const row = post.get(id) as Row
      const from = source.get(String(row['source']))
      return {
        id,
        text: row['text'] as string,
        media: JSON.parse(row['media'] as string) as string[],
        author: { id: String(row['author']), followerCount: Number(user.get(String(row['author']))?.['followers']) },
        source:
          from === undefined ? null : { id: String(from['id']), text: from['text'] as string, author: { id: String(from['author']) } },
        likeCount: Number(count.get(id)?.['likes'] ?? 0),
        repostCount: Number(count.get(id)?.['reposts'] ?? 0),
        commentCount: Number(count.get(id)?.['comments'] ?? 0),
        readCount: Number(count.get(id)?.['views'] ?? 0),
        viewerMark: like.has(id) ? ('LIKE' as const) : ('NONE' as const),
        viewerSeen: watched.has(id),
      }
    })
    return { posts, endCursor: ids.at(-1) }
  }
}
