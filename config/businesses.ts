/**
 * Finds configured businesses by name, as in the API, or by number, as in the stores. A live version may add and change businesses, so they
 * are looked up at each use.
 */
import type { BusinessConfig } from './config.ts'
import type { BusinessNumber } from '../core/domain.ts'
import { TidemarkError } from '../core/errors.ts'

/** The configuration of a business, except the parts that only other subgraphs need. */
export type HistoryBusiness = Omit<BusinessConfig, 'thumbup' | 'enabled'> & { enabled?: boolean }

export type Businesses<B = HistoryBusiness> = {
  /** The same list until a version changes it. */
  readonly all: readonly B[]
  readonly numbers: readonly BusinessNumber[]
  /** Throws BUSINESS_UNKNOWN. */
  byName(name: string): B
  /** Undefined for a business that has left the configuration. */
  byNumber(number: BusinessNumber): B | undefined
}

/** `given`: the businesses, or a function that returns the current list. It returns the same list until they change. */
export function makeBusinesses<B extends HistoryBusiness>(given: readonly B[] | (() => readonly B[])): Businesses<B> {
  const now = followed(typeof given === 'function' ? given : () => given, (all) => ({
    all,
    numbers: all.map((business) => business.number),
    byName: new Map(all.map((business) => [business.name, business])),
    byNumber: new Map(all.map((business) => [business.number, business])),
  }))
  return {
    get all() {
      return now().all
    },
    get numbers() {
      return now().numbers
    },
    byName(name) {
      const { all, byName } = now()
      const business = byName.get(name)
      if (business !== undefined) return business
      const known = all.map((each) => each.name).join(', ')
      throw new TidemarkError(
        'BUSINESS_UNKNOWN',
        `business "${name.slice(0, 40)}" is not configured: use ${known}, or add it under businesses in tidemark.yaml`,
        { path: ['business'] },
      )
    },
    byNumber: (number) => now().byNumber.get(number),
  }
}

/** Makes the result again when `read` returns another object. */
export function followed<T, R>(read: () => T, make: (value: T) => R): () => R {
  let made: { of: T; result: R } | undefined
  return () => {
    const value = read()
    if (made === undefined || made.of !== value) made = { of: value, result: make(value) }
    return made.result
  }
}

/** The settings of the businesses that are in the graph. A change of other settings needs no new graph. */
export function graphOf(businesses: readonly BusinessConfig[]): unknown {
  return businesses.map(({ number, name, entity, thumbup: { enabled, deleted } }) => ({ number, name, entity, enabled, deleted }))
}

/** A business that is not enabled takes no writes. Throws BUSINESS_DISABLED. */
export function requireEnabled<B extends Pick<HistoryBusiness, 'name' | 'enabled'>>(business: B): B {
  if (business.enabled !== false) return business
  const { name } = business
  throw new TidemarkError('BUSINESS_DISABLED', `business "${name}" takes no writes (enabled: false): read it, or delete from it`, {
    path: ['business'],
  })
}
