/** When a report counts as a play: for feed existence, and for the counts of reads. */
import type { HistoryBusiness } from '../config/businesses.ts'
import type { ProgressRecord } from '../core/domain.ts'

/** `business`: undefined if it has left the configuration. */
export function isPlayed(record: ProgressRecord, business: HistoryBusiness | undefined): boolean {
  if (record.deleted || business === undefined) return false
  return record.finished || record.position >= Math.max(1, business.playedFrom ?? business.glanceMax)
}
