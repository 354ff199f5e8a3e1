/**
 * Rate limits in points of operation cost, each in a sliding window (sliding-window.ts): per viewer, per service, per client program, per
 * address, and per address of callers without a token. Each process counts the production defaults for itself, in memory, so that no
 * request waits. Configured limits are counted in Redis if the hot store is there, so that all processes count together. While Redis is
 * down, each process counts for itself.
 *
 * An IPv6 address counts as its /64, and its /48 has four times the limit: an attacker with a /48 has 65,536 /64s. A /48 is never blocked
 * for abuse, because it may be many customers of one carrier.
 *
 * A refused caller is remembered until it may ask again. Until then its requests are refused before they are parsed, without a call to
 * Redis. Every refusal counts towards `abuse`: a viewer or an address with too many refusals is blocked for a time. A client's name is
 * never blocked, because every client can send it.
 *
 *   quotas.ts           the windows in which a caller counts
 *   spending.ts         spends a cost in all of them, or in none
 *   waiting-callers.ts  remembers refused and blocked callers
 *   refusals.ts         counts refusals towards a block
 */
import { GraphQLError } from 'graphql'
import { systemClock, type Clock } from '../../core/clock.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { Caller } from '../request/caller.ts'
import { openQuotas, type QuotaOptions } from './quotas.ts'
import type { CountingStore } from './redis-counter.ts'
import { openRefusals, type AbuseRate } from './refusals.ts'
import { makeLocalSpend, makeSharedSpend } from './spending.ts'
import { makeWaitingCallers, type LimitLog, type Refused } from './waiting-callers.ts'

export type RateLimitOptions = QuotaOptions & { readonly abuse?: AbuseRate | undefined }

export type RateLimits = {
  /** True while nothing is limited, so callers need no cost. Absent: false. */
  isOff?(): boolean
  /**
   * Returns the refusal if this caller is still waiting. It makes no network call. `claims`: the request has credentials that are unchecked
   * yet.
   */
  waiting(caller: Caller, claims?: boolean): Refused | undefined
  /** Spends the cost in each of the caller's windows, or refuses and spends nothing. It never rejects and waits only for Redis. */
  spend(caller: Caller, cost: number): Promise<Refused | undefined> | Refused | undefined
  /** Charges wrong credentials: one point and one refusal. Callers do not wait for it. */
  refuse(caller: Caller): void
}

/** The refusal as an error for clients. Over HTTP, `retryAfterMs` also becomes the header `retry-after`. */
export function rateLimitedError({ who, retryAfterMs, blocked }: Refused): GraphQLError {
  const seconds = Math.ceil(retryAfterMs / 1_000)
  const reason = blocked ? `too many refused requests: this ${who} is blocked` : `this ${who} asked for too much in too short a time`
  const advice = who === 'anonymous address' ? ', or send a token' : ''
  return new GraphQLError(`${reason}; wait ${seconds} s${advice}`, {
    extensions: { code: 'RATE_LIMITED' satisfies ErrorCode, retryAfterMs: Math.ceil(retryAfterMs) },
  })
}

/** Points per millisecond of parsing, planning and compiling, even if the operation fails: about the cost of objects. */
export const COST_PER_MS = 20

/** Undefined if nothing is limited. Requests then do no work for limits. */
export function makeRateLimits(
  options: RateLimitOptions,
  store: CountingStore | undefined,
  log: LimitLog,
  clock: Clock = systemClock,
): RateLimits | undefined {
  const { abuse, perProcess = [] } = options
  const quotas = openQuotas(options, store, clock)
  if (quotas === undefined) return undefined
  const refusals = abuse && openRefusals(abuse, perProcess.includes('abuse') ? undefined : store, clock)
  const waiting = makeWaitingCallers(quotas, refusals, log, clock)
  const isLocal = quotas.isLocal && refusals?.shared === undefined
  const spend = isLocal ? makeLocalSpend(waiting, clock) : makeSharedSpend(waiting, refusals?.shared, log, clock)

  return {
    waiting: (caller, claims = false) => waiting.refusalOf(caller, claims),
    spend: (caller, cost) => spend(quotas.of(caller), cost),
    refuse(caller) {
      const all = quotas.of(caller)
      all.forEach(waiting.countRefusal)
      void spend(all, 1)
    },
  }
}
