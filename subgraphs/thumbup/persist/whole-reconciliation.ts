/**
 * Recounts a whole business, page by page: subjects by their rows, and owners by their subjects. It then looks for missing counts: marked
 * subjects without counts, and owners of subjects without a sum. Each page is of one moment, so it may run beside a service that writes. It
 * holds one page in memory. The reconciler of the job repeats the same work in the background (`reconciler.ts`).
 */
import type { BusinessNumber } from '../../../core/domain.ts'
import type { Drift, MarkRecords } from '../stores/record-store.ts'
import { recountOneByOne } from './recount-single.ts'

export type ReconciledPage = {
  /** Recounted in this page. */
  subjects: number
  owners: number
  /** Subjects and owners that failed although the record store answers. `what` names one. */
  leftOut: { what: string; error: unknown }[]
  drift: Drift[]
  ownerDrift: Awaited<ReturnType<MarkRecords['recountOwners']>>
}

type Recounted = Pick<
  MarkRecords,
  | ('listSubjects' | 'recount' | 'listOwners' | 'recountOwners' | 'check')
  | ('listMarkedSubjects' | 'getCountsMany' | 'listRegistrations' | 'getOwnerSums')
>

const PAGE = 500

/** Rejects with RECORD_STORE_UNAVAILABLE. */
export async function* reconcileWhole(records: Recounted, business: BusinessNumber): AsyncGenerator<ReconciledPage> {
  async function recounted<T, D>(items: readonly T[], recount: (items: readonly T[]) => Promise<D[]>, nameOf: (item: T) => string) {
    const leftOut: ReconciledPage['leftOut'] = []
    const drift = await recount(items).catch(() =>
      recountOneByOne(records, items, recount, (item, error) => leftOut.push({ what: nameOf(item), error })),
    )
    return { drift, leftOut, count: items.length - leftOut.length }
  }

  for (let after: string | undefined, more = true; more;) {
    const page = await records.listSubjects(business, after, PAGE)
    if (page.length > 0) {
      const subjects = page.map(({ oid }) => ({ business, oid }))
      const { drift, leftOut, count } = await recounted(subjects, records.recount, ({ oid }) => `/${oid}`)
      yield { subjects: count, owners: 0, leftOut, drift, ownerDrift: [] }
    }
    after = page.at(-1)?.oid
    more = page.length === PAGE
  }
  for (let after: string | undefined, more = true; more;) {
    const page = await records.listOwners(business, after, PAGE)
    if (page.length > 0) {
      const owners = page.map(({ owner }) => ({ business, owner }))
      const { drift, leftOut, count } = await recounted(owners, records.recountOwners, ({ owner }) => `, owner ${owner}`)
      yield { subjects: 0, owners: count, leftOut, drift: [], ownerDrift: drift }
    }
    after = page.at(-1)?.owner
    more = page.length === PAGE
  }
  yield* uncountedSubjects()
  yield* uncountedOwners()

  async function* uncountedSubjects(): AsyncGenerator<ReconciledPage> {
    for (let after: string | undefined; ;) {
      const page = await records.listMarkedSubjects(business, after, PAGE)
      if (page.length === 0) return
      after = page.at(-1)
      const marked = page.map((oid) => ({ business, oid }))
      const counts = await records.getCountsMany(marked)
      const subjects = marked.filter((_, place) => counts[place]?.version === 0)
      if (subjects.length === 0) continue
      const { drift, leftOut, count } = await recounted(subjects, records.recount, ({ oid }) => `/${oid}`)
      yield { subjects: count, owners: 0, leftOut, drift, ownerDrift: [] }
    }
  }

  /** Subjects are ordered by id, so an owner occurs many times. Most owners without a sum have received nothing. */
  async function* uncountedOwners(): AsyncGenerator<ReconciledPage> {
    const reported = new Set<string>()
    for (let after: string | undefined, more = true; more;) {
      const page = await records.listRegistrations(business, after, PAGE)
      after = page.at(-1)?.oid
      more = page.length === PAGE
      const registered = [...new Set(page.map(({ owner }) => owner))].map((owner) => ({ business, owner }))
      const sums = registered.length === 0 ? [] : await records.getOwnerSums(registered)
      const owners = registered.filter(({ owner }, place) => sums[place]?.version === 0 && !reported.has(owner))
      if (owners.length === 0) continue
      const { drift, leftOut } = await recounted(owners, records.recountOwners, ({ owner }) => `, owner ${owner}`)
      for (const { owner } of drift) reported.add(owner)
      yield { subjects: 0, owners: drift.length, leftOut, drift: [], ownerDrift: drift }
    }
  }
}
