/** The gate of a caller (operation/preparing.ts). It limits the preparing that the caller causes, and charges the caller for its time. */
import { preparingError, type PreparingLimit } from '../limits/preparing-limit.ts'
import { COST_PER_MS, type RateLimits } from '../limits/rate-limits.ts'
import type { Gate } from '../operation/preparing.ts'
import type { Caller } from './caller.ts'
import type { Metrics } from './metrics.ts'

export type GateOptions = {
  readonly limits?: RateLimits | undefined
  /** The limit of preparing for one caller. Absent: no limit. */
  readonly preparing?: PreparingLimit | undefined
}

/** A new operation costs more than a known one. New values of its conditions cost more as well. */
export function makeGateOf({ limits, preparing }: GateOptions, metrics: Metrics): (caller: Caller) => Gate {
  return (caller) => (length) => {
    const allowance = preparing?.take(caller, length)
    if (allowance !== undefined && 'retryAfterMs' in allowance) {
      metrics.countPreparingRefused(allowance.who)
      return preparingError(allowance)
    }
    return {
      spent(ms) {
        allowance?.spent(ms)
        const points = Math.floor(ms * COST_PER_MS)
        if (points > 0) void limits?.spend(caller, points)
      },
    }
  }
}
