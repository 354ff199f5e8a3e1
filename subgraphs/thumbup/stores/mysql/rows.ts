/**
 * Marks as rows and back, packed once per transaction. The texts of ids are literals of every statement, and their concatenation sorts like
 * the primary keys.
 */
import type { BusinessNumber, Mark, MarkKey, MarkRecord, Subject, ViewerId } from '../../../../core/domain.ts'
import type { MarkRow } from '../record-store.ts'
import type { Row } from '../../../../stores/mysql/database.ts'
import { asLiteral, idLiteral, numberLiteral, packedHex } from '../../../../stores/mysql/literals.ts'
import { type Tuple, byOrder } from '../../../../stores/mysql/tuples.ts'

const MARKS: readonly Mark[] = ['NONE', 'LIKE', 'DISLIKE']
const CODES: Readonly<Record<Mark, number>> = { NONE: 0, LIKE: 1, DISLIKE: 2 }

export function markCode(mark: Mark): number {
  return CODES[mark]
}

export function markOf(code: unknown): Mark {
  const mark = MARKS[Number(code)]
  if (mark === undefined) throw new Error(`mark code ${String(code)} is not valid`)
  return mark
}

/** Texts that sort like business numbers. */
export function businessOrder(business: BusinessNumber): string {
  return business.toString(16).padStart(4, '0')
}

export type PackedSubject = { order: string; tuple: Tuple }

export function packSubject({ business, oid }: Subject): PackedSubject {
  const hex = packedHex(oid)
  return { order: businessOrder(business) + hex, tuple: [numberLiteral(business), asLiteral(hex)] }
}

/** For an owner of subjects, or a viewer as the owner of an archive. */
export function packOwner({ business, owner }: { business: BusinessNumber; owner: ViewerId }): PackedSubject {
  return packSubject({ business, oid: owner })
}

/** (business, viewer, oid) */
export function keyTuple({ business, viewer, oid }: MarkKey): Tuple {
  return [numberLiteral(business), idLiteral(viewer), idLiteral(oid)]
}

export type PackedKey = { order: string; tuple: Tuple; subjectOrder: string }

export function packKey({ business, viewer, oid }: MarkKey): PackedKey {
  const [viewerHex, oidHex] = [packedHex(viewer), packedHex(oid)]
  const first = businessOrder(business)
  return {
    order: first + viewerHex + oidHex,
    tuple: [numberLiteral(business), asLiteral(viewerHex), asLiteral(oidHex)],
    subjectOrder: first + oidHex,
  }
}

/** A row of a transaction, and its index in the call. */
export type PackedRow = MarkRow & PackedKey & { index: number }

/** In the order of the primary key. */
export function packRows(rows: readonly MarkRow[]): PackedRow[] {
  return rows.map((row, index) => ({ ...row, ...packKey(row.key), index })).sort(byOrder)
}

/** (business, viewer, oid, mark, marked_at, version) */
export function markTuple({ tuple, record }: PackedRow, stored: MarkRecord = record): Tuple {
  return [...tuple, String(markCode(stored.mark)), numberLiteral(stored.markedAt), numberLiteral(stored.version)]
}

/** The record in the columns from `start`: mark, marked_at, version. */
export function markRecordOf(row: Row, start: number): MarkRecord {
  return { mark: markOf(row[start]), markedAt: Number(row[start + 1]), version: Number(row[start + 2]) }
}
