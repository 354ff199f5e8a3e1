/**
 * Port: the record store of counters. It has absolute totals with a version, so persisting them is idempotent: of two writes of a subject
 * the one with the higher version stays, in any order and however often.
 *
 * Every adapter passes `test/contracts/feed/counter-records.ts`. Failures surface as in the record store of the feed.
 */
import type { BusinessNumber, Subject } from '../../../core/domain.ts'
import type { CountRow, VersionedCounts } from '../model/counts.ts'

export interface CounterRecords {
  /** As in the record store of the feed. */
  readonly readsAtOnceMax?: number
  /** Subjects are distinct. A stored row with the same or a higher version stays. */
  putTotals(rows: readonly CountRow[]): Promise<void>
  /**
   * Multi-get in order; undefined: never persisted. The counts have the names with which they were written, without those that are 0: the
   * schema of a business may change.
   */
  getTotalsMany(subjects: readonly Subject[]): Promise<(VersionedCounts | undefined)[]>
  /** The totals of a business in an order of the store, after the subject `after`, at most `limit`; none = done. For operators. */
  listTotals(business: BusinessNumber, after: string | undefined, limit: number): Promise<CountRow[]>
  /** For operators and tests; may be slow. */
  countSubjects(): Promise<number>
  check(): Promise<void>
  close(): Promise<void>
}
