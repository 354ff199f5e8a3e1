/** The businesses as thumbup sees them: some have none, some are deleted and must say so. */
import { makeBusinesses } from '../../core/businesses.ts'
import type { BusinessConfig } from '../../core/config.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'

export type ThumbupBusinesses = {
  /** Those that are served. */
  readonly all: readonly BusinessConfig[]
  /** Throws BUSINESS_UNKNOWN, BUSINESS_DELETED. */
  byName(name: string): BusinessConfig
  /** Undefined for what is not served. */
  byNumber(number: BusinessNumber): BusinessConfig | undefined
  /** Numbers of those whose data is to be removed. */
  readonly deleted: ReadonlySet<BusinessNumber>
}

export function isServed({ thumbup }: BusinessConfig): boolean {
  return thumbup.enabled && !thumbup.deleted
}

export function makeThumbupBusinesses(configured: readonly BusinessConfig[]): ThumbupBusinesses {
  const served = makeBusinesses(configured.filter(isServed))
  const others = new Map(configured.filter((business) => !isServed(business)).map((business) => [business.name, business]))
  return {
    all: served.all,
    byName(name) {
      const other = others.get(name)
      if (other === undefined) return served.byName(name)
      if (other.thumbup.deleted)
        throw new TidemarkError('BUSINESS_DELETED', `business "${name}" was deleted: nothing of it can be marked or read any more`)
      throw new TidemarkError('BUSINESS_UNKNOWN', `business "${name}" has no likes: set its thumbup.enabled in tidemark.yaml`)
    },
    byNumber: served.byNumber,
    deleted: new Set(configured.filter(({ thumbup }) => thumbup.deleted).map(({ number }) => number)),
  }
}
