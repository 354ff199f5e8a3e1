/**
 * All statements of the filters' adapter, in the subset of SQL that MySQL 8, MariaDB 10.11 and TiDB document. `sampleSeenStatements`
 * returns one of each, for the parser of another database. Arguments are literals already (`literals.ts`).
 */
import { numberLiteral } from '../../../../stores/mysql/literals.ts'
import { type Tuple, insert, tupleTable } from '../../../../stores/mysql/tuples.ts'

const KEYS = ['i', 'v', 'm']
/** The hint is for TiDB; the others treat it as a comment. */
const HINT = '/*+ INL_JOIN(f) */'
const KEY_JOIN = 'f.viewer = k.v AND f.month = k.m'

/** `keys`: (place, viewer, month). Columns: place, version, filter. */
export function selectFilters(keys: readonly Tuple[]): string {
  return `SELECT ${HINT} k.i, f.version, f.filter FROM (${tupleTable(KEYS, keys)}) k
STRAIGHT_JOIN seen_filters f ON ${KEY_JOIN} WHERE f.filter IS NOT NULL`
}

/** `viewers`: (place, viewer). Columns: place, month, version, filter. */
export function selectFiltersOf(viewers: readonly Tuple[]): string {
  return `SELECT ${HINT} k.i, f.month, f.version, f.filter FROM (${tupleTable(['i', 'v'], viewers)}) k
STRAIGHT_JOIN seen_filters f ON f.viewer = k.v WHERE f.filter IS NOT NULL`
}

/** In the order of the primary key; with a viewer, only theirs. Columns: viewer, month, version, expires_at, filter. */
export function selectAllFilters(after: { viewer: string; month: string } | undefined, limit: number, viewer?: string): string {
  const own = viewer === undefined ? '' : ` AND viewer = ${viewer}`
  const beyond = after === undefined ? '' : ` AND viewer >= ${after.viewer} AND (viewer > ${after.viewer} OR month > ${after.month})`
  return `SELECT viewer, month, version, expires_at, filter FROM seen_filters FORCE INDEX (PRIMARY) WHERE filter IS NOT NULL${own}${beyond}
ORDER BY viewer, month LIMIT ${numberLiteral(limit)}`
}

/** `keys`: as above, in the order of the primary key, in which they are locked. Columns: place, version, quarantined (1) or not (0). */
export function lockFilters(keys: readonly Tuple[]): string {
  return `SELECT ${HINT} k.i, f.version, f.filter IS NULL FROM (${tupleTable(KEYS, keys)}) k STRAIGHT_JOIN seen_filters f ON ${KEY_JOIN} FOR UPDATE`
}

const NOTHING = { bytes: '0', filter: 'NULL' }
const COLUMNS = 'viewer, month, version, expires_at, bytes, filter'

/** Fails if one of the rows exists. `rows`: (viewer, month, version, expires_at, bytes, filter). */
export function insertFilters(rows: readonly Tuple[]): string {
  return insert('seen_filters', COLUMNS, rows)
}

/** For existing, locked rows; their expiry stays. */
export function updateFilters(rows: readonly Tuple[]): string {
  return `${insertFilters(rows)} ON DUPLICATE KEY UPDATE version = VALUES(version), bytes = VALUES(bytes), filter = VALUES(filter)`
}

/** Copies a locked row with the reason. The blob does not leave the server. */
export function copyToQuarantine(viewer: string, month: string, reason: string): string {
  return `INSERT INTO seen_quarantine (viewer, month, version, expires_at, reason, filter)
SELECT viewer, month, version, expires_at, ${reason}, filter FROM seen_filters WHERE viewer = ${viewer} AND month = ${month}
ON DUPLICATE KEY UPDATE reason = VALUES(reason), filter = VALUES(filter)`
}

/** `rebuilt`: the replacement and its size; if absent, the row has no filter afterwards. */
export function setFilterAside(viewer: string, month: string, rebuilt: { bytes: string; filter: string } = NOTHING): string {
  return `UPDATE seen_filters SET version = version + 1, bytes = ${rebuilt.bytes}, filter = ${rebuilt.filter} WHERE viewer = ${viewer} AND month = ${month}`
}

export const COUNT_QUARANTINED = 'SELECT COUNT(*) FROM seen_quarantine'

/** For all viewers, or for one. Columns: viewer, month, version, reason, filter. */
export function selectQuarantined(limit: number, viewer?: string): string {
  const whose = viewer === undefined ? '' : `WHERE viewer = ${viewer} `
  return `SELECT viewer, month, version, reason, filter FROM seen_quarantine ${whose}ORDER BY viewer, month, version LIMIT ${numberLiteral(limit)}`
}

/** In the order of the index, so that two purges take their locks in one order, and no other rows are read. */
export function deleteExpiredOf(table: 'seen_filters' | 'seen_quarantine', expiredBefore: number, limit: number): string {
  return `DELETE FROM ${table} WHERE expires_at <= ${numberLiteral(expiredBefore)} ORDER BY expires_at LIMIT ${numberLiteral(limit)}`
}

/** By day, without the marks in month 0. Columns: day, filters, bytes. */
export const MEASURE_FILTERS = `SELECT expires_at DIV 86400000 AS expires_day, COUNT(*), SUM(bytes) FROM seen_filters
WHERE bytes > 0 AND month > 0 GROUP BY expires_day ORDER BY expires_day`

export function sampleSeenStatements(): string[] {
  const [one, two] = [`x'0000000000000001'`, `x'8161'`] as [string, string]
  const keys = [
    ['0', one, '680'],
    ['1', two, '681'],
  ]
  const row = [one, '680', '1', '1800000000000', '2', `x'f001'`]
  return [
    selectFilters(keys),
    selectFiltersOf([
      ['0', one],
      ['1', two],
    ]),
    selectAllFilters(undefined, 100),
    selectAllFilters({ viewer: one, month: '680' }, 100),
    selectAllFilters(undefined, 100, one),
    lockFilters(keys),
    insertFilters([row]),
    updateFilters([row]),
    copyToQuarantine(one, '680', `x'62726f6b656e'`),
    setFilterAside(one, '680'),
    setFilterAside(one, '680', { bytes: '2', filter: `x'f001'` }),
    selectQuarantined(10),
    selectQuarantined(10, one),
    COUNT_QUARANTINED,
    MEASURE_FILTERS,
    deleteExpiredOf('seen_filters', 1_900_000_000_000, 100),
    deleteExpiredOf('seen_quarantine', 1_900_000_000_000, 100),
  ]
}
