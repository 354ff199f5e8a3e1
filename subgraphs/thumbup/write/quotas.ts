/**
 * The quotas of a business, so that one busy or full business does not affect others: marks per second, and stored marks. The stored marks
 * are summed up from the counts in the background, so that limit is approximate.
 *
 * Undoing an existing mark is never rejected for storage: that is the way below the quota. Changing or repeating an existing mark is not
 * rejected either, since it stores no more. Only a caller that knows the old mark can tell whether a write stores one more
 * (`quota-check.ts`).
 */
import type { Businesses } from '../../../config/businesses.ts'
import type { BusinessConfig } from '../../../config/config.ts'
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { makeStoredSums, type StoredSum, type StoredSums, type SumPage } from '../../stored-sums.ts'
import { makeWriteRates } from '../../write-rates.ts'
import type { MarkRecords } from '../stores/record-store.ts'
import type { MarkWrite } from '../stores/hot-store.ts'

export type Quotas = {
  /** Counts the write among the marks of this second. Throws QUOTA_EXCEEDED. */
  admit(write: Pick<MarkWrite, 'business'>): void
  /** QUOTA_EXCEEDED if there is no room for a new mark or a new tombstone; otherwise undefined. */
  fullFor(write: Pick<MarkWrite, 'business' | 'oid' | 'mark'>): TidemarkError | undefined
  /** The stored marks of a business, as far as they are summed up. `measure`: also continues to sum up. */
  storedOf(business: BusinessNumber, measure: boolean): StoredSum | undefined
  stop(): Promise<void>
}

const PAGE = 1_000

export function startQuotas(
  clock: Clock,
  businesses: Pick<Businesses<BusinessConfig>, 'all' | 'byNumber'>,
  recordsOf: (business: BusinessNumber) => Pick<MarkRecords, 'listSubjects'>,
  onError: (business: BusinessNumber, error: unknown) => void,
): Quotas {
  const walks = new Map<BusinessNumber, StoredSums>()
  const maxOf = (business: BusinessNumber) => businesses.byNumber(business)?.thumbup.marksMax
  const rates = makeWriteRates(clock, businesses, ({ thumbup }) => thumbup.marksPerSecondMax, 'mark')
  for (const { number, thumbup } of businesses.all) if (thumbup.marksMax !== undefined) walkOf(number)

  /** One walk per business: another database may be down. */
  function walkOf(business: BusinessNumber): StoredSums {
    const held = walks.get(business)
    if (held !== undefined) return held
    const walk = makeStoredSums<string>(
      clock,
      (after) => pageOf(business, after),
      () => maxOf(business) !== undefined,
      (error) => onError(business, error),
    )
    walks.set(business, walk)
    return walk
  }

  async function pageOf(business: BusinessNumber, after: string | undefined): Promise<SumPage<string>> {
    const page = await recordsOf(business).listSubjects(business, after, PAGE)
    const rows = page.reduce((sum, { counts }) => sum + counts.likes + counts.dislikes, 0)
    return { sums: new Map([[business, { rows, bytes: undefined }]]), next: page.length < PAGE ? undefined : page.at(-1)?.oid }
  }

  return {
    admit: ({ business }) => rates.admit(business),
    fullFor({ business, oid, mark }) {
      const max = maxOf(business)
      if (max === undefined) return undefined
      const rows = walkOf(business).of(business)?.rows ?? 0
      if (rows < max) return undefined
      const what = mark === 'NONE' ? `there is nothing to undo at "${oid}", and ` : ''
      const name = businesses.byNumber(business)?.name
      return new TidemarkError(
        'QUOTA_EXCEEDED',
        `${what}business "${name}" has ${rows} stored marks of at most ${max}: raise thumbup.marksMax, or undo some`,
        { path: ['business'] },
      )
    },
    storedOf: (business, measure) => (measure ? walkOf(business).of(business) : walks.get(business)?.known(business)),
    async stop() {
      await Promise.all(Array.from(walks.values(), (walk) => walk.stop()))
    },
  }
}
