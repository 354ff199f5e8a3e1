/** Draws by Zipf's law. */
import type { Random } from '../../core/random.ts'

/** Ranks from 0: rank r has a weight of (r + 1)^-exponent. */
export function makeZipf(random: Random, keys: number, exponent: number): () => number {
  const sums = new Float64Array(keys)
  for (let rank = 0, sum = 0; rank < keys; rank++) sums[rank] = sum += (rank + 1) ** -exponent
  const all = sums[keys - 1] as number
  return () => {
    const wanted = random() * all
    let low = 0
    let high = keys - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] as number) > wanted) high = middle
      else low = middle + 1
    }
    return low
  }
}
