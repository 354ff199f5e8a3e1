/** Dirty marks and pending rewards in the model of the hot store. */
import type { DirtyWalk, ProgressKey, RewardEvent } from '../../../core/domain.ts'
import { isSettingsKey, keyText } from '../../../core/progress-key.ts'
import { clearedAtOf, forget, isVisible, recordOf, stateOf, trim, type HotModel, type Region } from './model-timelines.ts'

export function clearMark(model: HotModel, key: ProgressKey, version: number, timelineCap: number): void {
  const state = stateOf(model, key.viewer)
  const current = isSettingsKey(key) ? state.settings.version : recordOf(model, key)?.version
  if (current !== version && !model.options.faults.clearsUnchecked) return
  state.region.dirty.delete(keyText(key))
  const timeline = state.timelines.get(key.business)
  if (timeline === undefined) return
  // A cleared record that waited to be persisted goes now.
  const record = timeline.records.get(key.oid)
  if (record !== undefined && !record.deleted && !isVisible(record, clearedAtOf(state, key.business))) forget(timeline, key.oid)
  trim(model, state, key.business, timeline, timelineCap)
}

export function dropMark(model: HotModel, key: ProgressKey): void {
  const state = stateOf(model, key.viewer)
  const missing = isSettingsKey(key) ? state.settings.version === 0 : recordOf(model, key) === undefined
  if (missing) state.region.dirty.delete(keyText(key))
}

export function listDirty(
  { regions }: HotModel,
  asked: readonly number[],
  dirtyBefore: number,
  limit: number,
  walk: DirtyWalk = {},
): ProgressKey[] {
  const passed = (walk.place ??= new Set()) as Set<string>
  const keys: ProgressKey[] = []
  for (const region of asked) {
    const marks = [...(regions[region] as Region).dirty].filter(([text, { since }]) => since <= dirtyBefore && !passed.has(text))
    keys.push(...marks.sort(([, a], [, b]) => a.since - b.since).map(([, { key }]) => key))
  }
  const page = keys.slice(0, limit)
  for (const key of page) passed.add(keyText(key))
  return page
}

export function listRewards({ regions }: HotModel, asked: readonly number[], claimedBefore: number, limit: number): RewardEvent[] {
  const pending = asked.flatMap((region) => [...(regions[region] as Region).rewards.values()])
  return pending
    .filter((each) => each.claimedAt <= claimedBefore)
    .map((each) => each.event)
    .slice(0, limit)
}
