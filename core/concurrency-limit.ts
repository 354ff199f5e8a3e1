/**
 * Limits of concurrent calls. `makeSlots` has a fixed limit. `makeConcurrencyLimit` has one that follows a store: it grows while calls are
 * fast and halves when they are slow. The caller decides which calls are slow.
 *
 * The rule of the latter is additive increase, multiplicative decrease, as in TCP. It is fair between processes and it converges (Chiu and Jain,
 * "Analysis of the increase and decrease algorithms for congestion avoidance in computer networks", 1989). As in TCP, one round of slow
 * calls causes one cut, and a limit that is not reached does not grow.
 */
import type { Clock } from './clock.ts'

export type ConcurrencyLimit = {
  /** Calls that may be in flight now. At least 1. */
  calls(): number
  /** A fast call ended. `wasFull`: the limit was reached at that time. */
  grow(wasFull: boolean): void
  /** True for a call that began before the last cut: it ran under another limit. */
  isEarlier(beganAt: number): boolean
  /**
   * A slow call ended that had begun at this time. `earlier`: it began before the last cut, so it does not count against the current limit.
   * `least`: one call at a time is already slow, so the calls of this process are not the cause.
   */
  cut(beganAt: number): 'cut' | 'earlier' | 'least'
}

export type ConcurrencyLimitOptions = {
  /** Minimum 1. */
  callsMax: number
  /** The initial limit. 1 to `callsMax`. Default 1. */
  callsAtFirst?: number
}

export function makeConcurrencyLimit(clock: Clock, { callsMax, callsAtFirst = 1 }: ConcurrencyLimitOptions): ConcurrencyLimit {
  let limit = callsAtFirst
  let cutAt = -Infinity

  // If the clock was set back, no call would be later than the last cut until the clock has caught up.
  const isEarlier = (beganAt: number): boolean => beganAt < cutAt && cutAt <= clock.now()

  return {
    calls: () => Math.floor(limit),
    grow(wasFull) {
      if (wasFull) limit = Math.min(callsMax, limit + 1 / Math.floor(limit))
    },
    isEarlier,
    cut(beganAt) {
      if (isEarlier(beganAt)) return 'earlier'
      cutAt = clock.now()
      if (limit <= 1) return 'least'
      limit = Math.max(1, limit / 2)
      return 'cut'
    },
  }
}

/** Runs a task when fewer than `tasksMax` run, in order of the calls. */
export function makeSlots(tasksMax: number) {
  const waiting: (() => void)[] = []
  let running = 0

  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (running >= tasksMax) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await task()
    } finally {
      // A waiting task takes the slot over.
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
