/**
 * Stops the timer that kafkajs 2.2.4 runs while idle.
 *
 * Every connection's `RequestQueue` checks its waiting requests. At the end of each check it schedules the next one, whether any request
 * waits or not, after `throttledUntil - now`. That is a negative time, which becomes one millisecond (and a TimeoutNegativeWarning on Node
 * 24). The result is a thousand checks a second per connection, about 5% of a core.
 *
 * A check is needed only while a request waits: when the broker's throttling ends, or after a short while as a fallback, since each answer
 * triggers a check itself. A later request schedules its own.
 */
import assert from 'node:assert'
import { createRequire } from 'node:module'

type RequestQueue = {
  pending: readonly unknown[]
  throttledUntil: number
  throttleCheckTimeoutId: NodeJS.Timeout | null
  checkPendingRequests(): void
  scheduleCheckPendingRequests(): void
}

const FALLBACK_MS = 10

let isTamed = false

/** Once per process, before the first client is made. Later calls do nothing. */
export function tameIdleTimer(): void {
  if (isTamed) return
  const { prototype } = createRequire(import.meta.url)('kafkajs/src/network/requestQueue') as { prototype: RequestQueue }
  assert(
    typeof prototype.scheduleCheckPendingRequests === 'function',
    'this kafkajs has a different request queue: check its idle timer again',
  )
  prototype.scheduleCheckPendingRequests = function schedule(this: RequestQueue): void {
    if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return
    const throttledMs = this.throttledUntil - Date.now()
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null
        this.checkPendingRequests()
      },
      throttledMs > 0 ? throttledMs : FALLBACK_MS,
    )
  }
  isTamed = true
}
