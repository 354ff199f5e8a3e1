/** The delay before the next try: it doubles with each failure, up to five seconds. */
const RETRY_MIN_MS = 100
const RETRY_MAX_MS = 5_000

export function retryDelayMs(failures: number): number {
  return Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(failures, 10))
}
