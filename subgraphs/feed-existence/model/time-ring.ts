/**
 * The time ring: the viewers to fold, hour by hour. A play is staged in the slot of its hour. The job of an hour folds the slot before it,
 * which no longer changes, and folds it again an hour later. A slot on which both runs failed is folded when the ring comes round. The
 * functions here compute hours, slots, shards and months, without a clock.
 *
 * A shard belongs to one region (`shard mod regions`). A viewer's staged plays and their place in the ring therefore change in one atomic
 * step, and the owner of a region folds its shards. The number of shards is a multiple of the number of regions.
 */
import type { Month, ViewerId } from '../../../core/domain.ts'
import { fnv1a, regionOf } from '../../../core/regions.ts'
import { fmix32 } from '../filter/hash.ts'

export const HOUR_MS = 3_600_000

/** The slot of this moment's plays. */
export function slotOf(now: number, slots: number): number {
  return Math.floor(now / HOUR_MS) % slots
}

/** The time from which jobs fold this moment's slot. */
export function restOf(now: number, settleMs: number): number {
  return (Math.floor(now / HOUR_MS) + 1) * HOUR_MS + settleMs
}

/** The slots that the job of this moment folds: the one before, and the one before that (its repetition). */
export function dueSlots(now: number, slots: number): number[] {
  const current = slotOf(now, slots)
  return [1, 2].filter((back) => back < slots).map((back) => (current - back + slots) % slots)
}

/** Every slot but the current one. A job folds them after a long absence. */
export function settledSlots(now: number, slots: number): number[] {
  const current = slotOf(now, slots)
  return Array.from({ length: slots }, (_, slot) => slot).filter((slot) => slot !== current)
}

/**
 * The viewer's shard among those of the region, by a hash that is independent of the region. FNV-1a alone is not independent: over the same
 * text, its lowest bit determines that of every other FNV-1a, so half of a region's shards would stay empty.
 */
export function shardOf(viewer: ViewerId, regions: number, shards: number): number {
  const perRegion = shards / regions
  return regionOf(viewer, regions) + regions * ((fmix32(fnv1a(viewer)) >>> 0) % perRegion)
}

export function regionOfShard(shard: number, regions: number): number {
  return shard % regions
}

export function monthOf(time: number): Month {
  const date = new Date(time)
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth()
}

/** The beginning of a month, ms since the epoch. */
export function beginningOf(month: Month): number {
  return Date.UTC(1970 + Math.floor(month / 12), month % 12)
}

/** For example 2026-11. */
export function monthText(month: Month): string {
  return new Date(beginningOf(month)).toISOString().slice(0, 7)
}

/**
 * The months whose filters are read at this moment, newest first. They include a month that begins soon, for three reasons: plays may lie
 * ahead, clocks of servers differ, and cached filters are used for up to an hour.
 */
export function monthsRead(now: number, { monthsBefore, futureMaxMs }: { monthsBefore: number; futureMaxMs: number }): Month[] {
  const newest = monthOf(now + futureMaxMs + HOUR_MS)
  const oldest = monthOf(now) - monthsBefore
  return Array.from({ length: newest - oldest + 1 }, (_, back) => newest - back)
}
