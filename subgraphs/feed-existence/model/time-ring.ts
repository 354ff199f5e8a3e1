/**
 * The time ring: an hour's viewers to persist. What is played in an hour is staged in that hour's slot; the job of an hour
 * touches only the slot before it, which no longer changes, and again an hour later; a slot that both runs failed on is found
 * when the ring comes round, as the last net. A leaf: arithmetic of hours, slots, shards and months, without a clock.
 *
 * A shard belongs to one region (`shard mod regions`), so that a viewer, his staged plays and his place in the ring change in
 * one atomic step, and whoever owns the region works on its shards. Shards are therefore a multiple of the regions.
 */
import type { Month, ViewerId } from '../../../core/domain.ts'
import { fnv1a, regionOf } from '../../../core/regions.ts'
import { fmix32 } from '../filter/hash.ts'

export const HOUR_MS = 3_600_000

/** The slot that is written to at this moment. */
export function slotOf(now: number, slots: number): number {
  return Math.floor(now / HOUR_MS) % slots
}

/** When the slot that is written to at this moment is at rest: from then on jobs fold it. */
export function restOf(now: number, settleMs: number): number {
  return (Math.floor(now / HOUR_MS) + 1) * HOUR_MS + settleMs
}

/** The slots the job of this moment works on: the one before, and the one before that (its repetition). */
export function dueSlots(now: number, slots: number): number[] {
  const current = slotOf(now, slots)
  return [1, 2].filter((back) => back < slots).map((back) => (current - back + slots) % slots)
}

/** Every slot but the one written to: what a job works on after it was away for long. */
export function settledSlots(now: number, slots: number): number[] {
  const current = slotOf(now, slots)
  return Array.from({ length: slots }, (_, slot) => slot).filter((slot) => slot !== current)
}

/**
 * The viewer's shard: among those of his region, by a hash that is independent of it. FNV-1a alone is not: the lowest bit of one
 * says that of every other over the same text, so that half of a region's shards would stay empty.
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

/** When a month begins, ms since the epoch. */
export function beginningOf(month: Month): number {
  return Date.UTC(1970 + Math.floor(month / 12), month % 12)
}

/** Such as 2026-11. */
export function monthText(month: Month): string {
  return new Date(beginningOf(month)).toISOString().slice(0, 7)
}

/**
 * The months whose filters are read at this moment, the newest first. Also the one that begins soon: plays may lie ahead, clocks of
 * servers differ, and what is kept in memory is used up to an hour later.
 */
export function monthsRead(now: number, { monthsBefore, futureMaxMs }: { monthsBefore: number; futureMaxMs: number }): Month[] {
  const newest = monthOf(now + futureMaxMs + HOUR_MS)
  const oldest = monthOf(now) - monthsBefore
  return Array.from({ length: newest - oldest + 1 }, (_, back) => newest - back)
}
