/** The data of the model of the hot store: settings and timelines per viewer, dirty marks and pending rewards per region. */
import type {
  BusinessNumber,
  Place,
  ProgressChange,
  ProgressKey,
  ProgressRecord,
  RewardEvent,
  TimelineEntry,
  ViewerId,
  ViewerSettings,
} from '../../../core/domain.ts'
import { keyText } from '../../../core/progress-key.ts'
import { regionOf } from '../../../core/regions.ts'
import { comparePlaces } from '../../../subgraphs/history/model/places.ts'
import type { DeleteOutcome, ProgressWrite, PutOutcome } from '../../../subgraphs/history/stores/hot-store.ts'
import { placeOf } from './shown.ts'

export type HotFaults = {
  /** Deletions and clearings ignore trimmed entries, although those may have been viewed ahead of the clock. */
  forgetsFloor?: boolean
  /** Outcomes do not contain the time up to which a clearing or a deletion reaches. */
  hidesVoid?: boolean
  /** Treats every arrival after a clearing as viewed after it. */
  takesLate?: boolean
  /** Trims entries whether they are persisted or not. */
  trimsDirty?: boolean
  /** Clears a dirty mark regardless of the version. */
  clearsUnchecked?: boolean
  /** Accepts a base although an entry was trimmed since the base was read. */
  believesOldBases?: boolean
}

/**
 * The effect of a clearing on dirty entries, where adapters differ. The entry goes. Or its mark stays, and the persist step finds nothing.
 * Or mark and content stay until they are persisted.
 */
export const CLEARINGS = ['forgets', 'keeps marks', 'keeps contents'] as const
export type Clearing = (typeof CLEARINGS)[number]

export type HotStateOptions = {
  regions: number
  clearing: Clearing
  faults: HotFaults
}

/** Notified of every change of a client, at the instant it happens. */
export type HotObserver = {
  /** `isGuess`: the put did not consider the record store, although that may have the key. */
  put(write: ProgressWrite, outcome: PutOutcome, isGuess: boolean): void
  deleted(key: ProgressKey, outcome: DeleteOutcome, now: number): void
  cleared(viewer: ViewerId, business: BusinessNumber, clearedAt: number, now: number): void
  paused(viewer: ViewerId, paused: boolean): void
}

export type Timeline = {
  /** Contents and tombstones by oid. */
  records: Map<string, ProgressRecord>
  listed: number
  floor: Place | undefined
  /** The region's last version when something was last trimmed. */
  trimmedAt: number
}
export type ViewerState = {
  viewer: ViewerId
  region: Region
  settings: ViewerSettings
  timelines: Map<BusinessNumber, Timeline>
  /** The last claimed days, by business of the claim. */
  lastDays: Map<BusinessNumber, number>
}
export type Region = {
  lastVersion: number
  dirty: Map<string, { key: ProgressKey; since: number }>
  rewards: Map<string, { event: RewardEvent; claimedAt: number }>
}

/** The whole state. Each function on it is one instant. */
export type HotModel = {
  options: HotStateOptions
  observer: HotObserver | undefined
  regions: readonly Region[]
  viewers: Map<ViewerId, ViewerState>
  tell(change: ProgressChange): void
}

export function stateOf({ viewers, regions, options }: HotModel, viewer: ViewerId): ViewerState {
  let state = viewers.get(viewer)
  if (state === undefined) {
    const region = regions[regionOf(viewer, options.regions)] as Region
    state = { viewer, region, settings: { paused: false, clearedAt: {}, version: 0 }, timelines: new Map(), lastDays: new Map() }
    viewers.set(viewer, state)
  }
  return state
}

export function timelineOf(state: ViewerState, business: BusinessNumber): Timeline {
  let timeline = state.timelines.get(business)
  if (timeline === undefined) {
    timeline = { records: new Map(), listed: 0, floor: undefined, trimmedAt: 0 }
    state.timelines.set(business, timeline)
  }
  return timeline
}

export function recordOf({ viewers }: HotModel, key: ProgressKey): ProgressRecord | undefined {
  return viewers.get(key.viewer)?.timelines.get(key.business)?.records.get(key.oid)
}

export function nextVersion(region: Region, now: number, above = 0): number {
  region.lastVersion = Math.max(region.lastVersion + 1, now * 1024, above + 1)
  return region.lastVersion
}

export function markDirty(region: Region, key: ProgressKey, now: number): void {
  const text = keyText(key)
  if (!region.dirty.has(text)) region.dirty.set(text, { key, since: now })
}

export function clearedAtOf(state: ViewerState, business: BusinessNumber): number {
  return state.settings.clearedAt[business] ?? 0
}

export function store(timeline: Timeline, oid: string, record: ProgressRecord): void {
  const before = timeline.records.get(oid)
  timeline.listed += (record.deleted ? 0 : 1) - (before === undefined || before.deleted ? 0 : 1)
  timeline.records.set(oid, record)
}

export function forget(timeline: Timeline, oid: string): void {
  const before = timeline.records.get(oid)
  if (before !== undefined && !before.deleted) timeline.listed--
  timeline.records.delete(oid)
}

export function isVisible(record: ProgressRecord, clearedAt: number): boolean {
  return !record.deleted && record.viewedAt > clearedAt
}

export function entriesOf(state: ViewerState, business: BusinessNumber, timeline: Timeline): TimelineEntry[] {
  const entries: TimelineEntry[] = []
  const clearedAt = clearedAtOf(state, business)
  for (const [oid, record] of timeline.records) if (isVisible(record, clearedAt)) entries.push({ business, oid, record })
  return entries.sort(compareEntries)
}

export function compareEntries(a: TimelineEntry, b: TimelineEntry): number {
  return comparePlaces(placeOf(a), placeOf(b))
}

/** The last step of a call, so that a base stays valid during it. */
export function trimAll(model: HotModel, keys: readonly ProgressKey[], cap: number): void {
  for (const { viewer, business } of keys) {
    const state = stateOf(model, viewer)
    trim(model, state, business, timelineOf(state, business), cap)
  }
}

export function trim({ options }: HotModel, state: ViewerState, business: BusinessNumber, timeline: Timeline, cap: number): void {
  if (timeline.listed <= cap) return
  const entries = entriesOf(state, business, timeline)
  while (entries.length > cap) {
    const { oid, record } = entries[entries.length - 1] as TimelineEntry
    if (!options.faults.trimsDirty && state.region.dirty.has(keyText({ viewer: state.viewer, business, oid }))) return
    entries.pop()
    const place = { viewedAt: record.viewedAt, business, oid }
    forget(timeline, oid)
    timeline.trimmedAt = state.region.lastVersion
    if (timeline.floor === undefined || comparePlaces(place, timeline.floor) < 0) timeline.floor = place
  }
}
