/** Deletions, clearings, switches and purges in the model of the hot store. */
import { ALL_BUSINESSES, type BusinessNumber, type ProgressKey, type ViewerId, type ViewerSettings } from '../../../core/domain.ts'
import { keyText, settingsKey } from '../../../core/progress-key.ts'
import type { DeleteOutcome } from '../../../subgraphs/history/stores/hot-store.ts'
import {
  clearedAtOf,
  entriesOf,
  forget,
  isVisible,
  markDirty,
  nextVersion,
  stateOf,
  store,
  timelineOf,
  type HotModel,
  type Timeline,
  type ViewerState,
} from './model-timelines.ts'

export function remove(model: HotModel, key: ProgressKey, now: number): DeleteOutcome {
  const state = stateOf(model, key.viewer)
  const timeline = timelineOf(state, key.business)
  const held = timeline.records.get(key.oid)
  // A trimmed entry may also have been viewed ahead of the clock. It lies at or before the floor.
  const moment = Math.max(now, held?.viewedAt ?? floorAt(model, timeline))
  const version = nextVersion(state.region, now)
  const record = {
    viewedAt: moment,
    since: moment,
    rank: 0,
    version,
    position: 0,
    duration: 0,
    device: '',
    finished: false,
    deleted: true,
  }
  store(timeline, key.oid, record)
  markDirty(state.region, key, now)
  const outcome = { record, existed: held !== undefined && isVisible(held, clearedAtOf(state, key.business)) }
  model.observer?.deleted(key, outcome, now)
  model.tell({ kind: 'deleted', ...key, record })
  return outcome
}

function floorAt({ options }: HotModel, timeline: Timeline): number {
  return options.faults.forgetsFloor ? 0 : (timeline.floor?.viewedAt ?? 0)
}

export function clear(model: HotModel, viewer: ViewerId, business: BusinessNumber, now: number): number {
  const state = stateOf(model, viewer)
  const timeline = timelineOf(state, business)
  const newest = entriesOf(state, business, timeline)[0]?.record.viewedAt ?? 0
  const clearedAt = Math.max(now, newest, floorAt(model, timeline), clearedAtOf(state, business))
  removeUntil(model, state, business, clearedAt)
  changeSettings(state, { clearedAt: { ...state.settings.clearedAt, [business]: clearedAt } }, now)
  model.observer?.cleared(viewer, business, clearedAt, now)
  model.tell({ kind: 'cleared', viewer, business, clearedAt, version: state.settings.version })
  return clearedAt
}

export function removeUntil({ options }: HotModel, state: ViewerState, business: BusinessNumber, clearedAt: number): void {
  const { clearing } = options
  const timeline = timelineOf(state, business)
  for (const [oid, record] of timeline.records) {
    const text = keyText({ viewer: state.viewer, business, oid })
    if (record.viewedAt > clearedAt || (clearing === 'keeps contents' && state.region.dirty.has(text))) continue
    forget(timeline, oid)
    if (clearing === 'forgets') state.region.dirty.delete(text)
  }
  if (clearedAt >= (timeline.floor?.viewedAt ?? 0)) timeline.floor = undefined
}

export function setPaused(model: HotModel, viewer: ViewerId, paused: boolean, now: number): ViewerSettings {
  const state = stateOf(model, viewer)
  changeSettings(state, { paused }, now)
  model.observer?.paused(viewer, paused)
  model.tell({ kind: 'paused', viewer, business: ALL_BUSINESSES, paused, version: state.settings.version })
  return state.settings
}

function changeSettings(state: ViewerState, change: Partial<ViewerSettings>, now: number): void {
  state.settings = { ...state.settings, ...change, version: nextVersion(state.region, now, state.settings.version) }
  markDirty(state.region, settingsKey(state.viewer), now)
}

export function purge({ viewers }: HotModel, writtenBefore: number, limit: number): number {
  let removed = 0
  for (const state of viewers.values()) {
    for (const [business, timeline] of state.timelines) {
      for (const [oid, record] of timeline.records) {
        if (removed === limit) return removed
        if (record.version >= writtenBefore * 1024 || state.region.dirty.has(keyText({ viewer: state.viewer, business, oid }))) continue
        forget(timeline, oid)
        removed++
      }
    }
  }
  return removed
}
