/**
 * Keeps requests from waiting for a subgraph that is down. The breaker opens after `failuresMax` consecutive calls without an answer.
 * While it is open, calls are refused at once. A check in the background asks the subgraph whether it answers again, so that no request
 * pays for the test.
 *
 * The breaker of the stores (core/outage/breaker.ts) opens at the first failure, because that is the end of many tries. One call of a
 * subgraph may be late because of its own operation. This breaker therefore needs several failures, and any answer resets the count.
 */
import type { Clock, Timer } from '../../core/clock.ts'

export type SubgraphBreakerOptions = {
  /** Consecutive calls without an answer that open it. Minimum 1. */
  failuresMax: number
  /** Milliseconds between two checks. Minimum 1. */
  checkEveryMs: number
}

export type SubgraphBreaker = {
  readonly isOpen: boolean
  answered(): void
  failed(): void
  /** Ends the checks. */
  stop(): void
}

/** `check` resolves if the subgraph answers. */
export function makeSubgraphBreaker(clock: Clock, check: () => Promise<void>, options: SubgraphBreakerOptions): SubgraphBreaker {
  const { failuresMax, checkEveryMs } = options
  let failures = 0
  let open = false
  let stopped = false
  let timer: Timer | undefined

  function planCheck(): void {
    if (stopped) return
    timer = clock.after(checkEveryMs, () => void check().then(close, planCheck))
  }

  function close(): void {
    open = false
    failures = 0
  }

  return {
    get isOpen() {
      return open
    },
    answered() {
      // Calls from before the breaker opened may still be answered. Only the check closes it, because it asks for little.
      failures = 0
    },
    failed() {
      failures += 1
      if (open || failures < failuresMax) return
      open = true
      planCheck()
    },
    stop() {
      stopped = true
      timer?.cancel()
    },
  }
}
