/** Finds configured businesses by name, as in the API, or by number, as in the stores. */
import type { BusinessConfig } from './config.ts'
import type { BusinessNumber } from '../core/domain.ts'
import { TidemarkError } from '../core/errors.ts'

/** The configuration of a business, except the parts that only other subgraphs need. */
export type HistoryBusiness = Omit<BusinessConfig, 'thumbup'>

export type Businesses<B = HistoryBusiness> = {
  readonly all: readonly B[]
  readonly numbers: readonly BusinessNumber[]
  /** Throws BUSINESS_UNKNOWN. */
  byName(name: string): B
  /** Undefined for a business that has left the configuration. */
  byNumber(number: BusinessNumber): B | undefined
}

export function makeBusinesses<B extends HistoryBusiness>(all: readonly B[]): Businesses<B> {
  const byName = new Map(all.map((business) => [business.name, business]))
  const byNumber = new Map(all.map((business) => [business.number, business]))
  return {
    all,
    numbers: all.map((business) => business.number),
    byName(name) {
      const business = byName.get(name)
      if (business !== undefined) return business
      const known = all.map((each) => each.name).join(', ')
      throw new TidemarkError(
        'BUSINESS_UNKNOWN',
        `business "${name.slice(0, 40)}" is not configured: use ${known}, or add it under businesses in tidemark.yaml`,
        { path: ['business'] },
      )
    },
    byNumber: (number) => byNumber.get(number),
  }
}
