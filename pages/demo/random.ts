/** Random numbers and orders that depend on a seed only, so a viewer's pages look the same at each visit. */

/** A number that depends on the text only. */
export function seedOf(text: string): number {
  let seed = 7
  for (const letter of text) seed = Math.imul(seed, 31) + (letter.codePointAt(0) ?? 0)
  return seed
}

/** Fisher and Yates. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const all = [...items]
  for (let last = all.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const taken = all[last] as T
    all[last] = all[other] as T
    all[other] = taken
  }
  return all
}

/** Numbers from 0 to 1 that depend on the seed only: mulberry32, by Tommy Ettinger. */
export function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
