/** The configured businesses, found by name as the API says it, or by number as stores say it. */
import type { BusinessConfig } from './config.ts'
import type { BusinessNumber } from './domain.ts'
import { TidemarkError } from './errors.ts'

export type Businesses = {
  readonly all: readonly BusinessConfig[]
  readonly numbers: readonly BusinessNumber[]
  /** Throws BUSINESS_UNKNOWN. */
  byName(name: string): BusinessConfig
  /** Undefined for a business that has left the configuration. */
  byNumber(number: BusinessNumber): BusinessConfig | undefined
}

export function makeBusinesses(all: readonly BusinessConfig[]): Businesses {
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
      )
    },
    byNumber: (number) => byNumber.get(number),
  }
}
