/** Statistics of the tenants of one capability: counted writes, stored rows, and the time for which their stores were down. */
import type { BusinessNumber } from '../core/domain.ts'
import type { StoreName } from '../core/outage/degraded.ts'
import { requireScope, SCOPE_OPERATOR, type Viewer } from '../core/viewer.ts'
import type { StoredSum } from './stored-sums.ts'

export type TenantStatistics = {
  business: string
  /** Writes since the start of the process. */
  accepted: number
  overQuota: number
  /** Undefined until they are summed up, and in a capability that does not store them by business. */
  stored: StoredSum | undefined
  /** Milliseconds since the start of the process in which it worked without this store of the business. */
  downMs: Readonly<Record<StoreName, number>>
}

/** One entry per configured business. `measure`: also begins or continues to sum up stored rows, for the next question. */
export type ReadTenants = (measure: boolean) => TenantStatistics[]

export type TenantWrites = ReturnType<typeof makeTenantWrites>

export function makeTenantWrites() {
  const all = new Map<BusinessNumber, { accepted: number; overQuota: number }>()

  function of(business: BusinessNumber): { accepted: number; overQuota: number } {
    const held = all.get(business)
    if (held !== undefined) return held
    const counts = { accepted: 0, overQuota: 0 }
    all.set(business, counts)
    return counts
  }

  return {
    accepted: (business: BusinessNumber, count = 1) => void (of(business).accepted += count),
    overQuota: (business: BusinessNumber, count = 1) => void (of(business).overQuota += count),
    of: (business: BusinessNumber): { readonly accepted: number; readonly overQuota: number } => of(business),
  }
}

/** The statistics as the type `TenantStatistics` of the schema, for operators only. */
export function tenantAnswers(read: ReadTenants, viewer: Viewer | undefined) {
  requireScope(viewer, SCOPE_OPERATOR)
  return read(true).map(({ business, accepted, overQuota, stored, downMs: { hotStore, log, recordStore } }) => ({
    ...{ business, accepted, overQuota },
    rows: stored?.rows,
    bytes: stored?.bytes,
    ...{ hotStoreDownMs: hotStore, logDownMs: log, recordStoreDownMs: recordStore },
  }))
}
