/**
 * Reports in the model of the hot store: the outcome of a put, and the reward of the first one of a day. Also rows and settings of the record
 * store.
 */
import type { BusinessNumber, ProgressRow, RewardEvent } from '../../../core/domain.ts'
import { keyText, settingsKey } from '../../../core/progress-key.ts'
import { claimedBusiness } from '../../../core/rewards.ts'
import { mergeProgress } from '../../../subgraphs/history/model/merge.ts'
import type { ProgressWrite, PutOptions, PutOutcome } from '../../../subgraphs/history/stores/hot-store.ts'
import type { SettingsRow } from '../../../subgraphs/history/stores/record-store.ts'
import { removeUntil } from './model-removals.ts'
import {
  clearedAtOf,
  isVisible,
  markDirty,
  stateOf,
  store,
  timelineOf,
  type HotModel,
  type Region,
  type Timeline,
  type ViewerState,
} from './model-timelines.ts'

export function put(model: HotModel, write: ProgressWrite, putOptions: PutOptions): PutOutcome {
  const isGuess = isGuessed(model, write)
  const outcome = decide(model, write, putOptions)
  model.observer?.put(write, outcome, isGuess && outcome.status === 'written')
  return outcome
}

function decide(model: HotModel, write: ProgressWrite, { now }: PutOptions): PutOutcome {
  const { viewer, business, oid } = write
  const { faults } = model.options
  const state = stateOf(model, viewer)
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
  if (held === undefined && needsBase(model, timeline, write)) return { status: 'needs-base', asOf: timeline.trimmedAt }
  const version = Math.max(state.region.lastVersion + 1, now * 1024, (stored?.version ?? 0) + 1)
  const merged = mergeProgress(stored, { ...record, since, version })
  if (merged === stored) return { status: 'stale', record: shown, voidUntil }
  state.region.lastVersion = version
  store(timeline, oid, merged)
  markDirty(state.region, { viewer, business, oid }, now)
  model.tell({ kind: 'put', viewer, business, oid, record: merged })
  const claimed = claimedBusiness(write)
  const firstOfDay = write.day !== undefined && claimDay(state, claimed, write.day, now)
  if (firstOfDay) model.tell({ kind: 'day', viewer, business: claimed, day: write.day as number, version: merged.version })
  return { status: 'written', record: merged, before: stored, firstOfDay }
}

function isGuessed(model: HotModel, write: ProgressWrite): boolean {
  const timeline = model.viewers.get(write.viewer)?.timelines.get(write.business)
  if (timeline === undefined || timeline.records.has(write.oid) || write.base !== null || write.baseAsOf !== undefined) return false
  const { base: _, ...withoutBase } = write
  return needsBase(model, timeline, withoutBase)
}

function needsBase(model: HotModel, { floor, trimmedAt }: Timeline, write: ProgressWrite): boolean {
  if (floor === undefined || (write.decisive && write.record.viewedAt > floor.viewedAt)) return false
  if (write.base === undefined) return true
  return !model.options.faults.believesOldBases && (write.baseAsOf ?? Infinity) < trimmedAt
}

function claimDay(state: ViewerState, business: BusinessNumber, day: number, now: number): boolean {
  if (day <= (state.lastDays.get(business) ?? -1)) return false
  state.lastDays.set(business, day)
  const event: RewardEvent = { id: `${day}.${state.viewer}.${business}`, viewer: state.viewer, business, day, kind: 'FIRST_VIEW' }
  state.region.rewards.set(event.id, { event, claimedAt: now })
  return true
}

export function fillRow(model: HotModel, { key, record }: ProgressRow): void {
  const state = stateOf(model, key.viewer)
  const timeline = timelineOf(state, key.business)
  const held = timeline.records.get(key.oid)
  const clearedAt = clearedAtOf(state, key.business)
  if (record.viewedAt <= clearedAt) return
  const merged = mergeProgress(held !== undefined && held.viewedAt <= clearedAt ? undefined : held, record)
  if (merged === held) return
  passVersion(state.region, merged.version)
  store(timeline, key.oid, merged)
}

export function fillSettings(model: HotModel, { viewer, settings: row }: SettingsRow): void {
  const state = stateOf(model, viewer)
  const held = state.settings
  const clearedAt = { ...held.clearedAt }
  for (const [name, moment] of Object.entries(row.clearedAt)) {
    const business = Number(name)
    if (moment <= (held.clearedAt[business] ?? 0)) continue
    clearedAt[business] = moment
    removeUntil(model, state, business, moment)
  }
  const isDirty = state.region.dirty.has(keyText(settingsKey(viewer)))
  const paused = isDirty && row.version <= held.version ? held.paused : row.paused
  state.settings = { paused, clearedAt, version: Math.max(row.version, held.version) }
  passVersion(state.region, row.version)
}

function passVersion(region: Region, version: number): void {
  region.lastVersion = Math.max(region.lastVersion, version)
}
