/** A token bucket: a rate per second, and a burst after a pause. */
import type { Clock } from './clock.ts'

export type TokenBucket = {
  /** Returns false and takes nothing if fewer tokens are left. */
  take(count: number): boolean
}

/** `perSecond`: minimum 1. `atOnce`: the burst; by default one second's worth. */
export function makeTokenBucket(clock: Clock, perSecond: number, atOnce = perSecond): TokenBucket {
  let tokens = atOnce
  let filledAt = clock.now()
  return {
    take(count) {
      const now = clock.now()
      // A clock that was set back fills nothing, and loses nothing.
      if (now > filledAt) tokens = Math.min(atOnce, tokens + ((now - filledAt) * perSecond) / 1_000)
      filledAt = now
      if (tokens < count) return false
      tokens -= count
      return true
    },
  }
}
