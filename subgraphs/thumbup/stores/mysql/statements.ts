/**
 * Every statement of the marks' adapter, in the subset of SQL that MySQL 8, MariaDB 10.11 and TiDB document. `mark-statement-samples.ts`
 * has one of each, for the parser of another database.
 *
 * Statements take texts that are already literals (`literals.ts`): a transaction sends the same ids several times and packs them once. A
 * list of keys is joined as a table and read in its order, each key by the primary key. A locking read therefore takes its locks in the
 * order of that list.
 */
import { numberLiteral } from '../../../../stores/mysql/literals.ts'
import { type Tuple, tupleTable, insert } from '../../../../stores/mysql/tuples.ts'

const KEYS = ['i', 'b', 'v', 'o']
const KEY_JOIN = 'l.business = k.b AND l.viewer = k.v AND l.oid = k.o'
/** The hint is for TiDB. The other databases read it as a comment. */
const MARKS_OF_KEYS = '/*+ INL_JOIN(l) */ k.i, l.mark, l.marked_at, l.version'

/** `keys`: (place, business, viewer, oid). Columns: place, mark, marked_at, version. */
export function selectMarks(keys: readonly Tuple[]): string {
  return `SELECT ${MARKS_OF_KEYS} FROM (${tupleTable(KEYS, keys)}) k STRAIGHT_JOIN likes l ON ${KEY_JOIN}`
}

/** As `selectMarks`, with the covered marks. The rows stay locked until the transaction ends. */
export function lockMarks(keys: readonly Tuple[]): string {
  return `SELECT ${MARKS_OF_KEYS}, l.covers FROM (${tupleTable(KEYS, keys)}) k STRAIGHT_JOIN likes l ON ${KEY_JOIN} FOR UPDATE`
}

/** Fails if one of the rows exists. `rows`: (business, viewer, oid, mark, marked_at, version). */
export function insertMarks(rows: readonly Tuple[]): string {
  return insert('likes', 'business, viewer, oid, mark, marked_at, version', rows)
}

/**
 * Updates existing, locked rows. The guard repeats `winsOver`. Assignments run from left to right, and none reads a column that was
 * assigned before.
 */
export function updateMarks(rows: readonly Tuple[]): string {
  const wins = '(VALUES(marked_at) > marked_at OR (VALUES(marked_at) = marked_at AND VALUES(version) > version))'
  return `${insertMarks(rows)} ON DUPLICATE KEY UPDATE
mark = IF(${wins}, VALUES(mark), mark),
version = IF(${wins}, VALUES(version), version),
marked_at = GREATEST(marked_at, VALUES(marked_at))`
}

/** `rows`: those of `insertMarks`, with the covered marks. */
export function updateCovers(rows: readonly Tuple[]): string {
  return `${insert('likes', 'business, viewer, oid, mark, marked_at, version, covers', rows)} ON DUPLICATE KEY UPDATE covers = VALUES(covers)`
}

export function deleteMarks(keys: readonly Tuple[]): string {
  return `DELETE l FROM (${tupleTable(KEYS, keys)}) k STRAIGHT_JOIN likes l ON ${KEY_JOIN}`
}

/** Adds to counts, and creates missing ones. `rows`: (business, oid, likes, dislikes), in the order of the primary key. */
export function addCounts(rows: readonly Tuple[]): string {
  return `${insert(
    'counts',
    'business, oid, likes, dislikes, version',
    rows.map((row) => [...row, '1']),
  )} ON DUPLICATE KEY UPDATE
likes = likes + VALUES(likes), dislikes = dislikes + VALUES(dislikes), version = version + 1`
}

const SUBJECTS = ['i', 'b', 'o']

/** `subjects`: (place, business, oid). Columns: place, likes, dislikes, version, owner. */
export function selectCounts(subjects: readonly Tuple[]): string {
  return `SELECT /*+ INL_JOIN(c) */ k.i, c.likes, c.dislikes, c.version, c.owner
FROM (${tupleTable(SUBJECTS, subjects)}) k STRAIGHT_JOIN counts c ON c.business = k.b AND c.oid = k.o`
}

/** Creates missing rows, and locks all. `subjects`: (business, oid), in the order of the primary key. */
export function lockCounts(subjects: readonly Tuple[]): string {
  const rows = subjects.map((subject) => [...subject, '0', '0', '0'])
  return `${insert('counts', 'business, oid, likes, dislikes, version', rows)} ON DUPLICATE KEY UPDATE version = version`
}

/** `rows`: (business, oid, owner), of existing rows. */
export function updateOwnersOf(rows: readonly Tuple[]): string {
  const whole = rows.map(([business = '', oid = '', owner = '']) => [business, oid, '0', '0', '0', owner])
  return `${insert('counts', 'business, oid, likes, dislikes, version, owner', whole)} ON DUPLICATE KEY UPDATE owner = VALUES(owner)`
}

/** `rows`: (business, owner, likes), in the order of the primary key. */
export function addOwnerSums(rows: readonly Tuple[]): string {
  return `${insert(
    'owners',
    'business, owner, likes, version',
    rows.map((row) => [...row, '1']),
  )} ON DUPLICATE KEY UPDATE likes = likes + VALUES(likes), version = version + 1`
}

const OWNERS = ['i', 'b', 'w']

/** `owners`: (place, business, owner). Columns: place, likes, version. */
export function selectOwnerSums(owners: readonly Tuple[]): string {
  return `SELECT /*+ INL_JOIN(s) */ k.i, s.likes, s.version
FROM (${tupleTable(OWNERS, owners)}) k STRAIGHT_JOIN owners s ON s.business = k.b AND s.owner = k.w`
}

/** Likes of all subjects of each owner. Columns: place, likes. */
export function sumOwners(owners: readonly Tuple[]): string {
  return `SELECT /*+ INL_JOIN(c) */ k.i, SUM(c.likes)
FROM (${tupleTable(OWNERS, owners)}) k STRAIGHT_JOIN counts c FORCE INDEX (counts_of_owner) ON c.business = k.b AND c.owner = k.w GROUP BY k.i`
}

/** Keeps the newest. `rows`: (stream, partition, offset). */
export function moveOffsets(rows: readonly Tuple[]): string {
  return `${insert('offsets', 'stream, stream_partition, persisted', rows)} ON DUPLICATE KEY UPDATE persisted = GREATEST(persisted, VALUES(persisted))`
}

/** Columns: partition, offset. */
export function selectOffsets(stream: string): string {
  return `SELECT stream_partition, persisted FROM offsets WHERE stream = ${stream} ORDER BY stream_partition`
}

/** The first part. The server assigns the number. */
export function insertOutbox(changes: string): string {
  return `INSERT INTO outbox (part, changes) VALUES (0, ${changes})`
}

/** A further part. One per statement, since each fills a packet. */
export function insertOutboxPart(number: number, part: number, changes: string): string {
  return `INSERT INTO outbox (number, part, changes) VALUES (${numberLiteral(number)}, ${numberLiteral(part)}, ${changes})`
}

/** Columns: number. Numbers above `after`. */
export function selectOutboxNumbers(limit: number, after: number): string {
  return `SELECT number FROM outbox WHERE part = 0 AND number > ${numberLiteral(after)} ORDER BY number LIMIT ${numberLiteral(limit)}`
}

/** Columns: number, changes. The parts of a number come in order. */
export function selectOutbox(first: number, last: number): string {
  return `SELECT number, changes FROM outbox WHERE number BETWEEN ${numberLiteral(first)} AND ${numberLiteral(last)} ORDER BY number, part`
}

export function deleteOutbox(numbers: readonly number[]): string {
  return `DELETE FROM outbox WHERE number IN (${numbers.map(numberLiteral).join(',')})`
}

/** An end of a list: a viewer's marks (side 0) or a subject's (side 1). */
export type Side = 0 | 1
/** The owner of the blocks: texts of business and id. */
export type ListOwner = { side: Side; business: string; id: string }
/** Texts of a place in a list, or in the order of blocks. */
export type PlaceText = { at: string; id: string }

const SIDES = [
  { index: 'likes_of_viewer', owner: 'viewer', other: 'oid' },
  { index: 'likes_of_subject', owner: 'oid', other: 'viewer' },
] as const

function afterPlace(at: string, id: string, place: PlaceText | undefined): string {
  return place === undefined ? '' : ` AND (${at} < ${place.at} OR (${at} = ${place.at} AND ${id} > ${place.id}))`
}

/** The value of a page's column `mark` for the newest block. */
export const BLOCK = 9

/**
 * Up to `limit` rows of each of these marks, in the order of pages, and one row with the time of the newest archived mark, if any. Columns:
 * the other end's id, mark, marked_at, version.
 */
export function selectPageOfMarks(list: ListOwner, marks: readonly number[], before: PlaceText | undefined, limit: number): string {
  const { index, owner, other } = SIDES[list.side]
  const pages = marks.map(
    (mark) => `(SELECT ${other}, mark, marked_at, version FROM likes FORCE INDEX (${index})
WHERE business = ${list.business} AND ${owner} = ${list.id} AND mark = ${numberLiteral(mark)}${afterPlace('marked_at', other, before)}
ORDER BY marked_at DESC, ${other} LIMIT ${numberLiteral(limit)})`,
  )
  const newest = `(SELECT oldest_id, ${BLOCK}, newest_at, 0 FROM mark_blocks WHERE ${ofList(list)} ORDER BY oldest_at DESC, oldest_id LIMIT 1)`
  return [...pages, newest].join(' UNION ALL ')
}

function ofList({ side, business, id }: ListOwner): string {
  return `business = ${business} AND side = ${side} AND id = ${id}`
}

/** Blocks that may hold entries after `before`, in the order of pages, after the block `after`. Columns: oldest_at, oldest_id, block. */
export function selectPageOfBlocks(list: ListOwner, before: PlaceText | undefined, after: PlaceText | undefined, limit: number): string {
  const reached = before === undefined ? '' : ` AND oldest_at <= ${before.at}`
  return `SELECT oldest_at, oldest_id, block FROM mark_blocks
WHERE ${ofList(list)}${reached}${afterPlace('oldest_at', 'oldest_id', after)}
ORDER BY oldest_at DESC, oldest_id LIMIT ${numberLiteral(limit)}`
}

export const SELECT_ANY_BLOCK = 'SELECT 1 FROM mark_blocks LIMIT 1'

const LISTS = ['i', 's', 'b', 'd']
const BLOCK_JOIN = 'm.business = k.b AND m.side = k.s AND m.id = k.d'
const BLOCK_COLUMNS = 'm.oldest_at, m.oldest_id, m.block'

/** All blocks of these lists. `lists`: (place, side, business, id). Columns: place, oldest_at, oldest_id, block. */
export function selectBlocks(lists: readonly Tuple[]): string {
  return `SELECT /*+ INL_JOIN(m) */ k.i, ${BLOCK_COLUMNS} FROM (${tupleTable(LISTS, lists)}) k STRAIGHT_JOIN mark_blocks m ON ${BLOCK_JOIN}`
}

/** The block for a mark of this moment, and all newer ones. `lists`: as above, and the moment. */
export function selectBlocksFrom(lists: readonly Tuple[]): string {
  return `SELECT /*+ INL_JOIN(m) */ k.i, ${BLOCK_COLUMNS} FROM (${tupleTable([...LISTS, 'p'], lists)}) k STRAIGHT_JOIN mark_blocks m ON ${BLOCK_JOIN}
WHERE m.oldest_at >= COALESCE((SELECT MAX(x.oldest_at) FROM mark_blocks x
WHERE x.business = k.b AND x.side = k.s AND x.id = k.d AND x.oldest_at < k.p), 0)`
}

/** The blocks that may hold a mark of this moment. `lists`: as above. */
export function selectBlocksAround(lists: readonly Tuple[]): string {
  return `SELECT /*+ INL_JOIN(m) */ k.i, ${BLOCK_COLUMNS} FROM (${tupleTable([...LISTS, 'p'], lists)}) k
STRAIGHT_JOIN mark_blocks m ON ${BLOCK_JOIN} AND m.oldest_at <= k.p WHERE m.newest_at >= k.p`
}

/** `rows`: (business, side, id, oldest_at, oldest_id, newest_at, likes, dislikes, block). */
export function putBlocks(rows: readonly Tuple[]): string {
  return `${insert('mark_blocks', 'business, side, id, oldest_at, oldest_id, newest_at, likes, dislikes, block', rows)} ON DUPLICATE KEY UPDATE
newest_at = VALUES(newest_at), likes = VALUES(likes), dislikes = VALUES(dislikes), block = VALUES(block)`
}

/** `blocks`: (place, side, business, id, oldest_at, oldest_id). */
export function deleteBlocks(blocks: readonly Tuple[]): string {
  return `DELETE m FROM (${tupleTable([...LISTS, 'p', 'q'], blocks)}) k
STRAIGHT_JOIN mark_blocks m ON ${BLOCK_JOIN} AND m.oldest_at = k.p AND m.oldest_id = k.q`
}

/** Only the holder of this row's lock moves marks between the tiers. */
export const LOCK_ARCHIVE = 'SELECT regions FROM deployment WHERE id = 1 FOR UPDATE'

const AGED_COLUMNS = 'business, viewer, oid, mark, marked_at, version, covers'
/** Marks, and tombstones of archived marks. */
const ARCHIVABLE = ['mark IN (1, 2) AND covers IN (0, 1, 2)', 'mark = 0 AND covers IN (1, 2)']
const REMOVABLE = ['mark = 0 AND covers = 0']

/** Rows of hours that are over, in any order. Columns: business, viewer, oid, mark, marked_at, version, covers. */
export function selectAged(what: 'archivable' | 'removable', hour: number, limit: number): string {
  return agedPages(what, `marked_hour < ${numberLiteral(hour)}`, limit).join(' UNION ALL ')
}

/** Up to `limit` rows from before a moment, among the first `scanned` rows of an hour. Columns as above. */
export function selectAgedOfHour(what: 'archivable' | 'removable', hour: number, before: number, scanned: number, limit: number): string {
  return agedPages(what, `marked_hour = ${numberLiteral(hour)}`, scanned)
    .map((page) => `(SELECT ${AGED_COLUMNS} FROM ${page} h WHERE marked_at < ${numberLiteral(before)} LIMIT ${numberLiteral(limit)})`)
    .join(' UNION ALL ')
}

function agedPages(what: 'archivable' | 'removable', condition: string, limit: number): string[] {
  return (what === 'archivable' ? ARCHIVABLE : REMOVABLE).map(
    (states) =>
      `(SELECT ${AGED_COLUMNS} FROM likes FORCE INDEX (likes_aged) WHERE ${states} AND ${condition} LIMIT ${numberLiteral(limit)})`,
  )
}

/** Removes the given keys that are still tombstones from before a moment and cover nothing. */
export function deleteUndone(keys: readonly Tuple[], before: number): string {
  return `${deleteMarks(keys)} WHERE l.mark = 0 AND l.covers = 0 AND l.marked_at < ${numberLiteral(before)}`
}

/** Rows of each subject by mark and covered mark. Columns: place, mark, covers, rows. */
export function countRows(subjects: readonly Tuple[]): string {
  return `SELECT /*+ INL_JOIN(l) */ k.i, l.mark, l.covers, COUNT(*) FROM (${tupleTable(SUBJECTS, subjects)}) k
STRAIGHT_JOIN likes l FORCE INDEX (likes_of_subject) ON l.business = k.b AND l.oid = k.o GROUP BY k.i, l.mark, l.covers`
}

/** Archived marks of each subject. Columns: place, likes, dislikes. */
export function countArchived(subjects: readonly Tuple[]): string {
  return `SELECT /*+ INL_JOIN(m) */ k.i, SUM(m.likes), SUM(m.dislikes) FROM (${tupleTable(SUBJECTS, subjects)}) k
STRAIGHT_JOIN mark_blocks m ON m.business = k.b AND m.side = 1 AND m.id = k.o GROUP BY k.i`
}

/** Columns: oid, likes, dislikes, version. */
export function selectSubjects(business: string, after: string | undefined, limit: number): string {
  return `SELECT oid, likes, dislikes, version FROM counts WHERE business = ${business} AND version > 0${greater('oid', after)}
ORDER BY oid LIMIT ${numberLiteral(limit)}`
}

/** Subjects of the first `scanned` rows and blocks after an id. Columns: tier (0 rows, 1 blocks), id, number of entries. */
export function selectMarkedSubjects(business: string, after: string | undefined, scanned: number): string {
  const limit = `LIMIT ${numberLiteral(scanned)}`
  const rows = `SELECT oid AS id FROM likes FORCE INDEX (likes_of_subject) WHERE business = ${business}${greater('oid', after)} ORDER BY oid ${limit}`
  const blocks = `SELECT id FROM mark_blocks WHERE business = ${business} AND side = 1${greater('id', after)} ORDER BY id ${limit}`
  return `SELECT 0, id, COUNT(*) FROM (${rows}) r GROUP BY id UNION ALL SELECT 1, id, COUNT(*) FROM (${blocks}) b GROUP BY id`
}

/** Columns: owner, likes, version. */
export function selectOwners(business: string, after: string | undefined, limit: number): string {
  return `SELECT owner, likes, version FROM owners WHERE business = ${business}${greater('owner', after)}
ORDER BY owner LIMIT ${numberLiteral(limit)}`
}

function greater(column: string, after: string | undefined): string {
  return after === undefined ? '' : ` AND ${column} > ${after}`
}

/** Rows of a business in key order, tombstones included. Columns: viewer, oid, mark, marked_at, version. */
export function selectExport(business: string, after: { viewer: string; oid: string } | undefined, limit: number): string {
  const beyond =
    after === undefined
      ? ''
      : ` AND viewer >= ${after.viewer} AND (viewer > ${after.viewer} OR (viewer = ${after.viewer} AND oid > ${after.oid}))`
  return `SELECT viewer, oid, mark, marked_at, version FROM likes FORCE INDEX (PRIMARY) WHERE business = ${business}${beyond}
ORDER BY viewer, oid LIMIT ${numberLiteral(limit)}`
}

/** Viewers' blocks of a business, by viewer, from a viewer on, or after a completed one. Columns: viewer, block. */
export function selectExportBlocks(business: string, from: { viewer: string; done: boolean } | undefined, limit: number): string {
  const beyond = from === undefined ? '' : ` AND id ${from.done ? '>' : '>='} ${from.viewer}`
  return `SELECT id, block FROM mark_blocks WHERE business = ${business} AND side = 0${beyond} ORDER BY id LIMIT ${numberLiteral(limit)}`
}

/** Columns: oid, owner. */
export function selectRegistrations(business: string, after: string | undefined, limit: number): string {
  return `SELECT oid, owner FROM counts WHERE business = ${business} AND owner IS NOT NULL${greater('oid', after)}
ORDER BY oid LIMIT ${numberLiteral(limit)}`
}

/** Columns: rows, blocks, subjects, owners. */
export function measureOfBusiness(business: string): string {
  const counted = TABLES_OF_BUSINESS.map((table) => `(SELECT COUNT(*) FROM ${table} WHERE business = ${business})`)
  return `SELECT ${counted.join(', ')}`
}

/** In this order, so that the next deletion finds the rest of an interrupted one. */
export const TABLES_OF_BUSINESS = ['likes', 'mark_blocks', 'counts', 'owners'] as const

export function deleteOfBusiness(table: (typeof TABLES_OF_BUSINESS)[number], business: string, limit: number): string {
  return `DELETE FROM ${table} WHERE business = ${business} LIMIT ${numberLiteral(limit)}`
}

/** Columns: live rows; rows that cover an archived mark. */
export const MEASURE_ROWS = 'SELECT COALESCE(SUM(mark <> 0), 0), COALESCE(SUM(covers <> 0), 0) FROM likes'
/** Columns: marks. */
export const MEASURE_BLOCKS = 'SELECT COALESCE(SUM(likes + dislikes), 0) FROM mark_blocks WHERE side = 0'
/** Updates the sizes for the next statement. */
export const ANALYZE = 'ANALYZE TABLE likes, mark_blocks'
/** Columns: table, bytes. */
export const MEASURE_BYTES = `SELECT LOWER(table_name), data_length + index_length FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name IN ('likes', 'mark_blocks')`
