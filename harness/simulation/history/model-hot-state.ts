/**
 * The hot store as the port describes it, in a few maps: what the adapters do with scripts and transactions happens
 * here between two events of the scheduler. `model-hot-store.ts` is a process's port to it.
 *
 * The faults that can be planted are faults an adapter could have.
 */
import type {
  BusinessNumber,
  Place,
  ProgressKey,
  ProgressRecord,
  RewardEvent,
  TimelineEntry,
  ViewerId,
  ViewerSettings,
} from '../../../core/domain.ts'
import { mergeProgress } from '../../../subgraphs/history/model/merge.ts'
import { comparePlaces } from '../../../subgraphs/history/model/places.ts'
import { isSettingsKey, keyText, settingsKey } from '../../../core/progress-key.ts'
import { regionOf } from '../../../core/regions.ts'
import { makeModelFollowers } from './model-followers.ts'
import type {
  DeleteOutcome,
  HotLookup,
  HotPage,
  KeyChange,
  ProgressWrite,
  PutOptions,
  PutOutcome,
} from '../../../subgraphs/history/stores/hot-store.ts'

import { placeOf } from './shown.ts'

export type HotFaults = {
  /** Deletes and clears what it holds only, although what it trimmed may have been viewed ahead of the clock. */
  forgetsFloor?: boolean
  /** Does not say up to when a clearing or a deletion reaches. */
  hidesVoid?: boolean
  /** Planted bug: treats every arrival after a clearing as viewed after it. */
  takesLate?: boolean
  /** Trims entries whether they are persisted or not. */
  trimsDirty?: boolean
  /** Clears a dirty mark whatever the version. */
  clearsUnchecked?: boolean
  /** Believes a base although something was trimmed since it was asked for. */
  believesOldBases?: boolean
}

/**
 * What clearing does with what is dirty, where adapters differ: it goes, or its mark stays for the persist step to find
 * nothing, or mark and content stay until they are persisted.
 */
export const CLEARINGS = ['forgets', 'keeps marks', 'keeps contents'] as const
export type Clearing = (typeof CLEARINGS)[number]

export type HotStateOptions = {
  regions: number
  clearing: Clearing
  faults: HotFaults
}

/** Told of every change a client asked for, at the instant it happens. */
export type HotObserver = {
  /** `isGuess`: nobody looked what the record store has, although it may have something. */
  put(write: ProgressWrite, outcome: PutOutcome, isGuess: boolean): void
  deleted(key: ProgressKey, outcome: DeleteOutcome, now: number): void
  cleared(viewer: ViewerId, business: BusinessNumber, clearedAt: number, now: number): void
  paused(viewer: ViewerId, paused: boolean): void
}

type Timeline = {
  /** Contents and tombstones by oid. */
  records: Map<string, ProgressRecord>
  listed: number
  floor: Place | undefined
  /** The region's last version when something was last trimmed. */
  trimmedAt: number
  lastDay: number
}
type ViewerState = { viewer: ViewerId; region: Region; settings: ViewerSettings; timelines: Map<BusinessNumber, Timeline> }
type Region = {
  lastVersion: number
  dirty: Map<string, { key: ProgressKey; since: number }>
  rewards: Map<string, { event: RewardEvent; claimedAt: number }>
}

export type HotState = ReturnType<typeof makeHotState>

export function makeHotState(options: HotStateOptions, observer?: HotObserver) {
  const { faults } = options
  const regions: Region[] = Array.from({ length: options.regions }, () => ({ lastVersion: 0, dirty: new Map(), rewards: new Map() }))
  const viewers = new Map<ViewerId, ViewerState>()
  const { tell, follow } = makeModelFollowers()

  function stateOf(viewer: ViewerId): ViewerState {
    let state = viewers.get(viewer)
    if (state === undefined) {
      const region = regions[regionOf(viewer, options.regions)] as Region
      state = { viewer, region, settings: { paused: false, clearedAt: {}, version: 0 }, timelines: new Map() }
      viewers.set(viewer, state)
    }
    return state
  }

  function timelineOf(state: ViewerState, business: BusinessNumber): Timeline {
    let timeline = state.timelines.get(business)
    if (timeline === undefined) {
      timeline = { records: new Map(), listed: 0, floor: undefined, trimmedAt: 0, lastDay: -1 }
      state.timelines.set(business, timeline)
    }
    return timeline
  }

  function recordOf(key: ProgressKey): ProgressRecord | undefined {
    return viewers.get(key.viewer)?.timelines.get(key.business)?.records.get(key.oid)
  }

  function nextVersion(region: Region, now: number, above = 0): number {
    region.lastVersion = Math.max(region.lastVersion + 1, now * 1024, above + 1)
    return region.lastVersion
  }

  function markDirty(region: Region, key: ProgressKey, now: number): void {
    const text = keyText(key)
    if (!region.dirty.has(text)) region.dirty.set(text, { key, since: now })
  }

  function clearedAtOf(state: ViewerState, business: BusinessNumber): number {
    return state.settings.clearedAt[business] ?? 0
  }

  function store(timeline: Timeline, oid: string, record: ProgressRecord): void {
    const before = timeline.records.get(oid)
    timeline.listed += (record.deleted ? 0 : 1) - (before === undefined || before.deleted ? 0 : 1)
    timeline.records.set(oid, record)
  }

  function forget(timeline: Timeline, oid: string): void {
    const before = timeline.records.get(oid)
    if (before !== undefined && !before.deleted) timeline.listed--
    timeline.records.delete(oid)
  }

  function put(write: ProgressWrite, putOptions: PutOptions): PutOutcome {
    const isGuess = isGuessed(write)
    const outcome = decide(write, putOptions)
    observer?.put(write, outcome, isGuess && outcome.status === 'written')
    return outcome
  }

  function decide(write: ProgressWrite, { now }: PutOptions): PutOutcome {
    const { viewer, business, oid } = write
    const state = stateOf(viewer)
    if (state.settings.paused && write.merges !== true) return { status: 'paused' }
    const timeline = timelineOf(state, business)
    const clearedAt = clearedAtOf(state, business)
    const held = timeline.records.get(oid)
    const stored = held ?? write.base ?? undefined
    const shown = stored !== undefined && isVisible(stored, clearedAt) ? stored : undefined
    const voidUntil = faults.hidesVoid ? 0 : Math.max(clearedAt, stored?.since ?? 0)
    const isLate = write.record.viewedAt <= clearedAt
    const record = isLate && faults.takesLate ? { ...write.record, viewedAt: clearedAt + 1 } : write.record
    if (record.viewedAt <= clearedAt || (write.merges === true && held === undefined)) return { status: 'stale', record: shown, voidUntil }
    const since = write.merges === true ? Math.max(clearedAt, record.since) : clearedAt
    if (held === undefined && needsBase(timeline, write)) return { status: 'needs-base', asOf: timeline.trimmedAt }
    const version = Math.max(state.region.lastVersion + 1, now * 1024, (stored?.version ?? 0) + 1)
    const merged = mergeProgress(stored, { ...record, since, version })
    if (merged === stored) return { status: 'stale', record: shown, voidUntil }
    state.region.lastVersion = version
    store(timeline, oid, merged)
    markDirty(state.region, { viewer, business, oid }, now)
    tell({ kind: 'put', viewer, business, oid, record: merged })
    return { status: 'written', record: merged, before: stored, firstOfDay: claimDay(state, business, timeline, write.day, now) }
  }

  function isGuessed(write: ProgressWrite): boolean {
    const timeline = viewers.get(write.viewer)?.timelines.get(write.business)
    if (timeline === undefined || timeline.records.has(write.oid) || write.base !== null || write.baseAsOf !== undefined) return false
    const { base: _, ...withoutBase } = write
    return needsBase(timeline, withoutBase)
  }

  function needsBase({ floor, trimmedAt }: Timeline, write: ProgressWrite): boolean {
    if (floor === undefined || (write.decisive && write.record.viewedAt > floor.viewedAt)) return false
    if (write.base === undefined) return true
    return !faults.believesOldBases && (write.baseAsOf ?? Infinity) < trimmedAt
  }

  function claimDay(state: ViewerState, business: BusinessNumber, timeline: Timeline, day: number | undefined, now: number): boolean {
    if (day === undefined || day <= timeline.lastDay) return false
    timeline.lastDay = day
    const event: RewardEvent = { id: `${day}.${state.viewer}.${business}`, viewer: state.viewer, business, day, kind: 'FIRST_VIEW' }
    state.region.rewards.set(event.id, { event, claimedAt: now })
    return true
  }

  function entriesOf(state: ViewerState, business: BusinessNumber, timeline: Timeline): TimelineEntry[] {
    const entries: TimelineEntry[] = []
    const clearedAt = clearedAtOf(state, business)
    for (const [oid, record] of timeline.records) if (isVisible(record, clearedAt)) entries.push({ business, oid, record })
    return entries.sort(compareEntries)
  }

  /** What a call does last: a base stays true through it. */
  function trimAll(keys: readonly ProgressKey[], cap: number): void {
    for (const { viewer, business } of keys) {
      const state = stateOf(viewer)
      trim(state, business, timelineOf(state, business), cap)
    }
  }

  function trim(state: ViewerState, business: BusinessNumber, timeline: Timeline, cap: number): void {
    if (timeline.listed <= cap) return
    const entries = entriesOf(state, business, timeline)
    while (entries.length > cap) {
      const { oid, record } = entries[entries.length - 1] as TimelineEntry
      if (!faults.trimsDirty && state.region.dirty.has(keyText({ viewer: state.viewer, business, oid }))) return
      entries.pop()
      const place = { viewedAt: record.viewedAt, business, oid }
      forget(timeline, oid)
      timeline.trimmedAt = state.region.lastVersion
      if (timeline.floor === undefined || comparePlaces(place, timeline.floor) < 0) timeline.floor = place
    }
  }

  function remove(key: ProgressKey, now: number): DeleteOutcome {
    const state = stateOf(key.viewer)
    const timeline = timelineOf(state, key.business)
    const held = timeline.records.get(key.oid)
    // What was trimmed may have been viewed ahead of the clock too: it lies at or before the floor.
    const moment = Math.max(now, held?.viewedAt ?? floorAt(timeline))
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
    observer?.deleted(key, outcome, now)
    tell({ kind: 'deleted', ...key, record })
    return outcome
  }

  function floorAt(timeline: Timeline): number {
    return faults.forgetsFloor ? 0 : (timeline.floor?.viewedAt ?? 0)
  }

  function clear(viewer: ViewerId, business: BusinessNumber, now: number): number {
    const state = stateOf(viewer)
    const timeline = timelineOf(state, business)
    const newest = entriesOf(state, business, timeline)[0]?.record.viewedAt ?? 0
    const clearedAt = Math.max(now, newest, floorAt(timeline), clearedAtOf(state, business))
    for (const [oid, record] of timeline.records) {
      const text = keyText({ viewer, business, oid })
      if (record.viewedAt > clearedAt || (options.clearing === 'keeps contents' && state.region.dirty.has(text))) continue
      forget(timeline, oid)
      if (options.clearing === 'forgets') state.region.dirty.delete(text)
    }
    if (clearedAt >= (timeline.floor?.viewedAt ?? 0)) timeline.floor = undefined
    changeSettings(state, { clearedAt: { ...state.settings.clearedAt, [business]: clearedAt } }, now)
    observer?.cleared(viewer, business, clearedAt, now)
    tell({ kind: 'cleared', viewer, business, clearedAt, version: state.settings.version })
    return clearedAt
  }

  function setPaused(viewer: ViewerId, paused: boolean, now: number): ViewerSettings {
    const state = stateOf(viewer)
    changeSettings(state, { paused }, now)
    observer?.paused(viewer, paused)
    return state.settings
  }

  function changeSettings(state: ViewerState, change: Partial<ViewerSettings>, now: number): void {
    state.settings = { ...state.settings, ...change, version: nextVersion(state.region, now, state.settings.version) }
    markDirty(state.region, settingsKey(state.viewer), now)
  }

  function lookUp(key: ProgressKey): HotLookup {
    const state = viewers.get(key.viewer)
    const timeline = state?.timelines.get(key.business)
    const record = timeline?.records.get(key.oid)
    if (state === undefined || timeline === undefined) return { record: undefined, older: undefined }
    const clearedAt = clearedAtOf(state, key.business)
    if (record !== undefined && (record.deleted || isVisible(record, clearedAt)))
      return { record: record.deleted ? undefined : record, older: undefined }
    return { record: undefined, older: timeline.floor === undefined ? undefined : { clearedAt } }
  }

  function list(viewer: ViewerId, businesses: readonly BusinessNumber[], before: Place | undefined, limit: number): HotPage {
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

  function listChanges(viewer: ViewerId, businesses: readonly BusinessNumber[], since: number): KeyChange[] {
    const state = stateOf(viewer)
    const changes: KeyChange[] = []
    for (const business of new Set(businesses)) {
      for (const [oid, record] of timelineOf(state, business).records) {
        if (record.version <= since || (!record.deleted && !isVisible(record, clearedAtOf(state, business)))) continue
        changes.push({ kind: record.deleted ? 'deleted' : 'put', viewer, business, oid, record })
      }
    }
    return changes.sort((a, b) => a.record.version - b.record.version)
  }

  function clearMark(key: ProgressKey, version: number, timelineCap: number): void {
    const state = stateOf(key.viewer)
    const current = isSettingsKey(key) ? state.settings.version : recordOf(key)?.version
    if (current !== version && !faults.clearsUnchecked) return
    state.region.dirty.delete(keyText(key))
    const timeline = state.timelines.get(key.business)
    if (timeline === undefined) return
    // What was cleared and waited to be persisted goes now.
    const record = timeline.records.get(key.oid)
    if (record !== undefined && !record.deleted && !isVisible(record, clearedAtOf(state, key.business))) forget(timeline, key.oid)
    trim(state, key.business, timeline, timelineCap)
  }

  function dropMark(key: ProgressKey): void {
    const state = stateOf(key.viewer)
    const missing = isSettingsKey(key) ? state.settings.version === 0 : recordOf(key) === undefined
    if (missing) state.region.dirty.delete(keyText(key))
  }

  function listDirty(asked: readonly number[], dirtyBefore: number, limit: number): ProgressKey[] {
    const keys: ProgressKey[] = []
    for (const region of asked) {
      const marks = [...(regions[region] as Region).dirty.values()].filter((mark) => mark.since <= dirtyBefore)
      keys.push(...marks.sort((a, b) => a.since - b.since).map((mark) => mark.key))
    }
    return keys.slice(0, limit)
  }

  function listRewards(asked: readonly number[], claimedBefore: number, limit: number): RewardEvent[] {
    const pending = asked.flatMap((region) => [...(regions[region] as Region).rewards.values()])
    return pending
      .filter((each) => each.claimedAt <= claimedBefore)
      .map((each) => each.event)
      .slice(0, limit)
  }

  function purge(writtenBefore: number, limit: number): number {
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

  return {
    put,
    trimAll,
    remove,
    clear,
    setPaused,
    lookUp,
    list,
    listChanges,
    recordOf,
    settingsOf: (viewer: ViewerId) => viewers.get(viewer)?.settings ?? { paused: false, clearedAt: {}, version: 0 },
    clearMark,
    dropMark,
    listDirty,
    countDirty: () => regions.reduce((sum, region) => sum + region.dirty.size, 0),
    listRewards,
    confirm: (reward: RewardEvent) => regions[regionOf(reward.viewer, options.regions)]?.rewards.delete(reward.id),
    purge,
    follow,
    regionOf: (viewer: ViewerId) => regionOf(viewer, options.regions),
  }
}

function isVisible(record: ProgressRecord, clearedAt: number): boolean {
  return !record.deleted && record.viewedAt > clearedAt
}

function compareEntries(a: TimelineEntry, b: TimelineEntry): number {
  return comparePlaces(placeOf(a), placeOf(b))
}
