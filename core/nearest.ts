/** Suggests the known word that a user probably meant. */

/** Undefined if none is near: at most a third of the letters may differ. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known.map((each) => ({ each, distance: distanceOf(word, each) })).toSorted((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best !== undefined && best.distance <= Math.max(1, Math.floor(word.length / 3)) ? best.each : undefined
}

/** The Levenshtein distance: letters to insert, remove or replace. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
