/** Waiting for what comes in its own time, however slow the machine: the limit is met only by what never comes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { vi } from 'vitest'

const LIMIT_MS = 60_000

/** Waits until `isSo`; fails with `what`. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, maxMs = LIMIT_MS): Promise<void> {
  for (const deadline = Date.now() + maxMs; !(await isSo()); await sleep(5)) {
    if (Date.now() > deadline) throw new Error(`still waiting after ${maxMs} ms: ${what}`)
  }
}

/** Waits until what `check` expects is so; fails with what it says then. */
export function eventually(check: () => unknown): Promise<unknown> {
  return vi.waitFor(check, { timeout: LIMIT_MS, interval: 10 })
}
