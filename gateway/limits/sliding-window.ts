/**
 * A sliding window made of two fixed windows: the points of this window, plus the share of the previous window that lies within the last
 * `perSeconds`. Spending in the previous window is assumed to be even. Fixed windows would allow twice the limit around a boundary.
 *
 * A local window is counted in this process, in a bounded number of keys, and answers at once. A shared window is counted by
 * rate-limiter-flexible in Redis: one increment and one read, sent together. Two processes may together exceed the limit by one operation;
 * the next operation pays for it.
 */
import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import type { Clock } from '../../core/clock.ts'
import { makeMemory } from '../identity/memory.ts'

export type Rate = { readonly points: number; readonly perSeconds: number }

export type LocalWindow = {
  /** Returns the milliseconds to wait, or 0 if the cost is spent. A cost above the limit counts as the limit. */
  spend(key: string, cost: number, at?: number): number
  /** Returns the cost that `spend` took at this time. */
  giveBack(key: string, cost: number, at: number): void
}

/** The same over the network. */
export type SharedWindow = {
  spend(key: string, cost: number, at?: number): Promise<number>
  giveBack(key: string, cost: number, at: number): Promise<void>
}

type State = { window: number; spent: number; previous: number }

/** `keysMax`: above this number of keys, and at the latest at twice as many, the least recently used keys are forgotten and start again. */
export function makeLocalWindow({ points, perSeconds }: Rate, keysMax: number, clock: Clock): LocalWindow {
  const windowMs = perSeconds * 1_000
  const states = makeMemory<State>(keysMax)

  function stateAt(key: string, window: number): State {
    let state = states.get(key)
    if (state === undefined) {
      state = { window, spent: 0, previous: 0 }
      states.set(key, state)
    } else if (state.window !== window) {
      state.previous = state.window === window - 1 ? state.spent : 0
      state.window = window
      state.spent = 0
    }
    return state
  }

  return {
    spend(key, wanted, now = clock.now()) {
      const cost = Math.min(wanted, points)
      const window = Math.floor(now / windowMs)
      const state = stateAt(key, window)
      const { spent, previous } = state
      const waitMs = waitFor({ points, windowMs, elapsedMs: now - window * windowMs, spent, previous, cost })
      // A refused cost is not spent. Otherwise an impatient caller would stay refused forever.
      if (waitMs === 0) state.spent += cost
      return waitMs
    },
    giveBack(key, wanted, at) {
      const state = stateAt(key, Math.floor(at / windowMs))
      state.spent = Math.max(0, state.spent - Math.min(wanted, points))
    },
  }
}

/**
 * `makeLimiter` makes a counter of fixed windows of this many seconds. It must keep each window for the length of another one. While it
 * fails, `local` counts.
 */
export function makeSharedWindow(
  rate: Rate,
  makeLimiter: (keepSeconds: number) => RateLimiterAbstract,
  clock: Clock,
  local?: LocalWindow,
): SharedWindow {
  const { points } = rate
  const windowMs = rate.perSeconds * 1_000
  const limiter = makeLimiter(rate.perSeconds * 2)

  async function spend(key: string, wanted: number, now: number): Promise<number> {
    const cost = Math.min(wanted, points)
    const window = Math.floor(now / windowMs)
    const current = `${key}:${window}`
    const [spent, before] = await Promise.all([limiter.penalty(current, cost), limiter.get(`${key}:${window - 1}`)])
    const previous = before === null ? 0 : before.consumedPoints
    const waitMs = waitFor({ points, windowMs, elapsedMs: now - window * windowMs, spent: spent.consumedPoints - cost, previous, cost })
    if (waitMs > 0) await limiter.reward(current, cost)
    return waitMs
  }

  return {
    async spend(key, wanted, now = clock.now()) {
      try {
        return await spend(key, wanted, now)
      } catch (error) {
        if (local === undefined) throw error
        return local.spend(key, wanted, now)
      }
    },
    async giveBack(key, wanted, at) {
      try {
        await limiter.reward(`${key}:${Math.floor(at / windowMs)}`, Math.min(wanted, points))
      } catch (error) {
        if (local === undefined) throw error
        local.giveBack(key, wanted, at)
      }
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

/** The milliseconds until `previous * (1 - elapsed / window) + spent + cost` is within the points, if nothing is spent meanwhile. */
export function waitFor({ points, windowMs, elapsedMs, spent, previous, cost }: Situation): number {
  const left = points - cost - spent
  if (previous * (1 - elapsedMs / windowMs) <= left) return 0
  // In this window, when enough of the previous window has slid out …
  if (left >= 0) return Math.ceil(windowMs * (1 - left / previous) - elapsedMs)
  // … or in the next window, where the current points count as the previous ones.
  return Math.ceil(windowMs - elapsedMs + windowMs * (1 - (points - cost) / spent))
}
