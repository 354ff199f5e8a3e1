/** The value at a share from 0 to 1 of ascending values. NaN if there are none. */
export function quantileOf(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN
}
