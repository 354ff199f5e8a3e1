import { randomBelow, type Random } from '../core/random.ts'

/** The numbers from 0 to `count` - 1 in a random order (Fisher and Yates). */
export function shuffled(count: number, random: Random): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, index) => index)
  for (let at = count - 1; at > 0; at--) {
    const other = randomBelow(random, at + 1)
    ;[order[at], order[other]] = [order[other] as number, order[at] as number]
  }
  return order
}
