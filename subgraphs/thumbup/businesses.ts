/**
 * The businesses as thumbup sees them. A business may have no thumbup, or a deleted thumbup. A deleted one stays in the graph: its fields
 * are null with BUSINESS_DELETED, and the rest of a client's operation still works.
 */
import { makeBusinesses } from '../../config/businesses.ts'
import type { BusinessConfig, Config } from '../../config/config.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'

/** True if a business has likes, or had some. Without such a business there is no subgraph. */
export function hasThumbup({ businesses }: Pick<Config, 'businesses'>): boolean {
  return businesses.some(isShown)
}

export type ThumbupBusinesses = {
  /** The served businesses. */
  readonly all: readonly BusinessConfig[]
  /** The businesses in the graph: served or deleted. */
  readonly shown: readonly BusinessConfig[]
  /** Throws BUSINESS_UNKNOWN, BUSINESS_DELETED. */
  byName(name: string): BusinessConfig
  /** The same for every business in the graph. Throws BUSINESS_UNKNOWN. */
  shownByName(name: string): BusinessConfig
  /** Throws BUSINESS_DELETED for a deleted business of the graph. */
  requireServed(business: BusinessConfig): void
  /** Undefined for a business that is not served. */
  byNumber(number: BusinessNumber): BusinessConfig | undefined
  /** Numbers of the businesses whose data the job removes. */
  readonly deleted: ReadonlySet<BusinessNumber>
}

export function isServed({ thumbup }: BusinessConfig): boolean {
  return thumbup.enabled && !thumbup.deleted
}

export function isShown({ thumbup }: BusinessConfig): boolean {
  return thumbup.enabled || thumbup.deleted
}

export function makeThumbupBusinesses(configured: readonly BusinessConfig[]): ThumbupBusinesses {
  const served = makeBusinesses(configured.filter(isServed))
  const others = new Map(configured.filter((business) => !isServed(business)).map((business) => [business.name, business]))

  function shownByName(name: string): BusinessConfig {
    const other = others.get(name)
    if (other === undefined) return served.byName(name)
    if (other.thumbup.deleted) return other
    throw new TidemarkError('BUSINESS_UNKNOWN', `business "${name}" has no likes: set its thumbup.enabled in tidemark.yaml`)
  }

  function requireServed({ name, thumbup }: BusinessConfig): void {
    if (!thumbup.deleted) return
    throw new TidemarkError('BUSINESS_DELETED', `business "${name}" was deleted: its subjects can no longer be marked or read`)
  }

  return {
    all: served.all,
    shown: configured.filter(isShown),
    byName(name) {
      const business = shownByName(name)
      requireServed(business)
      return business
    },
    shownByName,
    requireServed,
    byNumber: served.byNumber,
    deleted: new Set(configured.filter(({ thumbup }) => thumbup.deleted).map(({ number }) => number)),
  }
}
