/**
 * The quotas of a business, so that one busy or full business does not affect others. Each serving process counts the marks per second. It
 * also sums the stored marks from the counts in the background, page by page. That sum is as old as the walk takes, so the storage limit is
 * approximate.
 *
 * Undoing an existing mark is never rejected for storage: that is the way below the quota. Changing or repeating an existing mark is not
 * rejected either, since it stores no more. Only a caller that knows the old mark can tell whether a write stores one more
 * (`quota-check.ts`).
 */
import type { Clock } from '../../../core/clock.ts'
import type { BusinessConfig } from '../../../config/config.ts'
import type { BusinessNumber } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { makeTokenBucket, type TokenBucket } from '../../../core/token-bucket.ts'
import type { MarkRecords } from '../stores/record-store.ts'
import type { MarkWrite } from '../stores/hot-store.ts'
import { startWorker } from '../../../core/worker.ts'

export type Quotas = {
  /** Counts the write among the marks of this second. Throws QUOTA_EXCEEDED. */
  admit(write: Pick<MarkWrite, 'business'>): void
  /** QUOTA_EXCEEDED if there is no room for a new mark or a new tombstone; otherwise undefined. */
  fullFor(write: Pick<MarkWrite, 'business' | 'oid' | 'mark'>): TidemarkError | undefined
  stop(): Promise<void>
}

const PAGE = 1_000
const PAGE_EVERY_MS = 200

export function startQuotas(
  clock: Clock,
  businesses: readonly BusinessConfig[],
  recordsOf: (business: BusinessNumber) => Pick<MarkRecords, 'listSubjects'>,
  onError: (business: BusinessNumber, error: unknown) => void,
): Quotas {
  const buckets = new Map<BusinessNumber, { bucket: TokenBucket; perSecond: number }>()
  const stored = new Map<BusinessNumber, { marks: number; max: number; name: string }>()
  const names = new Map(businesses.map(({ number, name }) => [number, name]))
  for (const { number, name, thumbup } of businesses) {
    const { marksPerSecondMax, marksMax } = thumbup
    if (marksPerSecondMax !== undefined)
      buckets.set(number, { bucket: makeTokenBucket(clock, marksPerSecondMax), perSecond: marksPerSecondMax })
    if (marksMax !== undefined) stored.set(number, { marks: 0, max: marksMax, name })
  }

  const walks = Array.from(stored, ([business, quota]) => {
    let after: string | undefined
    let sum = 0
    return startWorker(
      clock,
      PAGE_EVERY_MS,
      async () => {
        const page = await recordsOf(business).listSubjects(business, after, PAGE)
        for (const { counts } of page) sum += counts.likes + counts.dislikes
        after = page.at(-1)?.oid
        // Marks seen so far count before the first walk has ended.
        quota.marks = page.length < PAGE ? sum : Math.max(quota.marks, sum)
        if (page.length >= PAGE) return
        after = undefined
        sum = 0
      },
      (error) => onError(business, error),
    )
  })

  return {
    admit({ business }) {
      const limit = buckets.get(business)
      if (limit !== undefined && !limit.bucket.take(1)) {
        throw new TidemarkError(
          'QUOTA_EXCEEDED',
          `business "${names.get(business)}" has used its ${limit.perSecond} marks of this second: send the mark again later`,
          { path: ['business'] },
        )
      }
    },
    fullFor({ business, oid, mark }) {
      const quota = stored.get(business)
      if (quota === undefined || quota.marks < quota.max) return undefined
      const what = mark === 'NONE' ? `there is nothing to undo at "${oid}", and ` : ''
      return new TidemarkError(
        'QUOTA_EXCEEDED',
        `${what}business "${quota.name}" has ${quota.marks} stored marks of at most ${quota.max}: raise thumbup.marksMax, or undo some`,
        { path: ['business'] },
      )
    },
    async stop() {
      await Promise.all(walks.map((walk) => walk.stop()))
    },
  }
}
