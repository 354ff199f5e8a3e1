/**
 * The reconciler recounts, page after page and business after business, whatever the counts are of: subjects by their rows,
 * owners by their subjects. It finds nothing, or there is a bug. A page at a time, so it costs the same whether there are a
 * thousand subjects or a thousand million; a whole walk takes as long as it takes.
 *
 * A subject with so many rows that they cannot be counted in the time of a statement must not hold up the walk, nor be
 * counted again every second: a page that failed is done again one by one, and what fails by itself is told and left out.
 *
 * On its way it looks whether the count cache, or one behind it, has an older value than the record store, and gives it the
 * newer one: that is no drift but a refresh that was lost.
 */
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, OwnerSum, Subject } from '../../../core/domain.ts'
import type { CountCache } from '../stores/count-cache.ts'
import type { Drift, MarkRecords } from '../stores/record-store.ts'
import { startWorker } from '../../../core/worker.ts'
import { recountOneByOne } from './recount-single.ts'

export type ReconcilerFigures = {
  /** Subjects and owners that were recounted. */
  reconciled: number
  /** Of those, how many had another count than rows. */
  drift: number
  /** Of those, how many could not be recounted, though the record store answers. */
  unreconciled: number
  /** Whole walks over all businesses. */
  walks: number
  /** Cached counts that were older than the record store's, and were replaced. */
  cacheRefreshed: number
}

type Refreshed = Pick<CountCache, 'getCountsMany' | 'putCounts' | 'getOwnerSums' | 'putOwnerSums'>

const PAGE = 200

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

  async function round(): Promise<void> {
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
    const page = await records.listSubjects(business, after, PAGE)
    if (page.length === 0) return undefined
    const subjects = page.map(({ oid }) => ({ business, oid }))
    note(page.length, await recounted(subjects, records.recount))
    for (const each of [cache, ...(cache.others ?? [])]) await refreshCounts(each, subjects)
    return page.length < PAGE ? undefined : page.at(-1)?.oid
  }

  async function takeOwners(business: BusinessNumber): Promise<string | undefined> {
    const page = await records.listOwners(business, after, PAGE)
    if (page.length === 0) return undefined
    const owners = page.map(({ owner }) => ({ business, owner }))
    note(page.length, await recounted(owners, records.recountOwners))
    for (const each of [cache, ...(cache.others ?? [])]) await refreshSums(each, page)
    return page.length < PAGE ? undefined : page.at(-1)?.owner
  }

  async function recounted<T, D>(items: readonly T[], recount: (items: readonly T[]) => Promise<D[]>): Promise<D[]> {
    const isOneByOne = hasPageFailed
    // Whatever fails now, be it the store itself, brings the same page again.
    hasPageFailed = true
    const drift = isOneByOne ? await recountOneByOne(records, items, recount, leaveOut) : await recount(items)
    hasPageFailed = false
    return drift
  }

  function leaveOut(item: unknown, error: unknown): void {
    figures.unreconciled++
    onError(new Error(`counts cannot be compared with rows: ${JSON.stringify([item])}`, { cause: error }))
  }

  function note(checked: number, drift: readonly unknown[]): void {
    figures.reconciled += checked
    figures.drift += drift.length
    if (drift.length > 0) onError(new Error(`counts differ from rows, which must never be: ${JSON.stringify(drift.slice(0, 5))}`))
  }

  /** The record store is read after the cache: it is the cache that may be behind. */
  async function refreshCounts(into: Refreshed, subjects: readonly Subject[]): Promise<void> {
    const cached = await into.getCountsMany(subjects)
    const held = subjects.filter((_, index) => cached[index] !== undefined)
    if (held.length === 0) return
    const counts = await records.getCountsMany(held)
    const cachedOf = new Map(subjects.map(({ oid }, index) => [oid, cached[index]?.version]))
    const older = held.flatMap((subject, index) => {
      const stored = counts[index]
      return stored !== undefined && (cachedOf.get(subject.oid) ?? 0) < stored.version ? [{ ...subject, counts: stored }] : []
    })
    if (older.length > 0) await into.putCounts(older)
    figures.cacheRefreshed += older.length
  }

  async function refreshSums(into: Refreshed, owners: readonly OwnerSum[]): Promise<void> {
    const cached = await into.getOwnerSums(owners)
    const older = owners.filter(({ version }, index) => (cached[index]?.version ?? version) < version)
    if (older.length > 0) await into.putOwnerSums(older)
    figures.cacheRefreshed += older.length
  }

  const rounds = startWorker(clock, options.reconcileEveryMs, round, onError)
  return { figures: () => ({ ...figures }), stop: rounds.stop }
}

export type Reconciliation = {
  checked: number
  /** Ids of those that could not be: the record store does not answer, or has been asked enough. */
  unchecked: string[]
  drift: Drift[]
  ownerDrift: Awaited<ReturnType<MarkRecords['recountOwners']>>
}

/** On demand: these subjects, and their owners. */
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
