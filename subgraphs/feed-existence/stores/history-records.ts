/** Port: the reads of feed existence from the history of viewers. The composition root passes the record store of history. */
import type { BusinessNumber, Place, ProgressKey, ProgressRecord, TimelineEntry, ViewerId } from '../../../core/domain.ts'

export interface HistoryRecords {
  /** In key order, tombstones included. */
  getProgressMany(keys: readonly ProgressKey[]): Promise<(ProgressRecord | undefined)[]>
  /** Newest first, at most `limit`, strictly after `before`; no tombstones. */
  listProgress(viewer: ViewerId, businesses: readonly BusinessNumber[], before: Place | undefined, limit: number): Promise<TimelineEntry[]>
}
