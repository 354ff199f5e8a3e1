/** All statements of counters, in the subset of SQL that MySQL 8, MariaDB 10.11 and TiDB document. Arguments are literals already. */
import type { BusinessNumber } from '../../../../../core/domain.ts'
import { idLiteral, numberLiteral } from '../../../../../stores/mysql/literals.ts'
import { insert, tupleTable, type Tuple } from '../../../../../stores/mysql/tuples.ts'

/** The hint is for TiDB; the others treat it as a comment. */
const HINT = '/*+ INL_JOIN(f) */'

/** `rows`: (business, oid, version, counts). Each assignment reads its own column and those to the right. */
export function upsertTotals(rows: readonly Tuple[]): string {
  return `${insert('feed_counts', 'business, oid, version, counts', rows)} ON DUPLICATE KEY UPDATE
counts = CASE WHEN VALUES(version) > version THEN VALUES(counts) ELSE counts END,
version = GREATEST(version, VALUES(version))`
}

/** `keys`: (place, business, oid). Columns: place, version, counts. */
export function selectTotals(keys: readonly Tuple[]): string {
  const table = tupleTable(['i', 'b', 'o'], keys)
  return `SELECT ${HINT} k.i, f.version, f.counts FROM (${table}) k STRAIGHT_JOIN feed_counts f ON f.business = k.b AND f.oid = k.o`
}

/** In the order of the key, after the subject `after`. Columns: oid, version, counts. */
export function selectTotalsOf(business: BusinessNumber, after: string | undefined, limit: number): string {
  const place = after === undefined ? '' : ` AND oid > ${idLiteral(after)}`
  const range = `business = ${numberLiteral(business)}${place} ORDER BY oid LIMIT ${numberLiteral(limit)}`
  return `SELECT oid, version, counts FROM feed_counts WHERE ${range}`
}

export const COUNT_SUBJECTS = 'SELECT COUNT(*) FROM feed_counts'

/** One of each, for the parser of another database. */
export function sampleCountStatements(): string[] {
  const row = ['4', idLiteral('7'), '5', `x'7b7d'`]
  return [
    upsertTotals([row, row]),
    selectTotals([['0', '4', idLiteral('7')]]),
    selectTotalsOf(4, undefined, 100),
    selectTotalsOf(4, '7', 100),
    COUNT_SUBJECTS,
  ]
}
