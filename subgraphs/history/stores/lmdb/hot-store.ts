/**
 * The hot store on LMDB. Each port call is one transaction for all its viewers, which exceeds the atomicity per region that the port
 * requires. Calls of one event turn share a commit. environment.ts describes durability, viewer-keys.ts the layout.
 */
import { ALL_BUSINESSES, type ProgressChange } from '../../../../core/domain.ts'
import { claimedBusiness } from '../../../../core/rewards.ts'
import type { HotStore, ProgressWrite, PutOutcome } from '../hot-store.ts'
import { makeChanges, type ChangeRelay } from '../../../../stores/lmdb/changes.ts'
import { listMarks } from '../../../../stores/lmdb/dirty-marks.ts'
import type { Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { fillProgress, fillSettings } from './fill.ts'
import { clearDirty, countDirty, readDirty, readDirtySettings } from './persist.ts'
import { makeHotPurge } from './purge.ts'
import { clearProgress, deleteProgress, putProgress, setPaused } from './put.ts'
import { listChanges, listTimeline, lookUp, readEach } from './read.ts'
import { beginWork, openHotTables, settle, viewerWork } from './work.ts'
import type { HotWork } from './work.ts'
import { confirmReward, listPendingRewards } from '../../../../writeback/stores/lmdb/pending-rewards.ts'

export type { ChangeRelay } from '../../../../stores/lmdb/changes.ts'

export type LmdbHotStoreOptions = {
  /** Forwards changes between the processes that share the environment. Default: none, for one process. */
  relay?: ChangeRelay
}

/** The environment stays open when the store is closed, since others may use it. */
export function openLmdbHotStore(environment: Environment, options: LmdbHotStoreOptions = {}): HotStore {
  const tables = openHotTables(environment)
  const changes = makeChanges(options.relay, (change) => change.viewer)
  const purge = makeHotPurge(environment, tables)
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('HOT_STORE_UNAVAILABLE', environment.folder, task)

  const inWork =
    <T>(action: (work: HotWork) => T) =>
    (): T => {
      const work = beginWork(tables, environment.regions)
      const result = action(work)
      settle(work)
      return result
    }
  const writing = <T>(action: (work: HotWork) => T): Promise<T> => calling(() => environment.write(inWork(action)))
  const freeing = <T>(action: (work: HotWork) => T): Promise<T> => calling(() => environment.writeToFree(inWork(action)))
  const reading = <T>(action: (work: HotWork) => T): Promise<T> =>
    calling(() => environment.read(() => action(beginWork(tables, environment.regions))))

  function publishPuts(writes: readonly ProgressWrite[], outcomes: readonly PutOutcome[]): void {
    for (const [index, write] of writes.entries()) {
      const { viewer, business, oid, day } = write
      const outcome = outcomes[index]
      if (outcome?.status !== 'written' || !changes.wanted(viewer)) continue
      const { record, firstOfDay } = outcome
      changes.publish({ kind: 'put', viewer, business, oid, record })
      if (firstOfDay && day !== undefined)
        changes.publish({ kind: 'day', viewer, business: claimedBusiness(write), day, version: record.version })
    }
  }

  return {
    async putProgress(writes, putOptions) {
      if (writes.length === 0) return []
      const outcomes = await writing((work) => putProgress(work, writes, putOptions))
      publishPuts(writes, outcomes)
      return outcomes
    },

    async deleteProgress(keys, now) {
      if (keys.length === 0) return []
      const deletions = await writing((work) => keys.map((key) => deleteProgress(work, key, now)))
      for (const [index, key] of keys.entries()) {
        const deletion = deletions[index]
        if (deletion?.told === true && changes.wanted(key.viewer)) changes.publish(deletedChange(key, deletion.outcome.record))
      }
      return deletions.map((deletion) => deletion.outcome)
    },

    async clearProgress(viewer, business, now) {
      const { clearedAt, version } = await writing((work) => clearProgress(work, viewer, business, now))
      const moment = clearedAt[business] ?? now
      if (changes.wanted(viewer)) changes.publish({ kind: 'cleared', viewer, business, clearedAt: moment, version })
      return moment
    },

    async setPaused(viewer, paused, now) {
      const settings = await writing((work) => setPaused(work, viewer, paused, now))
      if (changes.wanted(viewer)) changes.publish({ kind: 'paused', viewer, business: ALL_BUSINESSES, paused, version: settings.version })
      return settings
    },
    getSettings: (viewer) => reading((work) => viewerWork(work, viewer).settings.content),
    getProgressMany: (keys) => reading((work) => readEach(keys, (key) => lookUp(work, key))),
    listTimeline: (viewer, businesses, before, limit) => reading((work) => listTimeline(work, viewer, businesses, before, limit)),

    listChanges: (viewer, businesses, since) => reading((work) => listChanges(work, viewer, businesses, since)),
    readDirtyProgress: (keys) => reading((work) => readDirty(work, keys)),
    readDirtySettings: (viewers) => reading((work) => readDirtySettings(work, viewers)),
    async clearDirty(marks, timelineCap) {
      if (marks.length > 0) await freeing((work) => clearDirty(work, marks, timelineCap))
    },
    fillProgress: (rows, { timelineCap }) => writing((work) => fillProgress(work, rows, timelineCap)),
    fillSettings: (rows) => writing((work) => rows.forEach((row) => fillSettings(work, row))),
    /** A mark and its content are written and removed in one transaction, so no mark here lacks its content. */
    dropDirty: () => Promise.resolve(),
    listDirty: (regions, dirtyBefore, limit, walk) => reading(() => listMarks(tables.dirty, regions, dirtyBefore, limit, walk)),
    countDirty: () => reading(() => countDirty(tables)),

    listPendingRewards: (regions, claimedBefore, limit) => reading(() => listPendingRewards(tables, regions, claimedBefore, limit)),
    async confirmRewards(rewards) {
      if (rewards.length > 0) await freeing(() => rewards.forEach((reward) => confirmReward(tables, environment.regions, reward)))
    },

    purgeExpired: (writtenBefore, limit) => calling(() => purge(writtenBefore, limit)),
    followProgress: (viewer, listener) => Promise.resolve(changes.follow(viewer, listener)),

    check: () => reading(() => undefined),
    close() {
      changes.close()
      return Promise.resolve()
    },
  }
}

function deletedChange(
  key: { viewer: string; business: number; oid: string },
  record: Extract<ProgressChange, { kind: 'deleted' }>['record'],
): ProgressChange {
  return { kind: 'deleted', viewer: key.viewer, business: key.business, oid: key.oid, record }
}
