/**
 * Keeps requests from waiting for a subgraph that is down. `failuresMax` calls in a row without an answer open it; from
 * then on calls are refused at once, and the subgraph is asked in the background whether it answers again, so that no
 * request pays for the trial.
 *
 * Not the breaker of the stores (core/outage/breaker.ts): one failure of a store is the end of many tries and says all, while one
 * call of a subgraph may be late because of what it asks for. So it takes several in a row, and any answer starts the
 * count again.
 */
import type { Clock, Timer } from '../../core/clock.ts'

export type SubgraphBreakerOptions = {
  /** Calls in a row without an answer that open it. Minimum 1. */
  failuresMax: number
  /** Milliseconds between two questions whether the subgraph is back. Minimum 1. */
  checkEveryMs: number
}

export type SubgraphBreaker = {
  readonly isOpen: boolean
  answered(): void
  failed(): void
  /** Asks no more. */
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
      // Calls that began before it opened may still be answered; only the check closes it, which asks for little.
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
