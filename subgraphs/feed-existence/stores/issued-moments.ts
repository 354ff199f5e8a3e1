/**
 * The order of what was served: by the millisecond of the call, and within a call by the place in its list, the later the
 * newer. A moment is both in one whole number, so that stores sort, compare and keep a number: 512 to a millisecond. Of more ids than
 * that in one call neighbours share one, and are ordered by their bytes. A leaf.
 */
const PLACES = 512

/** Of the id at this place of a list of so many, served at `now` (ms). `redis/scripts/put-issued.lua` does the same. */
export function momentOf(now: number, at: number, count: number): number {
  return now * PLACES + Math.floor((at * PLACES) / count)
}

/** Milliseconds since the epoch. */
export function issuedAtOf(moment: number): number {
  return Math.floor(moment / PLACES)
}

/** By moments; of one moment by bytes, the last first. */
export function newestFirst(a: { oid: string; moment: number }, b: { oid: string; moment: number }): number {
  return b.moment - a.moment || Buffer.compare(Buffer.from(b.oid), Buffer.from(a.oid))
}
