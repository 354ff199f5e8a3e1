/**
 * The persist step of counters: read the dirty totals, write them to the record store, clear the dirty marks at the versions that were read.
 * Totals are absolute and have a version, so every repetition and order of steps ends with the newest totals. A crash before the last stage
 * leaves the marks, and the step runs again.
 *
 * A dirty subject whose totals the hot store lost is filled from the record store and read again. A fill never replaces totals, so a mark
 * is cleared only after the totals that the hot store really has are written.
 */
import type { Subject } from '../../../core/domain.ts'
import type { CounterSchemas, CountRow } from '../model/counts.ts'
import type { CounterRecords } from '../stores/counter-records.ts'
import type { CounterStore } from '../stores/counter-store.ts'
import { makeBases } from './bases.ts'

export type CountPersistStores = {
  hot: Pick<CounterStore, 'readDirty' | 'fillTotals' | 'clearDirty'>
  records: Pick<CounterRecords, 'getTotalsMany' | 'putTotals'>
}

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
  { hot, records }: CountPersistStores,
  schemas: CounterSchemas,
  subjects: readonly Subject[],
): Promise<CountPersistReport> {
  const bases = makeBases(records, schemas)

  async function readRows(some: readonly Subject[]): Promise<{ rows: CountRow[]; lost: Subject[] }> {
    const dirty = await hot.readDirty(some)
    const rows: CountRow[] = []
    const lost: Subject[] = []
    some.forEach((subject, at) => {
      const { version, counts } = dirty[at] ?? {}
      if (version === undefined) return
      if (counts === undefined) lost.push(subject)
      else rows.push({ subject, version, counts })
    })
    return { rows, lost }
  }

  const report: CountPersistReport = { rows: 0, missing: 0 }
  const distinct = [...new Map(subjects.map((subject) => [`${subject.business}:${subject.oid}`, subject])).values()]
  const ours = distinct.filter(({ business }) => schemas.has(business))
  for (let start = 0; start < ours.length; start += SUBJECTS_AT_ONCE) {
    const some = ours.slice(start, start + SUBJECTS_AT_ONCE)
    const { rows, lost } = await readRows(some)
    report.missing += lost.length
    if (lost.length > 0) {
      await hot.fillTotals(await bases.of(lost))
      rows.push(...(await readRows(lost)).rows)
    }
    await records.putTotals(rows)
    await hot.clearDirty(rows)
    report.rows += rows.length
  }
  return report
}
