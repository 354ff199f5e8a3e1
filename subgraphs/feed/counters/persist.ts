/**
 * The persist step of counters: read the dirty totals, write them to the record store, clear the dirty marks at the versions that were read.
 * Totals are absolute and have a version, so every repetition and order of steps ends with the newest totals. A crash before the last stage
 * leaves the marks, and the step runs again.
 */
import type { Subject } from '../../../core/domain.ts'
import type { CounterSchemas, CountRow } from '../model/counts.ts'
import type { CounterStores } from './guarded.ts'

export type CountPersistReport = {
  /** Rows that were written. */
  rows: number
  /** Dirty subjects without totals: the hot store lost them before they were persisted. */
  missing: number
}

/** Subjects of one statement of the record store, and of one round trip to the hot store. */
const SUBJECTS_AT_ONCE = 5_000

/** Rejects with the code of the store that failed. Subjects of businesses that have no counters any more are left out. */
export async function persistCounts(
  { hot, records }: CounterStores,
  schemas: CounterSchemas,
  subjects: readonly Subject[],
): Promise<CountPersistReport> {
  const report: CountPersistReport = { rows: 0, missing: 0 }
  const distinct = [...new Map(subjects.map((subject) => [`${subject.business}:${subject.oid}`, subject])).values()]
  const ours = distinct.filter(({ business }) => schemas.has(business))
  for (let start = 0; start < ours.length; start += SUBJECTS_AT_ONCE) {
    const some = ours.slice(start, start + SUBJECTS_AT_ONCE)
    const dirty = await hot.readDirty(some)
    const marks: { subject: Subject; version: number }[] = []
    const rows: CountRow[] = []
    some.forEach((subject, at) => {
      const { version, counts } = dirty[at] ?? {}
      if (version === undefined) return
      marks.push({ subject, version })
      if (counts === undefined) report.missing++
      else rows.push({ subject, version, counts })
    })
    await records.putTotals(rows)
    await hot.clearDirty(marks)
    report.rows += rows.length
  }
  return report
}
