/** Waits for asynchronous conditions, on a slow machine too: only a condition that never becomes true reaches the limit. */
import { setTimeout as sleep } from 'node:timers/promises'
import { vi } from 'vitest'

const LIMIT_MS = 60_000
/** Each question takes time from the asked process. The pauses therefore grow with the wait, up to this. */
const PAUSE_MAX_MS = 100

/** Waits until `isSo` is true. The error names `what`. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, maxMs = LIMIT_MS): Promise<void> {
  for (const begun = Date.now(); !(await isSo()); await sleep(Math.min(PAUSE_MAX_MS, 5 + (Date.now() - begun) / 10))) {
    if (Date.now() > begun + maxMs) throw new Error(`still waiting after ${maxMs} ms: ${what}`)
  }
}

/** Waits until `check` passes. Fails with the last error of `check`. */
export function eventually(check: () => unknown): Promise<unknown> {
  return vi.waitFor(check, { timeout: LIMIT_MS, interval: 25 })
}
