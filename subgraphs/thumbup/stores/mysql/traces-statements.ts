/** The statements of `traces.ts`, in the subset of SQL that MySQL 8, MariaDB 10.11 and TiDB document. Arguments are literals already. */
import { idLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import type { UndoneMarks } from '../traces.ts'

/** Columns: business, viewer, oid, mark, marked_at, version, covers. In the order of the primary key, in which rows are locked. */
export function lockUndone(of: UndoneMarks, upToVersion: number, limit: number): string {
  const end = 'viewer' in of ? `viewer = ${idLiteral(of.viewer)}` : `oid = ${idLiteral(of.oid)}`
  return `SELECT business, viewer, oid, mark, marked_at, version, covers FROM likes
WHERE business = ${numberLiteral(of.business)} AND ${end} AND mark = 0 AND version <= ${numberLiteral(upToVersion)}
ORDER BY business, viewer, oid LIMIT ${numberLiteral(limit)} FOR UPDATE`
}

export function forgetOwner(business: string, owner: string): string {
  return `UPDATE counts SET owner = NULL WHERE business = ${business} AND owner = ${owner}`
}

export function deleteOwner(business: string, owner: string): string {
  return `DELETE FROM owners WHERE business = ${business} AND owner = ${owner}`
}

export function deleteCounts(business: string, oid: string): string {
  return `DELETE FROM counts WHERE business = ${business} AND oid = ${oid} AND likes = 0 AND dislikes = 0`
}

/** One row per table with its number of rows. */
export function countOfViewer(business: string, viewer: string): string {
  return [
    `SELECT COUNT(*) FROM likes WHERE business = ${business} AND viewer = ${viewer}`,
    `SELECT COUNT(*) FROM mark_blocks WHERE business = ${business} AND side = 0 AND id = ${viewer}`,
    `SELECT COUNT(*) FROM counts WHERE business = ${business} AND owner = ${viewer}`,
    `SELECT COUNT(*) FROM owners WHERE business = ${business} AND owner = ${viewer}`,
  ].join(' UNION ALL ')
}

/** Alike. */
export function countOfSubject(business: string, oid: string): string {
  return [
    `SELECT COUNT(*) FROM likes WHERE business = ${business} AND oid = ${oid}`,
    `SELECT COUNT(*) FROM mark_blocks WHERE business = ${business} AND side = 1 AND id = ${oid}`,
    `SELECT COUNT(*) FROM counts WHERE business = ${business} AND oid = ${oid}`,
  ].join(' UNION ALL ')
}

export function sampleTracesStatements(): string[] {
  return [
    lockUndone({ business: 1, viewer: '42' }, 2 ** 50, 500),
    lockUndone({ business: 1, oid: 'a' }, 2 ** 50, 500),
    forgetOwner('1', `x'8161'`),
    deleteOwner('1', `x'8161'`),
    deleteCounts('1', `x'8161'`),
    countOfViewer('1', `x'8161'`),
    countOfSubject('1', `x'8161'`),
  ]
}
