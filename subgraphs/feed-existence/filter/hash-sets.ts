/**
 * Sorted sets of hashes, for folding filters. Each hash is a whole number of its first `width` bits, strictly ascending. 40 of the 64 bits
 * are used: a double holds them exactly, and a typed array sorts them natively.
 */
import type { SeenHashes } from './hash.ts'

export const VALUE_BITS = 40

export type ValueSet = { width: number; values: Float64Array }

/** The values of `VALUE_BITS` bits of these keys. */
export function sortedValues(hashes: SeenHashes): Float64Array {
  const values = new Float64Array(hashes.length / 2)
  for (let i = 0; i < values.length; i++) {
    values[i] = (hashes[i * 2] as number) * 2 ** 8 + ((hashes[i * 2 + 1] as number) >>> 24)
  }
  return withoutRepeats(values.sort())
}

/** The values of `VALUE_BITS` bits whose first bits are not in the set. */
export function missingValues(values: Float64Array, set: ValueSet): Float64Array {
  const unit = 2 ** (VALUE_BITS - set.width)
  let at = 0
  return values.filter((value) => {
    const own = Math.floor(value / unit)
    while (at < set.values.length && (set.values[at] as number) < own) at++
    return set.values[at] !== own
  })
}

/** The same keys with fewer bits. The result equals a set that had only these bits from the beginning. */
export function narrowed(values: Float64Array, from: number, to: number): Float64Array {
  if (from === to) return values
  const unit = 2 ** (from - to)
  return withoutRepeats(values.map((value) => Math.floor(value / unit)))
}

/** The union. */
export function mergeValues(a: Float64Array, b: Float64Array): Float64Array {
  if (a.length === 0) return b
  if (b.length === 0) return a
  const merged = new Float64Array(a.length + b.length)
  let [i, j, count] = [0, 0, 0]
  while (i < a.length && j < b.length) {
    const [left, right] = [a[i] as number, b[j] as number]
    merged[count++] = left < right ? left : right
    if (left <= right) i++
    if (right <= left) j++
  }
  const rest = i < a.length ? a.subarray(i) : b.subarray(j)
  merged.set(rest, count)
  return merged.subarray(0, count + rest.length)
}

/** In place: the result is a part of the argument. */
function withoutRepeats(sorted: Float64Array): Float64Array {
  let count = 0
  for (const value of sorted) if (count === 0 || sorted[count - 1] !== value) sorted[count++] = value
  return sorted.subarray(0, count)
}
