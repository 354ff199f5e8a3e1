/** Removes a business's events on LMDB, in bounded chunks. */
import type { BusinessNumber } from '../../../../core/domain.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import { makeFinder, visitAll, type Entry } from '../../../../stores/lmdb/scan.ts'
import type { MarkEvents } from '../events.ts'

export type EventKind = { table: Bytes; decode: (bytes: Uint8Array) => { business: BusinessNumber } }

const REMOVED_PER_WRITE = 2_000

export function makeEventRemoval(
  environment: Environment,
  all: readonly EventKind[],
): Required<Pick<MarkEvents, 'forgetEvents' | 'countEvents'>> {
  const kinds = all.map(kindIn)
  let forgetting: { business: BusinessNumber; kinds: typeof kinds } | undefined

  function kindIn({ table, decode }: EventKind) {
    const isOf = ({ value }: Entry, business: BusinessNumber): boolean => {
      try {
        return decode(value).business === business
      } catch {
        // An unreadable event names no business. It leaves with its age.
        return false
      }
    }
    return { table, isOf, find: makeFinder(environment, table, isOf) }
  }

  /** A finished kind is not walked again for each chunk of the next kind. */
  async function forgetEvents(business: BusinessNumber, limit: number): Promise<number> {
    if (forgetting?.business !== business) forgetting = { business, kinds: [...kinds] }
    for (let kind = forgetting.kinds[0]; kind !== undefined; kind = forgetting.kinds[0]) {
      const { table } = kind
      const found = await kind.find(business, Math.min(limit, REMOVED_PER_WRITE))
      if (found.length > 0) {
        await environment.writeToFree(() => {
          for (const key of found) void table.remove(key)
        })
        return found.length
      }
      forgetting.kinds.shift()
    }
    forgetting = undefined
    return 0
  }

  async function countEvents(business: BusinessNumber): Promise<number> {
    let count = 0
    for (const { table, isOf } of kinds) await visitAll(environment, table, (entry) => void (count += Number(isOf(entry, business))))
    return count
  }

  return { forgetEvents, countEvents }
}
