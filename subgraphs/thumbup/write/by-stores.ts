/** Calls for several sets of stores: each set gets its part of the inputs, all sets in parallel. */
import type { BusinessNumber } from '../../../core/domain.ts'
import { isTidemarkError, type ErrorCode } from '../../../core/errors.ts'
import { rejectedBy, type Rejected } from '../../user-errors.ts'

/** Failures of stores that reject inputs. `UserErrorCode` of the schema has them. */
const OF_STORES: ReadonlySet<ErrorCode> = new Set([
  ...(['DATA_DAMAGED', 'DATA_INCOMPATIBLE', 'HOT_STORE_UNAVAILABLE', 'RECORD_STORE_UNAVAILABLE', 'STORE_FULL'] as const),
])

/**
 * Runs the task once per set of stores, with the inputs that passed the checks. If the task fails for one of several sets, the inputs of
 * that set are rejected. If there is only one set, the call rejects.
 */
export async function answerByStores<P, T extends { business: BusinessNumber }, A>(
  storesOf: (business: BusinessNumber) => P,
  checked: readonly (T | Rejected)[],
  task: (stores: P, items: readonly T[]) => Promise<readonly A[]>,
): Promise<(A | Rejected)[]> {
  const answers: (A | Rejected)[] = []
  const parts = new Map<P, number[]>()
  checked.forEach((each, place) => {
    if ('outcome' in each) {
      answers[place] = each
      return
    }
    const stores = storesOf(each.business)
    const places = parts.get(stores)
    if (places === undefined) parts.set(stores, [place])
    else places.push(place)
  })
  await Promise.all(
    Array.from(parts, async ([stores, places]) => {
      try {
        const done = await task(
          stores,
          places.map((place) => checked[place] as T),
        )
        places.forEach((place, index) => (answers[place] = done[index] as A))
      } catch (error) {
        if (parts.size === 1 || !isTidemarkError(error) || !OF_STORES.has(error.code)) throw error
        for (const place of places) answers[place] = rejectedBy(error)
      }
    }),
  )
  return answers
}
