/** Reads of the model of the hot store. */
import type { BusinessNumber, Place, ProgressKey, ViewerId } from '../../../core/domain.ts'
import { comparePlaces } from '../../../subgraphs/history/model/places.ts'
import type { HotLookup, HotPage, KeyChange } from '../../../subgraphs/history/stores/hot-store.ts'
import { clearedAtOf, compareEntries, entriesOf, isVisible, stateOf, timelineOf, type HotModel } from './model-timelines.ts'
import { placeOf } from './shown.ts'

export function lookUp({ viewers }: HotModel, key: ProgressKey): HotLookup {
  const state = viewers.get(key.viewer)
  const timeline = state?.timelines.get(key.business)
  const record = timeline?.records.get(key.oid)
  if (state === undefined || timeline === undefined) return { record: undefined, older: undefined }
  const clearedAt = clearedAtOf(state, key.business)
  if (record !== undefined && (record.deleted || isVisible(record, clearedAt)))
    return { record: record.deleted ? undefined : record, older: undefined }
  return { record: undefined, older: timeline.floor === undefined ? undefined : { clearedAt } }
}

export function list(
  { viewers }: HotModel,
  viewer: ViewerId,
  businesses: readonly BusinessNumber[],
  before: Place | undefined,
  limit: number,
): HotPage {
  const page: HotPage = { entries: [], truncated: [] }
  const state = viewers.get(viewer)
  for (const business of businesses) {
    const timeline = state?.timelines.get(business)
    if (state === undefined || timeline === undefined) continue
    for (const entry of entriesOf(state, business, timeline)) {
      if (before === undefined || comparePlaces(before, placeOf(entry)) < 0) page.entries.push(entry)
    }
    if (timeline.floor !== undefined) page.truncated.push({ business, floor: timeline.floor, clearedAt: clearedAtOf(state, business) })
  }
  page.entries.sort(compareEntries)
  page.entries.length = Math.min(page.entries.length, limit)
  return page
}

export function listChanges(model: HotModel, viewer: ViewerId, businesses: readonly BusinessNumber[], since: number): KeyChange[] {
  const state = stateOf(model, viewer)
  const changes: KeyChange[] = []
  for (const business of new Set(businesses)) {
    for (const [oid, record] of timelineOf(state, business).records) {
      if (record.version <= since || (!record.deleted && !isVisible(record, clearedAtOf(state, business)))) continue
      changes.push({ kind: record.deleted ? 'deleted' : 'put', viewer, business, oid, record })
    }
  }
  return changes.sort((a, b) => a.record.version - b.record.version)
}
