/**
 * A section of a list as bytes: some of its newest ids, complete down to a floor. Caches keep these bytes, and a merge reads them in place,
 * because a home feed has thousands of them.
 *
 *   flags, 1 byte
 *   the floor, 8 bytes, only with flag 4: the ids are complete from this one on
 *   the ids, a vector (`vector.ts`)
 *
 * Flags:
 *
 *   1   the hot store was down when the section was loaded: recent changes are missing
 *   2   the record store was down: older parts are missing
 *   4   the list may go on below its floor
 */
import { ID_BYTES } from './vector.ts'

export const LACKS_HOT_STORE = 1
export const LACKS_RECORD_STORE = 2
export const LACKS_BOTH = 3
const HAS_MORE = 4

/** `floor`: one packed id. A section that goes on (`hasMore`) has one. `lacks`: flags 1 and 2. */
export type Section = { ids: Buffer; hasMore: boolean; floor?: Buffer | undefined; lacks: number }

export function encodeSection({ ids, hasMore, floor, lacks }: Section): Buffer {
  if (!hasMore || floor === undefined) return Buffer.concat([Buffer.of(lacks), ids])
  return Buffer.concat([Buffer.of(lacks | HAS_MORE), floor, ids])
}

/** The offset of the floor, if the section goes on. */
export const FLOOR_AT = 1

export function goesOn(bytes: Buffer): boolean {
  return ((bytes[0] as number) & HAS_MORE) !== 0
}

/** The offset of the first id. They go on to the end of the bytes. */
export function idsFrom(bytes: Buffer): number {
  return goesOn(bytes) ? FLOOR_AT + ID_BYTES : 1
}

export function lacksOf(bytes: Buffer): number {
  return (bytes[0] as number) & LACKS_BOTH
}

/** True for the bytes of a section that lacks no store. */
export function isSection(bytes: Buffer): boolean {
  const isWhole = bytes.length % ID_BYTES === 1
  return isWhole && (bytes[0] === 0 || (bytes[0] === HAS_MORE && bytes.length > ID_BYTES))
}
