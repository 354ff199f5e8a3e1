/**
 * Counts refusals towards a block: a caller with too many refusals in a window is blocked for a time. The counter is either in this
 * process, with a bounded number of keys, or in Redis, so that all processes apply the block.
 */
import { RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import type { Clock } from '../../core/clock.ts'
import { makeMemory } from '../identity/memory.ts'
import { makeRedisCounter, type CountingStore } from './redis-counter.ts'

export type AbuseRate = { readonly refusals: number; readonly perSeconds: number; readonly blockSeconds: number }

/** Counts one refusal. Returns the milliseconds of the block that begins or continues; 0 if there is no block. */
export type CountRefusal = (key: string) => number

/** Keys of callers in one generation of a memory. */
export const CALLERS_REMEMBERED_MAX = 10_000

export type Refusals = { readonly countLocally: CountRefusal; readonly shared?: SharedRefusals }

/** `store`: absent if each process counts for itself. */
export function openRefusals(rate: AbuseRate, store: CountingStore | undefined, clock: Clock): Refusals {
  const countLocally = makeLocalRefusals(rate, CALLERS_REMEMBERED_MAX, clock)
  if (store === undefined) return { countLocally }
  const { refusals: points, perSeconds, blockSeconds } = rate
  return {
    countLocally,
    shared: makeSharedRefusals(makeRedisCounter(store, 'abuse', { points, perSeconds, blockSeconds }), rate, countLocally),
  }
}

type State = { window: number; count: number; blockedUntil: number }

function makeLocalRefusals({ refusals, perSeconds, blockSeconds }: AbuseRate, keysMax: number, clock: Clock): CountRefusal {
  const states = makeMemory<State>(keysMax)
  return (key) => {
    const now = clock.now()
    const window = Math.floor(now / (perSeconds * 1_000))
    let state = states.get(key)
    if (state === undefined) {
      state = { window, count: 0, blockedUntil: 0 }
      states.set(key, state)
    }
    if (state.blockedUntil > now) return state.blockedUntil - now
    if (state.window !== window) [state.window, state.count] = [window, 0]
    state.count += 1
    if (state.count <= refusals) return 0
    state.blockedUntil = now + blockSeconds * 1_000
    state.count = 0
    return blockSeconds * 1_000
  }
}

export type SharedRefusals = {
  /** Same as CountRefusal. While the counter fails, `local` counts. */
  count(key: string): Promise<number>
  /** The milliseconds of a block of this key by any process; 0 if there is no block. */
  blockedFor(key: string): Promise<number>
}

function makeSharedRefusals(limiter: RateLimiterAbstract, { refusals }: AbuseRate, local: CountRefusal): SharedRefusals {
  return {
    async count(key) {
      try {
        await limiter.consume(key, 1)
        return 0
      } catch (reason) {
        return reason instanceof RateLimiterRes ? reason.msBeforeNext : local(key)
      }
    },
    async blockedFor(key) {
      // If the counter fails, this process assumes that the key is not blocked.
      const counted = await limiter.get(key).catch(() => null)
      return counted !== null && counted.consumedPoints > refusals ? counted.msBeforeNext : 0
    },
  }
}
