/**
 * The four changes to a viewer's history, as the service makes them: directly in the hot store, or in the journal while the hot store is
 * down. `journaled` means that the hot store does not have the change yet; its keys must not be flushed.
 *
 * A viewer's writes stay in order. While one of them waits in this process's journal, the viewer's next writes go behind it, even if the
 * hot store is back. Other viewers' writes go directly. Writes of one viewer through several processes are ordered by their own times only;
 * `replay.ts` describes the consequences.
 */
import type { Businesses } from '../../../config/businesses.ts'
import type { BusinessNumber, ProgressKey, ProgressRecord, ViewerId, ViewerSettings } from '../../../core/domain.ts'
import { noteOrThrow, saysDown, type Degraded, type MayLack } from '../../../core/outage/degraded.ts'
import { lookUpInRecords } from '../../../loaders/progress.ts'
import type { Journaling } from '../../../writeback/journaling.ts'
import { makePut, type OvertakenRules, type Put, type PutJournal } from '../../../writeback/put.ts'
import type { CheckedReport } from '../inputs.ts'
import type { HotStore, ProgressWrite, PutOutcome } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'
import { baseEntries, putEntries, type HistoryChange } from './journaled-changes.ts'
import { putProgress } from './putting.ts'

export type WriteOutcome = PutOutcome | { status: 'journaled'; record: ProgressRecord }

export type HistoryWrites = {
  /** In the order of `reports`. */
  put: Put<CheckedReport, WriteOutcome>
  /** `existed`: true for keys that were in the history. In key order. */
  delete(keys: readonly ProgressKey[], now: number, degraded: Degraded): Promise<{ existed: boolean[]; journaled: boolean }>
  clear(viewer: ViewerId, business: BusinessNumber, now: number, degraded: Degraded): Promise<{ clearedAt: number; journaled: boolean }>
  setPaused(viewer: ViewerId, paused: boolean, now: number, degraded: Degraded): Promise<{ settings: ViewerSettings; journaled: boolean }>
  /** True if the journal has writes of this viewer that the hot store lacks. To be called before a read. */
  mayLack: MayLack
  /** The newest waiting switch; undefined if none waits. */
  pausedBy(viewer: ViewerId): boolean | undefined
}

/** Without journaling, a change rejects with the code of the store that is down. With it, a change rejects only if the journal fails too. */
export function makeHistoryWrites(
  hot: HotStore,
  records: RecordStore,
  timelineCap: number,
  businesses: Pick<Businesses, 'byNumber'>,
  journaling?: Journaling,
): HistoryWrites {
  /** The newest waiting switch of a viewer. It counts only while an entry of the viewer waits. */
  const pausing = new Map<ViewerId, boolean>()

  function pausedBy(viewer: ViewerId): boolean | undefined {
    if (journaling?.isWaiting(viewer) !== true) pausing.delete(viewer)
    return pausing.get(viewer)
  }

  /** Tries the hot store unless the viewer's writes wait. If the hot store does not answer, the change goes into the journal. */
  async function changeOrJournal<T>(
    viewer: ViewerId,
    now: number,
    change: HistoryChange,
    degraded: Degraded,
    task: () => Promise<T>,
  ): Promise<T | undefined> {
    if (journaling === undefined) return task()
    if (!journaling.mustJournal(viewer)) {
      try {
        return await task()
      } catch (error) {
        if (!saysDown(error, 'hotStore')) throw error
      }
    }
    degraded.add('hotStore')
    const appended = journaling.append([{ viewer, now, change }])
    if (change.kind === 'pause') pausing.set(viewer, change.paused)
    await appended
    return undefined
  }

  /** The visible rows of the record store. A deletion succeeds even if the record store is down as well. */
  async function existedInRecords(keys: readonly ProgressKey[], degraded: Degraded): Promise<boolean[]> {
    try {
      return (await lookUpInRecords(records, keys)).map((record) => record !== undefined)
    } catch (error) {
      noteOrThrow(error, 'recordStore', degraded)
      return keys.map(() => false)
    }
  }

  const journal = journaling && journalOf(journaling, pausedBy)

  /**
   * Reports that the hot store cannot decide without the record store go into the journal. If the record store is down, they are put
   * without its rows, which the journal merges in later.
   */
  async function putOrDefer(reports: readonly CheckedReport[], now: number, degraded: Degraded): Promise<WriteOutcome[]> {
    const outcomes: WriteOutcome[] = await putProgress(hot, records, reports, { now, timelineCap }, journaling && withoutBase)
    const undecided = reports.filter((_, index) => outcomes[index]?.status === 'needs-base')
    if (journal === undefined || undecided.length === 0) return outcomes
    const journaled = await journal.append(undecided, now, degraded)
    return outcomes.map((outcome) => (outcome.status === 'needs-base' ? (journaled.shift() as WriteOutcome) : outcome))

    async function withoutBase(without: readonly ProgressWrite[]): Promise<void> {
      degraded.add('recordStore')
      await journaling?.append(baseEntries(without, now))
    }
  }

  return {
    put: makePut(overtakenReports(businesses), putOrDefer, journal),
    async delete(keys, now, degraded) {
      const viewer = keys[0]?.viewer ?? ''
      const deleted = await changeOrJournal(viewer, now, { kind: 'delete', keys }, degraded, () => hot.deleteProgress(keys, now))
      if (deleted === undefined) return { existed: await existedInRecords(keys, degraded), journaled: true }
      return { existed: deleted.map((each) => each.existed), journaled: false }
    },
    async clear(viewer, business, now, degraded) {
      const change = { kind: 'clear', business } as const
      const clearedAt = await changeOrJournal(viewer, now, change, degraded, () => hot.clearProgress(viewer, business, now))
      return { clearedAt: clearedAt ?? now, journaled: clearedAt === undefined }
    },
    async setPaused(viewer, paused, now, degraded) {
      const settings = await changeOrJournal(viewer, now, { kind: 'pause', paused }, degraded, () => hot.setPaused(viewer, paused, now))
      return { settings: settings ?? { paused, clearedAt: {}, version: 0 }, journaled: settings === undefined }
    },
    mayLack: journaling?.mayLack ?? (() => false),
    pausedBy,
  }
}

/** The report moves a millisecond above the one that overtook it. Under the rule `newest` its rank grows with its time (`rankOf`). */
function overtakenReports(businesses: Pick<Businesses, 'byNumber'>): OvertakenRules<CheckedReport, WriteOutcome> {
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

/** `pausedBy`: as of `HistoryWrites`. */
function journalOf(journaling: Journaling, pausedBy: HistoryWrites['pausedBy']): PutJournal<ProgressWrite, WriteOutcome> {
  return {
    mustJournal: (viewer) => journaling.mustJournal(viewer),
    isOut: (error) => saysDown(error, 'hotStore'),
    /** A viewer whose waiting switch is "paused" counts as paused: later reports would be dropped at the replay. */
    async append(writes, now, degraded) {
      degraded.add('hotStore')
      const counting = writes.filter((write) => pausedBy(write.viewer) !== true)
      if (counting.length > 0) await journaling.append(putEntries(counting, now))
      return writes.map((write) => (counting.includes(write) ? { status: 'journaled', record: write.record } : { status: 'paused' }))
    },
  }
}
