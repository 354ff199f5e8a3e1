/** Puts of reports, with the journal behind the hot store. */
import { asRepeated } from '../../../core/clock-differences.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { saysDown, type Degraded } from '../../../core/outage/degraded.ts'
import { makeJournaledPut } from '../../../writeback/journaled-put.ts'
import type { Journaling } from '../../../writeback/journaling.ts'
import type { HotStore, ProgressWrite } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'
import { baseEntries, putEntries } from './journaled-changes.ts'
import { putProgress } from './putting.ts'
import type { WriteOutcome } from './write-outcome.ts'

export function makeJournaledProgressPut(
  hot: HotStore,
  records: RecordStore,
  journaling: Journaling,
  pausedBy: (viewer: ViewerId) => boolean | undefined,
  timelineCap: number,
) {
  return makeJournaledPut<ProgressWrite, WriteOutcome>(journaling, {
    put: putDirectly,
    journal,
    isOut: (error) => saysDown(error, 'hotStore'),
    asRepeated,
  })

  async function putDirectly(writes: readonly ProgressWrite[], now: number, degraded: Degraded): Promise<WriteOutcome[]> {
    const outcomes: WriteOutcome[] = await putProgress(hot, records, writes, { now, timelineCap }, async (without) => {
      degraded.add('recordStore')
      await journaling.append(baseEntries(without, now))
    })
    const undecided = writes.filter((_, index) => outcomes[index]?.status === 'needs-base')
    if (undecided.length === 0) return outcomes
    const journaled = await journal(undecided, now, degraded)
    return outcomes.map((outcome) => (outcome.status === 'needs-base' ? (journaled.shift() as WriteOutcome) : outcome))
  }

  /** A viewer whose waiting switch is "paused" counts as paused: later reports would be dropped at the replay. */
  async function journal(writes: readonly ProgressWrite[], now: number, degraded: Degraded): Promise<WriteOutcome[]> {
    degraded.add('hotStore')
    const counting = writes.filter((write) => pausedBy(write.viewer) !== true)
    if (counting.length > 0) await journaling.append(putEntries(counting, now))
    return writes.map((write) => (counting.includes(write) ? { status: 'journaled', record: write.record } : { status: 'paused' }))
  }
}
