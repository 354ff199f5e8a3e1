/**
 * Recounts everything of a business, page after page: whatever the counts are of, subjects by their rows and owners by their
 * subjects. Each page is of one moment, so it may run beside a service that writes; it holds a page, however large the
 * business is. The reconciler of the job does the same at leisure, for ever (`reconciler.ts`).
 */
import type { BusinessNumber } from '../../core/domain.ts'
import type { Drift, MarkRecords } from '../../stores/mark-records.ts'

export type ReconciledPage = {
  /** Recounted in this page. */
  subjects: number
  owners: number
  drift: Drift[]
  ownerDrift: Awaited<ReturnType<MarkRecords['recountOwners']>>
}

const PAGE = 500

/** Rejects with RECORD_STORE_UNAVAILABLE. */
export async function* reconcileWhole(
  records: Pick<MarkRecords, 'listSubjects' | 'recount' | 'listOwners' | 'recountOwners'>,
  business: BusinessNumber,
): AsyncGenerator<ReconciledPage> {
  for (let after: string | undefined, more = true; more;) {
    const page = await records.listSubjects(business, after, PAGE)
    if (page.length > 0) {
      const drift = await records.recount(page.map(({ oid }) => ({ business, oid })))
      yield { subjects: page.length, owners: 0, drift, ownerDrift: [] }
    }
    after = page.at(-1)?.oid
    more = page.length === PAGE
  }
  for (let after: string | undefined, more = true; more;) {
    const page = await records.listOwners(business, after, PAGE)
    if (page.length > 0) {
      const ownerDrift = await records.recountOwners(page.map(({ owner }) => ({ business, owner })))
      yield { subjects: 0, owners: page.length, drift: [], ownerDrift }
    }
    after = page.at(-1)?.owner
    more = page.length === PAGE
  }
}
