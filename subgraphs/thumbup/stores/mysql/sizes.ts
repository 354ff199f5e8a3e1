/** The number of marks and the bytes of their tables on MySQL. */
import type { Database } from '../../../../stores/mysql/database.ts'
import type { MarkRecords } from '../record-store.ts'
import { ANALYZE, MEASURE_BLOCKS, MEASURE_BYTES, MEASURE_ROWS } from './statements.ts'

/** Operators run this rarely and can wait. */
export const MEASURE_TIMEOUT_MS = 600_000

export async function measureMarks(database: Database): ReturnType<MarkRecords['measureMarks']> {
  const [row] = (await database.send(MEASURE_ROWS, MEASURE_TIMEOUT_MS)).rows
  const [archived] = (await database.send(MEASURE_BLOCKS, MEASURE_TIMEOUT_MS)).rows
  await database.send(ANALYZE, MEASURE_TIMEOUT_MS)
  const bytes = new Map((await database.send(MEASURE_BYTES)).rows.map(([table, size]) => [String(table), Number(size)]))
  return {
    recent: Number(row?.[0]),
    archived: Number(archived?.[0]) - Number(row?.[1]),
    recentBytes: bytes.get('likes') ?? 0,
    archivedBytes: bytes.get('mark_blocks') ?? 0,
  }
}
