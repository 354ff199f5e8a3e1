/** Changes and reads of a viewer's data inside the call's transaction, as the port promises. */
import { claimedBusiness } from '../../../../core/rewards.ts'
import type { BusinessNumber, ViewerId } from '../../../../core/domain.ts'
import { shardOf } from '../../model/time-ring.ts'
import { issuedAtOf } from '../issued-moments.ts'
import { inOrderOfUse } from '../ring-layouts.ts'
import type { HotSeen, IssuedOptions, PlayWrite, RingLayout, StageOptions, StagedCount, StagedPlay } from '../hot-store.ts'
import { tooManyStaged } from '../staged-limit.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import { claimDay, type DayTables } from './day-flags.ts'
import { noteIssued, readIssued, type IssuedTables } from './issued.ts'
import { makePlace, readRingKey, ringKey, ringRange, stagedKey, stagedRange, stateKey, subjectOfStagedKey } from './keys.ts'
import type { SeenPlace } from './keys.ts'
import { decodeShape, decodeState, decodeTime, encodeShape, encodeState, encodeTime } from './values.ts'
import type { SeenState } from './values.ts'
import { sequenceKey, sequenceOf } from '../../../../stores/lmdb/sequences.ts'

export type SeenTables = {
  ring: Bytes
  /** By `since`. */
  layouts: Bytes
} & IssuedTables &
  DayTables

const NOTHING = Buffer.allocUnsafeSlow(0)

export function openSeenTables(environment: Environment): SeenTables {
  return {
    seen: environment.table('seen'),
    served: environment.table('seen-served'),
    ring: environment.table('seen-ring'),
    layouts: environment.table('seen-layouts'),
    days: environment.table('seen-days'),
    rewards: environment.table('seen-rewards'),
  }
}

export function putIssued(
  tables: SeenTables,
  viewer: ViewerId,
  business: BusinessNumber,
  oids: readonly string[],
  options: IssuedOptions,
  regions: number,
): boolean {
  noteIssued(tables, viewer, business, oids, options)
  const { now, day, dayForAll } = options
  const claimed = claimedBusiness({ business, dayForAll })
  return day !== undefined && claimDay(tables, regions, { viewer, business: claimed, day, kind: 'FIRST_ISSUE' }, now)
}

function readState(seen: Bytes, place: SeenPlace): SeenState {
  const value = seen.getBinaryFast(stateKey(place))
  return value === undefined ? { folds: 0, staged: new Map() } : decodeState(value, value.length)
}

export function stagePlays(
  tables: SeenTables,
  plays: readonly PlayWrite[],
  { now, slot, max }: StageOptions,
  regions: number,
  shardOfViewer: (viewer: ViewerId) => number,
): StagedCount[] {
  const { seen, ring } = tables
  const touched = new Map<ViewerId, { place: SeenPlace; state: SeenState; staged: number; firsts: { business: number; day: number }[] }>()
  for (const play of plays) {
    let held = touched.get(play.viewer)
    if (held === undefined) {
      const place = makePlace(play.viewer)
      const state = readState(seen, place)
      held = { place, state, staged: state.staged.get(slot) ?? 0, firsts: [] }
      touched.set(play.viewer, held)
      // The error also rolls back the plays that are already written.
      if (max !== undefined && held.staged >= max) throw tooManyStaged(play.viewer, max)
    }
    const { viewer, day } = play
    const business = claimedBusiness(play)
    if (day !== undefined && claimDay(tables, regions, { viewer, business, day, kind: 'FIRST_PLAY' }, now))
      held.firsts.push({ business, day })
    const key = stagedKey(held.place, slot, play)
    const stored = seen.getBinaryFast(key)
    if (stored === undefined) held.staged += 1
    else if (decodeTime(stored) >= play.playedAt) continue
    void seen.put(key, encodeTime(play.playedAt))
  }
  return Array.from(touched, ([viewer, { place, state, staged, firsts }]) => {
    const { folds } = state
    if (staged !== state.staged.get(slot))
      void seen.put(stateKey(place), encodeState(withStaged({ ...state, folds: folds === 0 ? now : folds }, slot, staged)))
    void ring.put(ringKey(slot, shardOfViewer(viewer), viewer), NOTHING)
    return firsts.length === 0 ? { viewer, staged } : { viewer, staged, firsts }
  })
}

function withStaged({ folds, staged }: SeenState, slot: number, count: number): SeenState {
  const counts = new Map(staged).set(slot, count)
  if (count === 0) counts.delete(slot)
  return { folds, staged: counts }
}

export function getSeen({ seen }: SeenTables, viewer: ViewerId, business: BusinessNumber): HotSeen {
  const place = makePlace(viewer)
  const { folds, staged } = readState(seen, place)
  const latest = new Map<string, number>()
  if (staged.size > 0) {
    for (const { key, value } of seen.getRange(stagedRange(place))) {
      const subject = subjectOfStagedKey(place, key)
      if (subject.business === business) latest.set(subject.oid, Math.max(decodeTime(value), latest.get(subject.oid) ?? 0))
    }
  }
  const issued = readIssued(seen, place, business).map(({ oid, moment }) => ({ oid, issuedAt: issuedAtOf(moment) }))
  return { issued, staged: Array.from(latest, ([oid, playedAt]) => ({ oid, playedAt })), folds }
}

export function readStaged({ seen }: SeenTables, slot: number, viewer: ViewerId): StagedPlay[] {
  const place = makePlace(viewer)
  return Array.from(seen.getRange(stagedRange(place, slot)), ({ key, value }) => ({
    ...subjectOfStagedKey(place, key),
    playedAt: decodeTime(value),
  }))
}

/** `shards`: the numbers of shards of all known layouts. */
export function removeStaged(
  { seen, ring }: SeenTables,
  slot: number,
  { viewer, plays }: { viewer: ViewerId; plays: readonly StagedPlay[] },
  regions: number,
  shards: ReadonlySet<number>,
): void {
  const place = makePlace(viewer)
  const state = readState(seen, place)
  const before = state.staged.get(slot) ?? 0
  let staged = before
  for (const play of plays) {
    const key = stagedKey(place, slot, play)
    const stored = seen.getBinaryFast(key)
    if (stored === undefined || decodeTime(stored) !== play.playedAt) continue
    void seen.remove(key)
    staged -= 1
  }
  if (staged < before) void seen.put(stateKey(place), encodeState(withStaged({ ...state, folds: state.folds + 1 }, slot, staged)))
  if (staged > 0) return
  for (const count of shards) void ring.remove(ringKey(slot, shardOf(viewer, regions, count), viewer))
}

/** One step per shard that has viewers, however many have none. */
export function filledShards({ ring }: SeenTables, slot: number, shards: readonly number[]): number[] {
  const sorted = shards.toSorted((a, b) => a - b)
  const last = sorted.at(-1)
  const found: number[] = []
  for (let at = 0; at < sorted.length;) {
    const [key] = ring.getKeys({ ...ringRange(slot, sorted[at] as number, last), limit: 1 })
    if (key === undefined) break
    const { shard } = readRingKey(key)
    while ((sorted[at] as number) < shard) at++
    if (sorted[at] === shard) found.push(sorted[at++] as number)
  }
  return found
}

export function countRing({ ring }: SeenTables, slots: number): number[] {
  const counts = Array.from({ length: slots }, () => 0)
  for (const key of ring.getKeys()) {
    const { slot } = readRingKey(key)
    counts[slot] = (counts[slot] ?? 0) + 1
  }
  return counts
}

export function readLayouts({ layouts }: SeenTables): RingLayout[] {
  return inOrderOfUse(Array.from(layouts.getRange(), ({ key, value }) => ({ ...decodeShape(value), since: sequenceOf(key) })))
}

export function writeLayout({ layouts }: SeenTables, { since, ...shape }: RingLayout): void {
  const key = sequenceKey(since)
  if (layouts.getBinaryFast(key) === undefined) void layouts.put(key, encodeShape(shape))
}
