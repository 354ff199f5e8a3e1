/** Probes several filters at once. */
import type { SeenHashes } from '../filter/hash.ts'
import type { MonthFilter } from './filter-loads.ts'

/** One bit per pair of hashes: set if it is in any of the filters. */
export function askAll(filters: readonly MonthFilter[], hashes: SeenHashes): Uint32Array {
  const found = new Uint32Array(Math.ceil(hashes.length / 64))
  for (const { probe } of filters) probe.hasMany(hashes, found)
  return found
}

export function isFound(found: Uint32Array, at: number): boolean {
  return (((found[at >>> 5] as number) >>> (at & 31)) & 1) === 1
}
