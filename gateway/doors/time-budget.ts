/**
 * Bounds the time that one kind of work takes from the event loop: a share of the passing time, and some of it at once. The last work may
 * overdraw the budget. The next one then waits until the time is earned back.
 */
export type TimeBudget = {
  /** False while the budget is used up. */
  has(): boolean
  /** Does the work, also without budget, and charges its time. */
  spend<T>(work: () => T): T
  /** Milliseconds of all work so far, without overheads. */
  spentMs(): number
}

export type TimeBudgetOptions = {
  /** Above 0, at most 1. */
  readonly share: number
  readonly burstMs: number
  /** Time that each work costs outside of itself, such as collecting its objects. Default 0. */
  readonly overheadMs?: number
}

/** `now`: milliseconds, with fractions. */
export function makeTimeBudget(
  { share, burstMs, overheadMs = 0 }: TimeBudgetOptions,
  now: () => number = () => performance.now(),
): TimeBudget {
  let leftMs = burstMs
  let filledAt = now()
  let spentMs = 0

  return {
    has() {
      const at = now()
      leftMs = Math.min(burstMs, leftMs + (at - filledAt) * share)
      filledAt = at
      return leftMs > 0
    },
    spend(work) {
      const begunAt = now()
      const result = work()
      const tookMs = now() - begunAt
      leftMs -= tookMs + overheadMs
      spentMs += tookMs
      return result
    },
    spentMs: () => spentMs,
  }
}
