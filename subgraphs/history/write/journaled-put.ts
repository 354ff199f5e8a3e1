/**
 * Puts of reports while a journal stands behind the hot store. The puts of a viewer go into the journal while an earlier entry of the viewer
 * waits there, and while the viewer's part of the hot store is down. Other viewers' puts go to the hot store.
 */
import { asRepeated } from '../../../core/clock-differences.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { saysDown, type Degraded } from '../../../core/outage/degraded.ts'
import { apartIfPartIsOut, concernsSomeOnly, inTwo } from '../../../core/outage/part-outage.ts'
import type { Journaling } from '../../../writeback/journaling.ts'
import type { HotStore, ProgressWrite } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'
import { baseEntries, putEntries } from './journaled-changes.ts'
import { putProgress } from './putting.ts'
import type { WriteOutcome } from './write-outcome.ts'

export function makeJournaledPut(
  hot: HotStore,
  records: RecordStore,
  journaling: Journaling,
  pausedBy: (viewer: ViewerId) => boolean | undefined,
  timelineCap: number,
) {
  async function put(writes: readonly ProgressWrite[], now: number, degraded: Degraded | undefined): Promise<WriteOutcome[]> {
    const mustWait = new Set(writes.filter((write) => journaling.mustJournal(write.viewer)))
    if (mustWait.size === 0) return putDirectly(writes, now, degraded)
    if (mustWait.size === writes.length) return journal(writes, now, degraded)
    return inTwo(
      writes,
      (write) => mustWait.has(write),
      (waiting) => journal(waiting, now, degraded),
      (going) => putDirectly(going, now, degraded),
    )
  }

  /** Of several viewers, whose part of the hot store is out: only theirs are journaled. */
  function putDirectly(writes: readonly ProgressWrite[], now: number, degraded: Degraded | undefined): Promise<WriteOutcome[]> {
    return apartIfPartIsOut(writes, (some) => putOrJournal(some, now, degraded), asRepeated)
  }

  async function putOrJournal(writes: readonly ProgressWrite[], now: number, degraded: Degraded | undefined): Promise<WriteOutcome[]> {
    try {
      const outcomes: WriteOutcome[] = await putProgress(hot, records, writes, { now, timelineCap }, async (without) => {
        degraded?.add('recordStore')
        await journaling.append(baseEntries(without, now))
      })
      const undecided = writes.filter((_, index) => outcomes[index]?.status === 'needs-base')
      if (undecided.length === 0) return outcomes
      const journaled = await journal(undecided, now, degraded)
      return outcomes.map((outcome) => (outcome.status === 'needs-base' ? (journaled.shift() as WriteOutcome) : outcome))
    } catch (error) {
      if (!saysDown(error, 'hotStore') || concernsSomeOnly(error, writes)) throw error
      // Some regions may have taken theirs. Putting those again changes nothing.
      return journal(writes, now, degraded)
    }
  }

  /** A viewer whose pausing waits is paused: what comes behind it would be dropped when it is applied. */
  async function journal(writes: readonly ProgressWrite[], now: number, degraded: Degraded | undefined): Promise<WriteOutcome[]> {
    degraded?.add('hotStore')
    const counting = writes.filter((write) => pausedBy(write.viewer) !== true)
    if (counting.length > 0) await journaling.append(putEntries(counting, now))
    return writes.map((write) => (counting.includes(write) ? { status: 'journaled', record: write.record } : { status: 'paused' }))
  }

  return put
}
