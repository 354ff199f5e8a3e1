/**
 * The four changes to a viewer's history, as the service makes them: directly in the hot store, or in the journal while the hot store is
 * down. `journaled` means that the hot store does not have the change yet; its keys must not be flushed.
 *
 * A viewer's writes stay in order. While one of them waits in this process's journal, the viewer's next writes go behind it, even if the
 * hot store is back. Other viewers' writes go directly. Writes of one viewer through several processes are ordered by their own times only;
 * `replay.ts` describes the consequences.
 */
import type { BusinessNumber, ProgressKey, ViewerId, ViewerSettings } from '../../../core/domain.ts'
import { noteOrThrow, saysDown, type Degraded, type MayLack } from '../../../core/outage/degraded.ts'
import { lookUpInRecords } from '../../../loaders/progress.ts'
import type { HotStore, ProgressWrite } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'
import type { Journaling } from '../../../writeback/journaling.ts'
import type { HistoryChange } from './journaled-changes.ts'
import { makeJournaledProgressPut } from './journaled-reports.ts'
import { putProgress } from './putting.ts'
import type { WriteOutcome } from './write-outcome.ts'

export type HistoryWrites = {
  /** In the order of `writes`. */
  put(writes: readonly ProgressWrite[], now: number, degraded: Degraded): Promise<WriteOutcome[]>
  /** `existed`: true for keys that were in the history. In key order. */
  delete(keys: readonly ProgressKey[], now: number, degraded: Degraded): Promise<{ existed: boolean[]; journaled: boolean }>
  clear(viewer: ViewerId, business: BusinessNumber, now: number, degraded: Degraded): Promise<{ clearedAt: number; journaled: boolean }>
  setPaused(viewer: ViewerId, paused: boolean, now: number, degraded: Degraded): Promise<{ settings: ViewerSettings; journaled: boolean }>
  /** True if the journal has writes of this viewer that the hot store lacks. To be called before a read. */
  mayLack: MayLack
  /** The newest waiting switch; undefined if none waits. */
  pausedBy(viewer: ViewerId): boolean | undefined
}

async function rejectWithoutBase(_: readonly ProgressWrite[], failure: unknown): Promise<never> {
  throw failure
}

/** Rejects with the code of the store that is down. */
export function makeDirectWrites(hot: HotStore, records: RecordStore, timelineCap: number): HistoryWrites {
  return {
    put: (writes, now) => putProgress(hot, records, writes, { now, timelineCap }, rejectWithoutBase),
    delete: async (keys, now) => ({ existed: (await hot.deleteProgress(keys, now)).map((each) => each.existed), journaled: false }),
    clear: async (viewer, business, now) => ({ clearedAt: await hot.clearProgress(viewer, business, now), journaled: false }),
    setPaused: async (viewer, paused, now) => ({ settings: await hot.setPaused(viewer, paused, now), journaled: false }),
    mayLack: () => false,
    pausedBy: () => undefined,
  }
}

/** Rejects only if the journal fails too. */
export function makeJournaledWrites(hot: HotStore, records: RecordStore, journaling: Journaling, timelineCap: number): HistoryWrites {
  const direct = makeDirectWrites(hot, records, timelineCap)
  /** The newest waiting switch of a viewer. It counts only while an entry of the viewer waits. */
  const pausing = new Map<ViewerId, boolean>()

  /** Tries the hot store unless the viewer's writes wait. If the hot store does not answer, the change goes into the journal. */
  async function changeOrJournal<T>(
    viewer: ViewerId,
    now: number,
    change: HistoryChange,
    degraded: Degraded,
    task: () => Promise<T>,
  ): Promise<T | undefined> {
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

  function pausedBy(viewer: ViewerId): boolean | undefined {
    if (!journaling.isWaiting(viewer)) pausing.delete(viewer)
    return pausing.get(viewer)
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

  return {
    put: makeJournaledProgressPut(hot, records, journaling, pausedBy, timelineCap),
    async delete(keys, now, degraded) {
      const viewer = keys[0]?.viewer ?? ''
      const done = await changeOrJournal(viewer, now, { kind: 'delete', keys }, degraded, () => direct.delete(keys, now, degraded))
      return done ?? { existed: await existedInRecords(keys, degraded), journaled: true }
    },
    async clear(viewer, business, now, degraded) {
      const done = await changeOrJournal(viewer, now, { kind: 'clear', business }, degraded, () =>
        direct.clear(viewer, business, now, degraded),
      )
      return done ?? { clearedAt: now, journaled: true }
    },
    async setPaused(viewer, paused, now, degraded) {
      const done = await changeOrJournal(viewer, now, { kind: 'pause', paused }, degraded, () =>
        direct.setPaused(viewer, paused, now, degraded),
      )
      return done ?? { settings: { paused, clearedAt: {}, version: 0 }, journaled: true }
    },
    mayLack: journaling.mayLack,
    pausedBy,
  }
}
