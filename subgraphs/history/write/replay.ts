/**
 * Applies the entries of a journal to the hot store, a viewer's entries in order. An entry may be applied twice, if a process dies before
 * it removes it. It may also be applied late: other processes wrote meanwhile, or the journal belonged to a dead process.
 *
 * Reports merge, so both are harmless for them. `dated-changes.ts` applies deletions, clearings and switches. A report that is replayed
 * after its viewer paused is dropped, even if it was made before: when in doubt, nothing is recorded.
 */
import type { ProgressKey } from '../../../core/domain.ts'
import type { ErrorCode } from '../../../core/errors.ts'
import { keyText } from '../../../core/progress-key.ts'
import type { HotStore, ProgressWrite } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'
import type { Replay } from '../../../writeback/journal-run.ts'
import { readHistoryEntry, type HistoryJournalEntry } from './journaled-changes.ts'
import { makeDatedChanges } from './dated-changes.ts'
import { putProgress } from './putting.ts'
import { followUp, type FollowUp } from './follow-up.ts'
import type { WriteOutcome } from './writes.ts'

export type ReplayHooks = FollowUp & {
  /** Notes durably that these were put without the rows of the record store. */
  withoutBase(writes: readonly ProgressWrite[], now: number): Promise<void>
  /** True if a put that began then may still reach the hot store. */
  mayBeUnderWay(since: number): boolean
  /** Called for changes that came too late to count: a newer one is stored, or the viewer paused. */
  dropped(count: number): void
}

export function makeReplay(hot: HotStore, records: RecordStore, timelineCap: number, hooks: ReplayHooks): Replay {
  const own = new Map<string, number>()
  const { remove, clear, setPaused } = makeDatedChanges(hot, records, own, hooks)

  async function put(writes: readonly ProgressWrite[], now: number): Promise<boolean> {
    const outcomes: WriteOutcome[] = await putProgress(hot, records, writes, { now, timelineCap }, (without) =>
      hooks.withoutBase(without, now),
    )
    await followUp(writes, outcomes, hooks)
    writes.forEach((write, index) => {
      const outcome = outcomes[index]
      if (outcome?.status === 'written' && outcome.record.viewedAt > now) own.set(keyText(write), outcome.record.version)
    })
    hooks.dropped(outcomes.filter((outcome) => outcome.status === 'paused').length)
    return !outcomes.some((outcome) => outcome.status === 'needs-base')
  }

  /**
   * Merges the rows of the record store into records that were put without them, whether the viewer has paused meanwhile or not. Two
   * reports that were put without a base are one record by now, and a deletion between them can no longer separate them.
   *
   * The entry is older than the put it belongs to:
   *
   * 1. The entry is durable.
   * 2. The record store is back, and the entry is applied.
   * 3. The put, which was under way all the time, arrives.
   *
   * The entry is therefore applied again until no put that began then can still be under way, including those of dead processes. False:
   * apply it again.
   */
  async function mergeBases(keys: readonly ProgressKey[], now: number): Promise<boolean> {
    const rows = await records.getProgressMany(keys)
    const stored = await hot.readDirtyProgress(keys)
    const writes = keys.flatMap((key, index): ProgressWrite[] => {
      const row = rows[index]
      return row === undefined || row.deleted ? [] : [{ ...key, record: row, decisive: false, base: row, merges: true }]
    })
    if (writes.length > 0) await put(writes, now)
    for (const [index, key] of keys.entries()) {
      const row = rows[index]
      const record = stored[index]?.record
      const isVoid = row?.deleted === true && record !== undefined && !record.deleted && record.viewedAt <= row.since
      if (isVoid) await remove([key], row.since)
    }
    return !hooks.mayBeUnderWay(now)
  }

  /** False: the entry must be applied again. */
  async function applyChange({ viewer, now, change }: HistoryJournalEntry): Promise<boolean> {
    switch (change.kind) {
      case 'put':
        return put(change.writes, now)
      case 'delete':
        await remove(change.keys, now)
        return true
      case 'clear':
        await clear(viewer, change.business, now)
        return true
      case 'pause':
        await setPaused(viewer, change.paused, now)
        return true
      case 'base':
        return mergeBases(change.keys, now)
    }
  }

  return {
    refusals: REFUSALS,
    async apply(entry) {
      const known = readHistoryEntry(entry)
      if (typeof known === 'string') return { refused: known }
      return (await applyChange(known)) ? 'applied' : 'later'
    },
  }
}

/** Errors of a write's content. The same write always fails. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'BUSINESS_UNKNOWN',
  'ID_INVALID',
  'IDS_TOO_MANY',
  'INPUTS_TOO_MANY',
  'POSITION_INVALID',
  'VIEWED_AT_INVALID',
  'DEVICE_INVALID',
])
