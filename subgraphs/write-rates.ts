/**
 * The writes per second of each business, so that one busy business does not affect others. Each serving process counts for itself. The
 * limit is looked up with each write, so a limit that changes while the process runs takes effect with the next write.
 */
import type { Clock } from '../core/clock.ts'
import type { BusinessNumber } from '../core/domain.ts'
import { TidemarkError } from '../core/errors.ts'
import { makeTokenBucket, type TokenBucket } from '../core/token-bucket.ts'

export type WriteRates = {
  /**
   * Counts these writes among those of this second. Throws QUOTA_EXCEEDED for all of them or for none. A call larger than the rest of this
   * second passes, and the next ones wait.
   */
  admit(business: BusinessNumber, count?: number): void
}

/** `limitOf`: writes per second; undefined for a business without a limit. `kind`: the word for one write. */
export function makeWriteRates<B extends { name: string }>(
  clock: Clock,
  businesses: { byNumber(number: BusinessNumber): B | undefined },
  limitOf: (business: B) => number | undefined,
  kind: 'mark' | 'report' | 'play' | 'issue',
): WriteRates {
  const buckets = new Map<BusinessNumber, { bucket: TokenBucket; perSecond: number }>()

  function bucketOf(business: BusinessNumber, perSecond: number): TokenBucket {
    const held = buckets.get(business)
    if (held?.perSecond === perSecond) return held.bucket
    const bucket = makeTokenBucket(clock, perSecond)
    buckets.set(business, { bucket, perSecond })
    return bucket
  }

  return {
    admit(number, count = 1) {
      const business = businesses.byNumber(number)
      const perSecond = business && limitOf(business)
      if (perSecond === undefined || bucketOf(number, perSecond).takeAhead(count)) return
      throw new TidemarkError(
        'QUOTA_EXCEEDED',
        `business "${business?.name}" has used its ${perSecond} ${kind}s of this second: send the ${kind} again later`,
        { path: ['business'] },
      )
    },
  }
}
