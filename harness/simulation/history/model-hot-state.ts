/**
 * The hot store as documented in the port, in a few maps. Adapters use scripts and transactions. Here each call happens between two events
 * of the scheduler. `model-hot-store.ts` is the port of one process.
 *
 * An adapter could have each of the faults that can be planted.
 */
import type { BusinessNumber, DirtyWalk, Place, ProgressKey, ProgressRow, RewardEvent, ViewerId } from '../../../core/domain.ts'
import { regionOf } from '../../../core/regions.ts'
import type { ProgressWrite, PutOptions } from '../../../subgraphs/history/stores/hot-store.ts'
import type { SettingsRow } from '../../../subgraphs/history/stores/record-store.ts'
import { clearMark, dropMark, listDirty, listRewards } from './model-dirty.ts'
import { makeModelFollowers } from './model-followers.ts'
import { fillRow, fillSettings, put } from './model-puts.ts'
import { list, listChanges, lookUp } from './model-reads.ts'
import { clear, purge, remove, setPaused } from './model-removals.ts'
import { recordOf, trimAll, type HotModel, type HotObserver, type HotStateOptions, type Region } from './model-timelines.ts'

export type HotState = ReturnType<typeof makeHotState>

export function makeHotState(options: HotStateOptions, observer?: HotObserver) {
  const regions = Array.from({ length: options.regions }, (): Region => ({ lastVersion: 0, dirty: new Map(), rewards: new Map() }))
  const { tell, follow } = makeModelFollowers()
  const model: HotModel = { options, observer, regions, viewers: new Map(), tell }
  return {
    put: (write: ProgressWrite, putOptions: PutOptions) => put(model, write, putOptions),
    trimAll: (keys: readonly ProgressKey[], cap: number) => trimAll(model, keys, cap),
    remove: (key: ProgressKey, now: number) => remove(model, key, now),
    clear: (viewer: ViewerId, business: BusinessNumber, now: number) => clear(model, viewer, business, now),
    setPaused: (viewer: ViewerId, paused: boolean, now: number) => setPaused(model, viewer, paused, now),
    lookUp: (key: ProgressKey) => lookUp(model, key),
    list: (viewer: ViewerId, businesses: readonly BusinessNumber[], before: Place | undefined, limit: number) =>
      list(model, viewer, businesses, before, limit),
    listChanges: (viewer: ViewerId, businesses: readonly BusinessNumber[], since: number) => listChanges(model, viewer, businesses, since),
    recordOf: (key: ProgressKey) => recordOf(model, key),
    settingsOf: (viewer: ViewerId) => model.viewers.get(viewer)?.settings ?? { paused: false, clearedAt: {}, version: 0 },
    clearMark: (key: ProgressKey, version: number, timelineCap: number) => clearMark(model, key, version, timelineCap),
    dropMark: (key: ProgressKey) => dropMark(model, key),
    fillRow: (row: ProgressRow) => fillRow(model, row),
    fillSettings: (row: SettingsRow) => fillSettings(model, row),
    listDirty: (asked: readonly number[], dirtyBefore: number, limit: number, walk?: DirtyWalk) =>
      listDirty(model, asked, dirtyBefore, limit, walk),
    countDirty: () => regions.reduce((sum, region) => sum + region.dirty.size, 0),
    listRewards: (asked: readonly number[], claimedBefore: number, limit: number) => listRewards(model, asked, claimedBefore, limit),
    confirm: (reward: RewardEvent) => regions[regionOf(reward.viewer, options.regions)]?.rewards.delete(reward.id),
    purge: (writtenBefore: number, limit: number) => purge(model, writtenBefore, limit),
    follow,
    regionOf: (viewer: ViewerId) => regionOf(viewer, options.regions),
  }
}
