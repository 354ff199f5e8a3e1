/** A token bucket: a rate per second, and a burst after a pause. */
import type { Clock } from './clock.ts'

export type TokenBucket = {
  /** Returns false and takes nothing if fewer tokens are left. */
  take(count: number): boolean
  /**
   * Returns false and takes nothing if no token is left. Otherwise takes all of them, also if fewer are left: the bucket then refuses until
   * it has filled up again. A call that is larger than the burst thus passes, and the rate holds over time.
   */
  takeAhead(count: number): boolean
}

/** `perSecond`: minimum 1. `atOnce`: the burst; by default one second's worth. */
export function makeTokenBucket(clock: Clock, perSecond: number, atOnce = perSecond): TokenBucket {
  let tokens = atOnce
  let filledAt = clock.now()

  function takeIf(count: number, needed: number): boolean {
    const now = clock.now()
    // A clock that was set back fills nothing, and loses nothing.
    if (now > filledAt) tokens = Math.min(atOnce, tokens + ((now - filledAt) * perSecond) / 1_000)
    filledAt = now
    if (tokens < needed) return false
    tokens -= count
    return true
  }

  return { take: (count) => takeIf(count, count), takeAhead: (count) => count === 0 || takeIf(count, 1) }
}
