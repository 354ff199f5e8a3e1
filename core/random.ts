/** Randomness as a parameter: a function that returns a number in [0, 1). */
export type Random = () => number

export const systemRandom: Random = Math.random

/** Mulberry32 (T. Ettinger, public domain): 32 bits of state, the same numbers for the same seed everywhere. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A whole number from 0 to `below` - 1. */
export function randomBelow(random: Random, below: number): number {
  return Math.floor(random() * below)
}
