/**
 * Sums of stored rows per business, for quotas and statistics. A walk reads a store page by page in the background. A sum is therefore as
 * old as the walk takes, and a limit on it is approximate.
 *
 * A walk costs reads, so it goes on only while its sums are wanted: for an hour after the last question. Between two walks it rests, unless
 * a quota needs the sums soon.
 */
import type { Clock } from '../core/clock.ts'
import type { BusinessNumber } from '../core/domain.ts'
import { makeWorker } from '../core/worker.ts'

/** `bytes`: of ids and values, without what the store adds; undefined if they are not known. */
export type StoredSum = { rows: number; bytes: number | undefined }

export type SumPage<P> = {
  /** Of the rows of this page. */
  sums: ReadonlyMap<BusinessNumber, StoredSum>
  /** The place of the next page; undefined after the last page. */
  next: P | undefined
}

export type StoredSums = {
  /** Undefined as long as nothing is known. Also keeps the walk going. */
  of(business: BusinessNumber): StoredSum | undefined
  /** The same, but does not keep the walk going. */
  known(business: BusinessNumber): StoredSum | undefined
  stop(): Promise<void>
}

const PAGE_EVERY_MS = 200
const REST_MS = 60_000
const WANTED_MS = 3_600_000
const NOTHING: StoredSum = { rows: 0, bytes: undefined }

/**
 * `readPage` reads the page at a place; without a place, the first one. `isQuota`: whether a quota needs the sums. They are then wanted from
 * the beginning.
 */
export function makeStoredSums<P>(
  clock: Clock,
  readPage: (place: P | undefined) => Promise<SumPage<P>>,
  isQuota: () => boolean,
  onError: (error: unknown) => void,
): StoredSums {
  let known = new Map<BusinessNumber, StoredSum>()
  let walked = new Map<BusinessNumber, StoredSum>()
  let isWhole = false
  let place: P | undefined
  let wantedAt = isQuota() ? clock.now() : Number.NEGATIVE_INFINITY

  const worker = makeWorker(clock, step, nextMs, onError)
  if (isQuota()) worker.plan(PAGE_EVERY_MS)

  async function step(): Promise<void> {
    const { sums, next } = await readPage(place)
    for (const [business, sum] of sums) walked.set(business, added(walked.get(business), sum))
    place = next
    if (next === undefined) {
      known = walked
      walked = new Map()
      isWhole = true
      return
    }
    // Rows seen so far count before the first walk has ended.
    for (const [business, sum] of walked) if (sum.rows > (known.get(business)?.rows ?? 0)) known.set(business, { ...sum })
  }

  function nextMs(): number | undefined {
    if (isQuota()) return PAGE_EVERY_MS
    if (clock.now() - wantedAt > WANTED_MS) return undefined
    return place === undefined ? REST_MS : PAGE_EVERY_MS
  }

  const knownOf = (business: BusinessNumber): StoredSum | undefined => known.get(business) ?? (isWhole ? NOTHING : undefined)

  return {
    of(business) {
      wantedAt = clock.now()
      worker.plan(PAGE_EVERY_MS)
      return knownOf(business)
    },
    known: knownOf,
    stop: () => worker.stop(),
  }
}

/** Adds to the sum of a business. */
export function added(sum: StoredSum | undefined, more: StoredSum): StoredSum {
  if (sum === undefined) return { ...more }
  return { rows: sum.rows + more.rows, bytes: sum.bytes === undefined || more.bytes === undefined ? undefined : sum.bytes + more.bytes }
}
