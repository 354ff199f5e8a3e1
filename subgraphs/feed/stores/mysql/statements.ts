/**
 * All statements of the feed's adapter, in the subset of SQL that MySQL 8, MariaDB 10.11 and TiDB document. `samplePostStatements` returns
 * one of each, for the parser of another database. Arguments are literals already (`literals.ts`).
 *
 * Lists of many owners are read by one limited SELECT per owner, joined by UNION ALL. Each reads only its newest entries in the index.
 * Measured with MariaDB 10.11, for the newest 33 posts of 2,000 authors: 90 to 130 ms. A window function (ROW_NUMBER per author) takes 60 to
 * 90 ms if each author has at most 40 posts. It ranks all posts of each author, and takes 500 to 1,000 ms if 1% of them have 3,000.
 */
import type { ViewerId } from '../../../../core/domain.ts'
import { idLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import { type Tuple, insert, tupleTable } from '../../../../stores/mysql/tuples.ts'
import type { PostId } from '../../packed/post-id.ts'

const POST_KEYS = ['i', 'r', 'p']
const POST_JOIN = 'f.region = k.r AND f.id = k.p'
/** The hint is for TiDB; the others treat it as a comment. */
const HINT = '/*+ INL_JOIN(f) */'
const COLUMNS = 'region, id, author, listed, version, deleted, post'

/** `keys`: (place, region, id). Columns: place, id, post. */
export function selectPosts(keys: readonly Tuple[]): string {
  return `SELECT ${HINT} k.i, f.id, f.post FROM (${tupleTable(POST_KEYS, keys)}) k STRAIGHT_JOIN feed_posts f ON ${POST_JOIN}`
}

/** As `selectPosts`, in the order of the primary key, in which rows are locked. */
export function lockPosts(keys: readonly Tuple[]): string {
  return `${selectPosts(keys)} FOR UPDATE`
}

/** Fails if one of the rows exists. `rows`: (region, id, author, listed, version, deleted or NULL, post). */
export function insertPosts(rows: readonly Tuple[]): string {
  return insert('feed_posts', COLUMNS, rows)
}

/** For existing, locked rows. The author of a post stays. */
export function updatePosts(rows: readonly Tuple[]): string {
  return `${insertPosts(rows)} ON DUPLICATE KEY UPDATE
listed = VALUES(listed), version = VALUES(version), deleted = VALUES(deleted), post = VALUES(post)`
}

/** `rows`: (viewer, id). */
export function insertInbox(rows: readonly Tuple[]): string {
  return `${insert('feed_inbox', 'viewer, id', rows)} ON DUPLICATE KEY UPDATE id = VALUES(id)`
}

/** `rows`: (viewer, id). */
export function deleteInbox(rows: readonly Tuple[]): string {
  return `DELETE f FROM (${tupleTable(['v', 'p'], rows)}) k STRAIGHT_JOIN feed_inbox f ON f.viewer = k.v AND f.id = k.p`
}

/** `rows`: (viewer, version, words). Each assignment reads its own column and those to the right (see the statements of history). */
export function upsertWords(rows: readonly Tuple[]): string {
  return `${insert('feed_words', 'viewer, version, words', rows)} ON DUPLICATE KEY UPDATE
words = CASE WHEN VALUES(version) > version THEN VALUES(words) ELSE words END,
version = GREATEST(version, VALUES(version))`
}

/** `viewers`: (place, viewer). Columns: place, words. */
export function selectWords(viewers: readonly Tuple[]): string {
  return `SELECT ${HINT} k.i, f.words FROM (${tupleTable(['i', 'v'], viewers)}) k STRAIGHT_JOIN feed_words f ON f.viewer = k.v`
}

/** The newest public ids of each author below `before`, up to `limit` of each. Columns: place of the author, id. */
export function selectOutboxes(authors: readonly ViewerId[], before: PostId | undefined, limit: number): string {
  return selectLists(authors, (author) => `feed_posts FORCE INDEX (feed_outbox) WHERE author = ${author} AND listed = 1`, before, limit)
}

/** As `selectOutboxes`. */
export function selectInboxes(viewers: readonly ViewerId[], before: PostId | undefined, limit: number): string {
  return selectLists(viewers, (viewer) => `feed_inbox WHERE viewer = ${viewer}`, before, limit)
}

function selectLists(owners: readonly ViewerId[], rowsOf: (owner: string) => string, before: PostId | undefined, limit: number): string {
  const end = `${before === undefined ? '' : ` AND id < ${idLiteral(before)}`} ORDER BY id DESC LIMIT ${numberLiteral(limit)}`
  return owners.map((owner, place) => `(SELECT ${place} AS i, id FROM ${rowsOf(idLiteral(owner))}${end})`).join(' UNION ALL ')
}

/** Posts that are not deleted, in the order of the primary key, after `after`: (region, id). Columns: id, post. */
export function selectAllPosts(after: Tuple | undefined, limit: number): string {
  const [region, id] = after ?? []
  // A comparison of rows is not a range of the index for every optimizer.
  const place = after === undefined ? '' : ` AND (region > ${region} OR (region = ${region} AND id > ${id}))`
  return `SELECT id, post FROM feed_posts FORCE INDEX (PRIMARY) WHERE deleted IS NULL${place} ORDER BY region, id LIMIT ${numberLiteral(limit)}`
}

/** The same of one author, whose posts are in one region. */
export function selectPostsOf(author: ViewerId, after: PostId | undefined, limit: number): string {
  const place = after === undefined ? '' : ` AND id > ${idLiteral(after)}`
  const posts = `feed_posts FORCE INDEX (feed_outbox) WHERE author = ${idLiteral(author)} AND deleted IS NULL`
  return `SELECT id, post FROM ${posts}${place} ORDER BY id LIMIT ${numberLiteral(limit)}`
}

/** Columns: viewer, words. */
export function selectAllWords(after: ViewerId | undefined, limit: number): string {
  const place = after === undefined ? '' : ` WHERE viewer > ${idLiteral(after)}`
  return `SELECT viewer, words FROM feed_words${place} ORDER BY viewer LIMIT ${numberLiteral(limit)}`
}

/** In the order of the index, so that two purges lock in one order, and no other rows are read. */
export function deleteTombstones(versionBelow: number, limit: number): string {
  return `DELETE FROM feed_posts WHERE deleted < ${numberLiteral(versionBelow)} ORDER BY deleted LIMIT ${numberLiteral(limit)}`
}

export const COUNT_POSTS = 'SELECT COUNT(*) FROM feed_posts WHERE deleted IS NULL'

export function samplePostStatements(): string[] {
  const [one, two] = [`x'0000000000000001'`, `x'8161'`]
  const keys = [
    ['0', '7', one],
    ['1', '99', one],
  ]
  const row = ['7', one, two, '1', '5', 'NULL', `x'0a0161'`]
  return [
    selectPosts(keys),
    lockPosts(keys),
    insertPosts([row]),
    updatePosts([row, row.with(5, '6')]),
    insertInbox([
      [one, one],
      [two, one],
    ]),
    deleteInbox([
      [one, one],
      [two, one],
    ]),
    upsertWords([[two, '5', `x'0a0161'`]]),
    selectWords([
      ['0', one],
      ['1', two],
    ]),
    selectOutboxes(['1'], undefined, 33),
    selectOutboxes(['1', 'a'], '99', 33),
    selectInboxes(['1', 'a'], '99', 33),
    deleteTombstones(2 ** 49, 1_000),
    selectAllPosts(undefined, 100),
    selectAllPosts(['7', one], 100),
    selectPostsOf('a', '99', 100),
    selectAllWords(undefined, 100),
    selectAllWords('a', 100),
    COUNT_POSTS,
  ]
}
