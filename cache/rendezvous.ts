/**
 * Rendezvous hashing (Thaler and Ravishankar: "Using name-based mappings to increase hit rates", 1998): each node has a score for the key, and
 * the highest one has the key. A new node takes exactly its share, and the keys of a removed node spread over all others. No table is needed,
 * in contrast to a ring of points, whose shares differ by their random positions. The price is a score per node and key, a few ns each.
 *
 * With weights, the score is weight / -ln(u), u uniform in (0, 1): a node then wins with the probability of its weight (Schindelhauer and
 * Schomaker: "Weighted distributed hash tables", 2005). With equal weights, the order of u is the same, without the logarithm.
 */
import assert from 'node:assert/strict'
import { fnv1a } from '../core/regions.ts'

/** From a key to the index of its member. `name`: the same in all processes. At least one member. */
export function makeRendezvous(members: readonly { name: string; weight: number }[]): (key: string) => number {
  assert(members.length > 0, 'a pool has at least one node')
  const seeds = Uint32Array.from(members, ({ name }) => mixed(fnv1a(name)))
  const weights = members.map(({ weight }) => weight)
  if (members.length === 1) return () => 0
  const areEqual = weights.every((weight) => weight === weights[0])

  return (key) => {
    const hash = fnv1a(key)
    let best = 0
    let bestScore = -1
    for (let member = 0; member < seeds.length; member++) {
      const u = mixed(hash ^ (seeds[member] as number))
      const score = areEqual ? u : (weights[member] as number) / -Math.log((u + 0.5) / 2 ** 32)
      if (score > bestScore) {
        bestScore = score
        best = member
      }
    }
    return best
  }
}

/** The finalizer of MurmurHash3 (A. Appleby, public domain): every bit of the input changes each bit of the result with probability 1/2. */
function mixed(hash: number): number {
  let h = hash
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
