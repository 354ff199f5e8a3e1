/** Cells of a result, read as ids and keys. */
import type { ProgressKey } from '../../core/domain.ts'
import { unpackId } from '../../core/keys.ts'
import type { Cell, Row } from './database.ts'

export function idOf(cell: Cell | undefined): string {
  return unpackId(cell as Buffer, 0)
}

/** The address of a row that begins with viewer, business, oid. */
export function keyOf(row: Row): ProgressKey {
  return { viewer: idOf(row[0]), business: Number(row[1]), oid: idOf(row[2]) }
}
