/**
 * The reconciler recounts subjects by their rows, and owners by their subjects, page by page and business by business. Any difference is a
 * bug. It takes one page at a time. A page has a maximum of subjects and of rows. A subject with more rows is a page of its own, and the next
 * page then comes later. So the average load depends neither on the number of subjects nor on that of their marks.
 *
 * A subject may have more rows than a statement can count in time. It must not stop the walk, nor be counted again every second. A failed
 * page is therefore recounted one subject at a time, and each subject that fails alone is reported and skipped.
 *
 * The reconciler also compares the count caches with the record store and replaces older values. These are lost refreshes, not drift.
 */
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, CountedSubject, OwnerSum, Subject } from '../../../core/domain.ts'
import type { CountCache } from '../stores/count-cache.ts'
import type { Drift, MarkRecords } from '../stores/record-store.ts'
import { startWorker } from '../../../core/worker.ts'
import { recountOneByOne } from './recount-single.ts'

export type ReconcilerFigures = {
  /** Subjects and owners that were recounted. */
  reconciled: number
  /** Recounted subjects and owners whose count differed from the rows. */
  drift: number
  /** Subjects and owners that could not be recounted although the record store answers. */
  unreconciled: number
  /** Complete walks over all businesses. */
  walks: number
  /** Cached counts that were older than in the record store, and were replaced. */
  cacheRefreshed: number
}

type Refreshed = Pick<CountCache, 'getCountsMany' | 'putCounts' | 'getOwnerSums' | 'putOwnerSums'>

const PAGE = 200
/** Of a page. A subject with more is a page of its own. */
const ROWS_MAX = 20_000
const REST_MAX_MS = 3_600_000

export function startReconciler(
  clock: Clock,
  stores: { records: MarkRecords; cache: CountCache },
  mayWork: () => boolean,
  options: { reconcileEveryMs: number; businesses: readonly BusinessNumber[] },
  onError: (error: unknown) => void,
) {
  const { records, cache } = stores
  const figures: ReconcilerFigures = { reconciled: 0, drift: 0, unreconciled: 0, walks: 0, cacheRefreshed: 0 }
  let place = 0
  let of: 'subjects' | 'owners' = 'subjects'
  let after: string | undefined
  let hasPageFailed = false
  let rows = 0

  async function round(): Promise<void> {
    rows = 0
    const business = options.businesses[place]
    if (business === undefined || !mayWork()) return
    const last = of === 'subjects' ? await takeSubjects(business) : await takeOwners(business)
    if (last !== undefined) {
      after = last
      return
    }
    after = undefined
    if (of === 'subjects') {
      of = 'owners'
      return
    }
    of = 'subjects'
    place = (place + 1) % options.businesses.length
    if (place === 0) figures.walks++
  }

  /** The last id of the page, undefined if it was the last page. */
  async function takeSubjects(business: BusinessNumber): Promise<string | undefined> {
    const listed = await records.listSubjects(business, after, PAGE)
    const page = beginningOf(listed)
    rows = rowsOf(page)
    if (page.length === 0) return undefined
    const subjects = page.map(({ oid }) => ({ business, oid }))
    note(page.length, await recounted(subjects, records.recount))
    await refreshEach((into) => refreshCounts(records, into, subjects))
    return listed.length < PAGE && page.length === listed.length ? undefined : page.at(-1)?.oid
  }

  async function takeOwners(business: BusinessNumber): Promise<string | undefined> {
    const page = await records.listOwners(business, after, PAGE)
    if (page.length === 0) return undefined
    const owners = page.map(({ owner }) => ({ business, owner }))
    note(page.length, await recounted(owners, records.recountOwners))
    await refreshEach((into) => refreshSums(into, page))
    return page.length < PAGE ? undefined : page.at(-1)?.owner
  }

  async function recounted<T, D>(items: readonly T[], recount: (items: readonly T[]) => Promise<D[]>): Promise<D[]> {
    const isOneByOne = hasPageFailed
    // After any failure, of the page or of the store, the same page comes again.
    hasPageFailed = true
    const drift = isOneByOne ? await recountOneByOne(records, items, recount, leaveOut) : await recount(items)
    hasPageFailed = false
    return drift
  }

  function leaveOut(item: unknown, error: unknown): void {
    figures.unreconciled++
    onError(new Error(`counts could not be compared with rows: ${JSON.stringify([item])}`, { cause: error }))
  }

  function note(checked: number, drift: readonly unknown[]): void {
    figures.reconciled += checked
    figures.drift += drift.length
    if (drift.length > 0) onError(new Error(`counts differ from rows, which is a bug: ${JSON.stringify(drift.slice(0, 5))}`))
  }

  /** A failed comparison must not stop the walk. The next walk compares the values again. */
  async function refreshEach(refresh: (into: Refreshed) => Promise<number>): Promise<void> {
    for (const each of [cache, ...(cache.others ?? [])]) {
      try {
        figures.cacheRefreshed += await refresh(each)
      } catch (error) {
        onError(error)
      }
    }
  }

  const rounds = startWorker(clock, () => restMs(options.reconcileEveryMs, rows), round, onError)
  return { figures: () => ({ ...figures }), stop: rounds.stop }
}

/** Reads the record store after the cache: only the cache may be behind. Returns the number of replaced values. */
async function refreshCounts(records: MarkRecords, into: Refreshed, subjects: readonly Subject[]): Promise<number> {
  const cached = await into.getCountsMany(subjects)
  const held = subjects.filter((_, index) => cached[index] !== undefined)
  if (held.length === 0) return 0
  const counts = await records.getCountsMany(held)
  const cachedOf = new Map(subjects.map(({ oid }, index) => [oid, cached[index]?.version]))
  const older = held.flatMap((subject, index) => {
    const stored = counts[index]
    return stored !== undefined && (cachedOf.get(subject.oid) ?? 0) < stored.version ? [{ ...subject, counts: stored }] : []
  })
  if (older.length > 0) await into.putCounts(older)
  return older.length
}

async function refreshSums(into: Refreshed, owners: readonly OwnerSum[]): Promise<number> {
  const cached = await into.getOwnerSums(owners)
  const older = owners.filter(({ version }, index) => (cached[index]?.version ?? version) < version)
  if (older.length > 0) await into.putOwnerSums(older)
  return older.length
}

function rowsOf(subjects: readonly CountedSubject[]): number {
  return subjects.reduce((sum, { counts }) => sum + counts.likes + counts.dislikes, 0)
}

/** As many subjects as have few enough rows together, and at least one. */
function beginningOf(listed: readonly CountedSubject[]): readonly CountedSubject[] {
  let rows = 0
  const end = listed.findIndex((subject) => (rows += rowsOf([subject])) > ROWS_MAX)
  return end === -1 ? listed : listed.slice(0, Math.max(1, end))
}

/** Counts may be wrong, which is what the reconciler looks for: no rest is longer than an hour because of them. */
function restMs(everyMs: number, rows: number): number {
  return Math.max(everyMs, Math.min(REST_MAX_MS, (everyMs * rows) / ROWS_MAX))
}

export type Reconciliation = {
  checked: number
  /** Ids that were not checked, because the record store does not answer or its read limit is reached. */
  unchecked: string[]
  drift: Drift[]
  ownerDrift: Awaited<ReturnType<MarkRecords['recountOwners']>>
}

/** Recounts these subjects and their owners on demand. */
export async function reconcile(records: MarkRecords, subjects: readonly Subject[]): Promise<Reconciliation> {
  if (subjects.length === 0) return { checked: 0, unchecked: [], drift: [], ownerDrift: [] }
  const drift = await records.recount(subjects)
  const owners = await records.getOwners(subjects)
  const distinct = new Map<string, { business: BusinessNumber; owner: string }>()
  subjects.forEach(({ business }, index) => {
    const owner = owners[index]
    if (owner !== undefined) distinct.set(`${business}:${owner}`, { business, owner })
  })
  const ownerDrift = distinct.size === 0 ? [] : await records.recountOwners([...distinct.values()])
  return { checked: subjects.length, unchecked: [], drift, ownerDrift }
}
