/** So many a second, a second's worth of them at once. */
import type { Clock } from './clock.ts'

export type TokenBucket = {
  /** False, and nothing is taken, if fewer than `kept` would be left. Default 0. */
  take(count: number, kept?: number): boolean
}

/** `perSecond`: minimum 1. */
export function makeTokenBucket(clock: Clock, perSecond: number): TokenBucket {
  let tokens = perSecond
  let filledAt = clock.now()
  return {
    take(count, kept = 0) {
      const now = clock.now()
      // A clock that was set back fills nothing, and loses nothing.
      if (now > filledAt) tokens = Math.min(perSecond, tokens + ((now - filledAt) * perSecond) / 1_000)
      filledAt = now
      if (tokens < count + kept) return false
      tokens -= count
      return true
    },
  }
}
