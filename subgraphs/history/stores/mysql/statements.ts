/**
 * All statements of the adapter, except migrations, in the subset of SQL that MySQL 8, MariaDB 10.11 and TiDB document. Tests run MariaDB.
 * `sampleStatements` returns one of each, for the parser of another database.
 *
 * - The upsert merges as in `subgraphs/history/model/merge.ts`. MySQL and MariaDB assign from left to right and read values assigned
 *   before; TiDB documents for UPDATE that it reads the old values. Each assignment here therefore reads only its own column and columns to
 *   the right of it, and has the same result in both cases. It relies on an invariant of every record: `since <= viewed_at`.
 *   `VALUES(column)` is deprecated in MySQL 8 and works in all three; row aliases do not.
 * - Many keys are looked up by a join with a table of keys: MariaDB 10.11 then reads each by the primary key (`eq_ref`), 128 keys in 1 ms
 *   and 512 in 4. Joined by OR, 512 keys take 43 ms: the optimizer's work grows with their square. Its plan for `(a, b, c) IN (…)` varies
 *   with their number and with the statement.
 * - A page names its index: otherwise the optimizer of MariaDB 10.11 answers a cursor in the middle of a tie from two indexes, and sorts.
 *   TiDB parses DESC in an index and ignores it: a page there reads the viewer's rows of a business and keeps the top ones.
 */
import type { BusinessNumber, Place, ProgressKey, ViewerId } from '../../../../core/domain.ts'
import { idLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import {
  SESSION,
  PING,
  SELECT_SCHEMA_VERSION,
  SELECT_REGIONS,
  TAKE_MIGRATION_LOCK,
  GIVE_MIGRATION_LOCK,
  insertRegions,
  insertSchemaVersion,
  SELECT_FACTS,
  SHOW_VARIABLES,
} from '../../../../stores/mysql/statements.ts'

const COLUMNS = 'viewer, business, oid, viewed_at, since, resume_rank, version, deleted, resume'

const VOIDS_STORED = 'viewed_at <= VALUES(since)'
const VOID = 'VALUES(viewed_at) <= since'
const OUTRANKS = '(VALUES(resume_rank) > resume_rank OR (VALUES(resume_rank) = resume_rank AND VALUES(version) >= version))'
const CHANGES = `(VALUES(viewed_at) > viewed_at OR VALUES(since) > since OR ${OUTRANKS})`

const MERGE = ` ON DUPLICATE KEY UPDATE
resume = CASE WHEN ${VOIDS_STORED} THEN VALUES(resume) WHEN ${VOID} THEN resume WHEN ${OUTRANKS} THEN VALUES(resume) ELSE resume END,
deleted = CASE WHEN ${VOIDS_STORED} THEN VALUES(deleted) WHEN ${VOID} THEN deleted WHEN ${CHANGES} THEN 0 ELSE deleted END,
version = CASE WHEN ${VOIDS_STORED} THEN VALUES(version) WHEN ${VOID} THEN version WHEN ${CHANGES} THEN GREATEST(version, VALUES(version)) ELSE version END,
resume_rank = CASE WHEN ${VOIDS_STORED} THEN VALUES(resume_rank) WHEN ${VOID} THEN resume_rank ELSE GREATEST(resume_rank, VALUES(resume_rank)) END,
since = GREATEST(since, VALUES(since)),
viewed_at = GREATEST(viewed_at, VALUES(viewed_at))`

/** `rows`: texts of `progressLiteral`, in the order of the primary key, so that two statements lock in one order. */
export function upsertProgress(rows: readonly string[]): string {
  return `INSERT INTO history (${COLUMNS}) VALUES ${rows.join(',')}${MERGE}`
}

/** `rows`: texts of (viewer, business, paused, cleared_at, version). */
export function upsertSettings(rows: readonly string[]): string {
  return `INSERT INTO viewer_settings (viewer, business, paused, cleared_at, version) VALUES ${rows.join(',')} ON DUPLICATE KEY UPDATE
paused = IF(VALUES(version) >= version, VALUES(paused), paused),
cleared_at = GREATEST(cleared_at, VALUES(cleared_at)),
version = GREATEST(version, VALUES(version))`
}

/** Columns: the key's index in `keys`, then the record's. */
export function selectProgress(keys: readonly ProgressKey[]): string {
  return `SELECT /*+ INL_JOIN(h) */ k.i, h.viewed_at, h.since, h.resume_rank, h.version, h.deleted, h.resume
FROM (${keyTable(keys)}) k STRAIGHT_JOIN history h ON h.viewer = k.v AND h.business = k.b AND h.oid = k.o`
}

/** The keys as a table (i, v, b, o). The hint in the join is for TiDB; the others treat it as a comment. */
function keyTable(keys: readonly ProgressKey[]): string {
  const [first, ...others] = keys.map((key, index) => [index, idLiteral(key.viewer), numberLiteral(key.business), idLiteral(key.oid)])
  if (first === undefined) throw new Error('a table of keys needs a key')
  return [
    `SELECT ${first[0]} AS i, ${first[1]} AS v, ${first[2]} AS b, ${first[3]} AS o`,
    ...others.map((row) => `SELECT ${row.join(',')}`),
  ].join(' UNION ALL ')
}

/** Columns: viewer, business, paused, cleared_at, version. */
export function selectSettings(viewers: readonly ViewerId[]): string {
  return `SELECT viewer, business, paused, cleared_at, version FROM viewer_settings WHERE viewer IN (${viewers.map(idLiteral).join(',')})`
}

/** Up to `limit` rows of each business, each in timeline order. Columns: business, oid, then the record's. */
export function selectPage(viewer: ViewerId, businesses: readonly BusinessNumber[], before: Place | undefined, limit: number): string {
  const pages = businesses.map(
    (business) =>
      `SELECT business, oid, viewed_at, since, resume_rank, version, deleted, resume FROM history FORCE INDEX (history_timeline)
WHERE viewer = ${idLiteral(viewer)} AND business = ${numberLiteral(business)} AND deleted = 0${after(before, business)}
ORDER BY viewed_at DESC, oid LIMIT ${numberLiteral(limit)}`,
  )
  return pages.length === 1 ? (pages[0] as string) : pages.map((page) => `(${page})`).join(' UNION ALL ')
}

/** The condition for rows after a place in the timeline of one business; see `comparePlaces`. */
function after(before: Place | undefined, business: BusinessNumber): string {
  if (before === undefined) return ''
  const moment = numberLiteral(before.viewedAt)
  if (business < before.business) return ` AND viewed_at < ${moment}`
  if (business > before.business) return ` AND viewed_at <= ${moment}`
  return ` AND (viewed_at < ${moment} OR (viewed_at = ${moment} AND oid > ${idLiteral(before.oid)}))`
}

export function deleteCleared(viewer: ViewerId, business: BusinessNumber, clearedAt: number, limit: number): string {
  return `DELETE FROM history WHERE viewer = ${idLiteral(viewer)} AND business = ${numberLiteral(business)} AND deleted IN (0, 1)
AND viewed_at <= ${numberLiteral(clearedAt)} LIMIT ${numberLiteral(limit)}`
}

/** Removes rows of hours that are completely before `hour`. */
export function deleteHoursBefore(hour: number, limit: number): string {
  return `DELETE FROM history WHERE written_hour < ${numberLiteral(hour)} LIMIT ${numberLiteral(limit)}`
}

/** Among the first `scanned` rows of an hour, up to `limit` rows below a version. Columns: viewer, business, oid. */
export function selectExpiredOfHour(hour: number, version: number, scanned: number, limit: number): string {
  return `SELECT viewer, business, oid FROM (SELECT viewer, business, oid, version FROM history FORCE INDEX (history_written)
WHERE written_hour = ${numberLiteral(hour)} ORDER BY viewer, business, oid LIMIT ${numberLiteral(scanned)}) h
WHERE version < ${numberLiteral(version)} LIMIT ${numberLiteral(limit)}`
}

/** Removes the rows of these keys that are still below the version. */
export function deleteExpired(keys: readonly ProgressKey[], version: number): string {
  return `DELETE h FROM (${keyTable(keys)}) k STRAIGHT_JOIN history h ON h.viewer = k.v AND h.business = k.b AND h.oid = k.o
WHERE h.version < ${numberLiteral(version)}`
}

/** In the order of the primary key. Columns: viewer, business, oid, then the record's. */
export function selectAllProgress(after: ProgressKey | undefined, limit: number, viewer: ViewerId | undefined): string {
  const conditions = [
    ...(viewer === undefined ? [] : [`viewer = ${idLiteral(viewer)}`]),
    ...(after === undefined ? [] : [beyondKey(after, viewer !== undefined)]),
  ]
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')} `
  return `SELECT ${COLUMNS} FROM history FORCE INDEX (PRIMARY) ${where}ORDER BY viewer, business, oid LIMIT ${numberLiteral(limit)}`
}

function beyondKey({ viewer, business, oid }: ProgressKey, inViewer: boolean): string {
  const [v, b] = [idLiteral(viewer), numberLiteral(business)]
  const inRest = `business >= ${b} AND (business > ${b} OR oid > ${idLiteral(oid)})`
  return inViewer ? inRest : `viewer >= ${v} AND (viewer > ${v} OR (${inRest}))`
}

/** The rows of up to `limit` viewers, by viewer. Columns: viewer, business, paused, cleared_at, version. */
export function selectAllSettings(after: ViewerId | undefined, limit: number): string {
  const where = after === undefined ? '' : `WHERE viewer > ${idLiteral(after)} `
  return `SELECT s.viewer, s.business, s.paused, s.cleared_at, s.version
FROM (SELECT DISTINCT viewer FROM viewer_settings ${where}ORDER BY viewer LIMIT ${numberLiteral(limit)}) v
STRAIGHT_JOIN viewer_settings s ON s.viewer = v.viewer ORDER BY s.viewer, s.business`
}

export const COUNT_PROGRESS = 'SELECT COUNT(*) FROM history WHERE deleted = 0'

/** One of each statement, with every branch. */
export function sampleStatements(): string[] {
  const key = { viewer: '42', business: 2, oid: 'a' }
  const other = { viewer: 'v', business: 1, oid: '7' }
  const place = { viewedAt: 1_700_000_000_000, business: 2, oid: 'b' }
  return [
    ...SESSION,
    upsertProgress([`(x'00',1,x'01',2,0,2,2048,0,x'')`, `(x'00',1,x'02',2,0,2,2048,1,x'2801')`]),
    upsertSettings([`(x'00',0,1,0,5)`, `(x'00',1,0,9,5)`]),
    selectProgress([key]),
    selectProgress([key, other]),
    selectSettings(['42', 'v']),
    selectPage('42', [2], undefined, 20),
    selectPage('42', [1, 2, 3], place, 20),
    deleteCleared('42', 1, 5, 100),
    deleteHoursBefore(400_000, 100),
    selectExpiredOfHour(400_000, 2 ** 50, 20_000, 100),
    deleteExpired([key, other], 2 ** 50),
    selectAllProgress(undefined, 100, undefined),
    selectAllProgress(key, 100, undefined),
    selectAllProgress(key, 100, '42'),
    selectAllSettings(undefined, 100),
    selectAllSettings('42', 100),
    COUNT_PROGRESS,
    PING,
    TAKE_MIGRATION_LOCK,
    SELECT_SCHEMA_VERSION,
    insertSchemaVersion(1, 1_700_000_000_000),
    GIVE_MIGRATION_LOCK,
    SELECT_REGIONS,
    insertRegions(100),
    SELECT_FACTS,
    SHOW_VARIABLES,
  ]
}
