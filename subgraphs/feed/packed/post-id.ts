/**
 * Post ids: 63 bits, ordered by time.
 *
 *   bits 62 to 22  milliseconds since 2020-01-01T00:00:00Z, 41 bits, until 2089
 *   bits 21 to 15  a count within the millisecond, 7 bits
 *   bit 14         1 if the post is restricted: only chosen viewers may see it
 *   bits 13 to 0   the region of the author, 14 bits
 *
 * The upper 49 bits are a tick of the region's hybrid clock: the hot store assigns the next one (`tickAfter`) in the atomic step that
 * stores the post, so ids are unique and grow within a region. In the API an id is a decimal integer, and packed it has 8 bytes, big
 * endian (`core/keys.ts`), so its bytes have the order of time.
 *
 * Bit 14 is the lowest bit of the tick. Other subgraphs see from the id alone that a post is public, without a lookup (`read/audience.ts`).
 */
import { isIntegerId } from '../../../core/keys.ts'

export type PostId = string

/** 2020-01-01T00:00:00Z in milliseconds. */
export const POST_EPOCH_MS = 1_577_836_800_000
export const TICKS_PER_MS = 256
const REGION_BITS = 14n
const REGION_MASK = (1n << REGION_BITS) - 1n

/** The next tick: above the last one, and not behind the clock. */
export function tickAfter(last: number, now: number): number {
  return Math.max(last + 1, (now - POST_EPOCH_MS) * TICKS_PER_MS)
}

/** The first tick from this one on that a post may have. */
export function postTick(tick: number, isRestricted: boolean): number {
  return (tick % 2 === 1) === isRestricted ? tick : tick + 1
}

export function postIdOf(tick: number, region: number): PostId {
  return ((BigInt(tick) << REGION_BITS) | BigInt(region)).toString()
}

export function tickOf(id: PostId): number {
  return Number(BigInt(id) >> REGION_BITS)
}

/** True if only chosen viewers may see the post with this id. */
export function isRestrictedId(id: PostId): boolean {
  return tickOf(id) % 2 === 1
}

/** The region of the author. At or above the number of regions if the id is not one of ours. */
export function regionOfPost(id: PostId): number {
  return Number(BigInt(id) & REGION_MASK)
}

/** Milliseconds since the Unix epoch. */
export function createdAtOf(id: PostId): number {
  return POST_EPOCH_MS + Math.floor(tickOf(id) / TICKS_PER_MS)
}

/** True if the id may be one of a post: an integer below 2^63 with a region of this deployment. */
export function isPostId(id: string, regions: number): boolean {
  return isIntegerId(id) && regionOfPost(id) < regions
}
