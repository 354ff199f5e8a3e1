/** Versions of hot records: a hybrid clock of milliseconds × 1024 + a count, strictly growing within a region. */
export const VERSIONS_PER_MS = 1_024

/** The next version: above the last one and above `above`, and not behind the clock. */
export function versionAfter(last: number, now: number, above: number): number {
  return Math.max(last + 1, now * VERSIONS_PER_MS, above + 1)
}
