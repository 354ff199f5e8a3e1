/**
 * The businesses as thumbup sees them. All entity types have thumbup's fields. For a business without likes, the fields are null. For a
 * business with deleted likes, they are null with BUSINESS_DELETED, and the rest of a client's operation still works.
 */
import { followed, makeBusinesses, type Businesses } from '../../config/businesses.ts'
import type { BusinessConfig, Config } from '../../config/config.ts'
import { FOLLOW_BUSINESS } from '../../config/feed.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import { TidemarkError } from '../../core/errors.ts'

/** True if a business has likes, or had some. Without such a business there is no subgraph. */
export function hasThumbup({ businesses }: Pick<Config, 'businesses'>): boolean {
  return businesses.some(isShown)
}

/** The internal business of follows, as the stores and the job see it: see `follow-marks.ts`. */
export const FOLLOWS: BusinessConfig = {
  number: FOLLOW_BUSINESS,
  name: 'follow',
  entity: 'User',
  conflict: 'newest',
  glanceMax: 0,
  finishedPercent: 95,
  playedFrom: undefined,
  enabled: true,
  thumbup: { enabled: true, deleted: false, dislikes: false, likesCap: 5_000 },
}

export type ThumbupBusinesses = {
  readonly configured: Businesses<BusinessConfig>
  /** The served businesses. */
  readonly all: readonly BusinessConfig[]
  /** Throws BUSINESS_UNKNOWN, BUSINESS_DELETED. */
  byName(name: string): BusinessConfig
  /** Throws BUSINESS_DELETED for a deleted business. */
  requireServed(business: BusinessConfig): void
  /** Undefined for a business that is not served. */
  byNumber(number: BusinessNumber): BusinessConfig | undefined
  /** Numbers of the businesses whose data the job removes. */
  readonly deleted: ReadonlySet<BusinessNumber>
}

export function isServed({ thumbup }: BusinessConfig): boolean {
  return thumbup.enabled && !thumbup.deleted
}

/** Served or deleted. */
export function isShown({ thumbup }: BusinessConfig): boolean {
  return thumbup.enabled || thumbup.deleted
}

/** `given`: as for `makeBusinesses`. */
export function makeThumbupBusinesses(given: readonly BusinessConfig[] | (() => readonly BusinessConfig[])): ThumbupBusinesses {
  const read = typeof given === 'function' ? given : () => given
  const served = makeBusinesses(followed(read, (all) => all.filter(isServed)))
  const others = followed(read, (all) => new Map(all.filter((each) => !isServed(each)).map((business) => [business.name, business])))
  const deleted = followed(read, (all) => new Set(all.filter(({ thumbup }) => thumbup.deleted).map(({ number }) => number)))

  function requireServed({ name, thumbup }: BusinessConfig): void {
    if (!thumbup.deleted) return
    throw new TidemarkError(
      'BUSINESS_DELETED',
      `business "${name}" has no likes any more (thumbup.deleted): leave out its marks, counts and lists`,
      {
        path: ['business'],
      },
    )
  }

  return {
    configured: makeBusinesses(read),
    get all() {
      return served.all
    },
    byName(name) {
      const other = others().get(name)
      if (other === undefined) return served.byName(name)
      requireServed(other)
      throw new TidemarkError('BUSINESS_UNKNOWN', `business "${name}" has no likes: set its thumbup.enabled in tidemark.yaml`, {
        path: ['business'],
      })
    },
    requireServed,
    byNumber: served.byNumber,
    get deleted() {
      return deleted()
    },
  }
}
