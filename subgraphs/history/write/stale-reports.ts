/** Handles reports that the hot store calls stale: current reports are put again, and for others the stored record is returned. */
import type { Businesses } from '../../../config/businesses.ts'
import type { OvertakenRules } from '../../../core/clock-differences.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { ProgressKey, ProgressRecord } from '../../../core/domain.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import { getProgressMany } from '../../../loaders/progress.ts'
import type { HotStore } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'
import type { CheckedReport } from '../inputs.ts'
import type { WriteOutcome } from './writes.ts'

/** The report moves a millisecond above the one that overtook it. Under the rule `newest` its rank grows with its time (`rankOf`). */
export function overtakenReports(businesses: Pick<Businesses, 'byNumber'>): OvertakenRules<CheckedReport, WriteOutcome> {
  return {
    timeOf: ({ record }) => record.viewedAt,
    isOvertaken: (_, outcome) => outcome.status === 'stale' && outcome.repeated !== true,
    raise(report, outcome) {
      if (outcome.status !== 'stale') return report
      const { record } = report
      const viewedAt = Math.max(record.viewedAt, outcome.voidUntil, outcome.record?.viewedAt ?? 0) + 1
      const isRankedByTime = businesses.byNumber(report.business)?.conflict === 'newest'
      const rank = isRankedByTime ? record.rank + viewedAt - record.viewedAt : record.rank
      return Object.assign({}, report, { record: Object.assign({}, record, { viewedAt, rank }) })
    },
  }
}

type StaleAnswer = { outcome: 'STALE'; key: ProgressKey; record: ProgressRecord | undefined; clearedAt: number | undefined }

/**
 * Sets the record of stale answers without one. A report older than a clearing is refused without a read of the record store, which may
 * have a newer record. The report is answered in any case.
 */
export async function lookUpStale(
  hot: HotStore,
  records: RecordStore,
  answers: readonly (StaleAnswer | { outcome: 'ACCEPTED' | 'PAUSED' | 'REJECTED' })[],
  degraded: Degraded,
): Promise<void> {
  const unknown = answers.filter((each): each is StaleAnswer => each.outcome === 'STALE' && each.record === undefined)
  if (unknown.length === 0) return
  const keys = unknown.map(({ key }) => key)
  try {
    const found = await getProgressMany(hot, records, keys, degraded)
    unknown.forEach((answer, place) => {
      const record = found[place]
      // If the hot store has just failed, the record store alone may not know the clearing yet.
      if (record !== undefined && record.viewedAt > (answer.clearedAt ?? 0)) answer.record = record
    })
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    degraded.add('hotStore')
  }
}
