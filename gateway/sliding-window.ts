/**
 * A window that slides, made of the fixed ones that rate-limiter-flexible counts in: what was spent in this window, and of
 * what was spent in the one before it as much as still lies within the last `perSeconds`, taken as spread evenly. Nobody
 * gets twice the limit by spending it right before and right after a boundary, which is what fixed windows allow.
 *
 * Spending is one increment and one read, sent together. Two processes may both let pass what together is too much by one
 * operation; the next one pays for it.
 */
import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import type { Clock } from '../core/clock.ts'

export type Rate = { readonly points: number; readonly perSeconds: number }

export type SlidingWindow = {
  /** Milliseconds to wait; 0: the cost is spent. What costs more than the limit spends all of it. */
  spend(key: string, cost: number, at?: number): Promise<number>
  /** Takes back what `spend` let pass at this time. */
  giveBack(key: string, cost: number, at: number): Promise<void>
}

/** `makeLimiter` makes a counter of fixed windows of so many seconds, which must keep each for as long again. */
export function makeSlidingWindow(rate: Rate, makeLimiter: (keepSeconds: number) => RateLimiterAbstract, clock: Clock): SlidingWindow {
  const { points } = rate
  const windowMs = rate.perSeconds * 1_000
  const limiter = makeLimiter(rate.perSeconds * 2)
  return {
    async giveBack(key, wanted, at) {
      await limiter.reward(`${key}:${Math.floor(at / windowMs)}`, Math.min(wanted, points))
    },
    async spend(key, wanted, now = clock.now()) {
      const cost = Math.min(wanted, points)
      const window = Math.floor(now / windowMs)
      const current = `${key}:${window}`
      const [spent, before] = await Promise.all([limiter.penalty(current, cost), limiter.get(`${key}:${window - 1}`)])
      const previous = before === null ? 0 : before.consumedPoints
      const waitMs = waitFor({ points, windowMs, elapsedMs: now - window * windowMs, spent: spent.consumedPoints - cost, previous, cost })
      // What was refused is not spent, or whoever is impatient would never be let in again.
      if (waitMs > 0) await limiter.reward(current, cost)
      return waitMs
    },
  }
}

type Situation = {
  readonly points: number
  readonly windowMs: number
  readonly elapsedMs: number
  readonly spent: number
  readonly previous: number
  readonly cost: number
}

/** When `previous * (1 - elapsed / window) + spent + cost` will be within the points, if nobody spends meanwhile. */
export function waitFor({ points, windowMs, elapsedMs, spent, previous, cost }: Situation): number {
  const left = points - cost - spent
  if (previous * (1 - elapsedMs / windowMs) <= left) return 0
  // In this window, once enough of the one before has slid out …
  if (left >= 0) return Math.ceil(windowMs * (1 - left / previous) - elapsedMs)
  // … or in the next one, in which what is spent now is the one before.
  return Math.ceil(windowMs - elapsedMs + windowMs * (1 - (points - cost) / spent))
}
