/**
 * Limits the preparing that one caller can cause. A known operation costs nothing here. Parsing, planning and compiling a new operation
 * costs its time. Each viewer has a token bucket; anonymous callers share the bucket of their address. A bucket holds the allowance of the
 * whole window and refills evenly.
 *
 * The cost of a text is unknown beforehand. An estimate is taken when the work begins, so that parallel connections cannot spend the same
 * points twice. It is corrected when the work ends. A bucket may go below zero; the next text then waits.
 *
 * Each process counts separately, because each process protects its own processor time.
 */
import { GraphQLError } from 'graphql'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import type { ErrorCode } from '../../core/errors.ts'
import { addressSite, SITE_SHARE } from '../request/addresses.ts'
import { callerKey, type Caller } from '../request/caller.ts'
import { makeMemory } from '../identity/memory.ts'
import { COST_PER_MS } from './rate-limits.ts'
import type { Rate } from './sliding-window.ts'

/** The reason of a refusal, and the time to wait. */
export type PreparingRefused = { readonly who: 'viewer' | 'address'; readonly retryAfterMs: number }
export type Allowance = { spent(ms: number): void }

export type PreparingLimit = {
  /** Decides whether a text of this length may be prepared for this caller. */
  take(caller: Caller, length: number): Allowance | PreparingRefused
}

/** The production default: 2 s at once, and then 10 ms per second. */
const PREPARING_DEFAULT: Rate = { points: 40_000, perSeconds: 200 }

/** Buckets in one generation of the memory. A forgotten bucket is full again; forgetting takes more addresses than this. */
const BUCKETS_MAX = 20_000
const ESTIMATED_POINTS = 20
const ESTIMATED_POINTS_PER_CHARACTER = 0.1

/** `share`: the bucket holds this many allowances. */
type Bucket = { points: number; filledAt: number; readonly share: number }

/** Undefined if there is no limit: in development without the setting. */
export function openPreparingLimit({ limits, server }: Pick<Config, 'limits' | 'server'>, clock: Clock): PreparingLimit | undefined {
  const rate = limits.preparing ?? (server.mode === 'production' ? PREPARING_DEFAULT : undefined)
  return rate === undefined || rate === 'none' ? undefined : makePreparingLimit(rate, clock)
}

export function makePreparingLimit({ points: pointsMax, perSeconds }: Rate, clock: Clock): PreparingLimit {
  const buckets = makeMemory<Bucket>(BUCKETS_MAX)
  const pointsPerMs = pointsMax / (perSeconds * 1_000)

  function bucketOf(key: string, share: number): Bucket {
    const now = clock.now()
    let bucket = buckets.get(key)
    if (bucket === undefined) {
      bucket = { points: pointsMax * share, filledAt: now, share }
      buckets.set(key, bucket)
    }
    // If the clock was set back, the bucket neither gains nor loses.
    if (now > bucket.filledAt) give(bucket, (now - bucket.filledAt) * pointsPerMs * share)
    bucket.filledAt = now
    return bucket
  }

  function give(bucket: Bucket, points: number): void {
    bucket.points = Math.min(pointsMax * bucket.share, bucket.points + points)
  }

  function bucketsOf(caller: Caller): Bucket[] {
    const site = caller.viewer === undefined ? addressSite(caller.address ?? '') : undefined
    const own = bucketOf(callerKey(caller), 1)
    return site === undefined ? [own] : [own, bucketOf(`address:${site}`, SITE_SHARE)]
  }

  return {
    take(caller, length) {
      const who = caller.viewer === undefined ? 'address' : 'viewer'
      const all = bucketsOf(caller)
      const empty = all.find(({ points }) => points <= 0)
      if (empty !== undefined) return { who, retryAfterMs: Math.ceil((1 - empty.points) / (pointsPerMs * empty.share)) }
      const estimated = Math.min(pointsMax, ESTIMATED_POINTS + length * ESTIMATED_POINTS_PER_CHARACTER)
      for (const bucket of all) bucket.points -= estimated
      return {
        spent(ms) {
          for (const bucket of all) give(bucket, estimated - ms * COST_PER_MS)
        },
      }
    },
  }
}

export function preparingError({ who, retryAfterMs }: PreparingRefused): GraphQLError {
  const seconds = Math.ceil(retryAfterMs / 1_000)
  return new GraphQLError(
    `this ${who} sent too many new operations in too short a time; send variables instead of new texts, and ask again in ${seconds} s`,
    { extensions: { code: 'RATE_LIMITED' satisfies ErrorCode, retryAfterMs } },
  )
}
