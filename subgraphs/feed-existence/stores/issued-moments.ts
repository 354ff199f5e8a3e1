/**
 * The order of served subjects: by the millisecond of the call, and within a call by the place in its list, later places being newer. A
 * moment combines both in one whole number, 512 per millisecond, which stores sort, compare and keep. In a call with more ids, neighbours
 * share a moment and are ordered by their bytes.
 */
const PLACES = 512

/** The moment of the id at place `at` of a list of `count`, served at `now` (ms). `redis/scripts/put-issued.lua` computes the same. */
export function momentOf(now: number, at: number, count: number): number {
  return now * PLACES + Math.floor((at * PLACES) / count)
}

/** Milliseconds since the epoch. */
export function issuedAtOf(moment: number): number {
  return Math.floor(moment / PLACES)
}

/** By moments; within a moment by bytes, the last first. */
export function newestFirst(a: { oid: string; moment: number }, b: { oid: string; moment: number }): number {
  return b.moment - a.moment || Buffer.compare(Buffer.from(b.oid), Buffer.from(a.oid))
}
