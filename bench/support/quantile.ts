/** The value at a share from 0 to 1 of ascending values. NaN if there are none. */
export function quantileOf(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN
}

/** The upper of the two middle figures if there are two. 0 without rounds. */
export function medianOf<T>(rounds: readonly T[], figure: (round: T) => number): number {
  return rounds.map(figure).sort((a, b) => a - b)[Math.floor(rounds.length / 2)] ?? 0
}
