/** Finds the stored records for reports that the hot store calls stale. */
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { ProgressKey, ProgressRecord } from '../../../core/domain.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import { getProgressMany } from '../../../loaders/progress.ts'
import type { HotStore } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'

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
