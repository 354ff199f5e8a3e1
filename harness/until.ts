/** Waits for asynchronous conditions, on a slow machine too: only a condition that never becomes true reaches the limit. */
import { setTimeout as sleep } from 'node:timers/promises'
import { vi } from 'vitest'

const LIMIT_MS = 60_000

/** Waits until `isSo` is true. The error names `what`. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, maxMs = LIMIT_MS): Promise<void> {
  for (const deadline = Date.now() + maxMs; !(await isSo()); await sleep(5)) {
    if (Date.now() > deadline) throw new Error(`still waiting after ${maxMs} ms: ${what}`)
  }
}

/** Waits until `check` passes. Fails with the last error of `check`. */
export function eventually(check: () => unknown): Promise<unknown> {
  return vi.waitFor(check, { timeout: LIMIT_MS, interval: 10 })
}
