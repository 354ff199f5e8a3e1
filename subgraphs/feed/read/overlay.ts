/**
 * Reads both stores for the same keys. The hot store has the recent changes, and the record store has what was persisted. The order
 * matters: a change leaves the hot store only after it is in the record store. A change that left before the first read is therefore in the
 * second one.
 */
import type { ViewerId } from '../../../core/domain.ts'
import { saysDown } from '../../../core/outage/degraded.ts'
import { apartIfPartIsOut, concernsSomeOnly } from '../../../core/outage/part-outage.ts'
import { POST_EPOCH_MS, TICKS_PER_MS, postIdOf } from '../packed/post-id.ts'
import type { PostId } from '../packed/post-id.ts'
import { BOUND_OF_ALL } from '../packed/merge.ts'
import { ID_BYTES, below, lengthOf, newestOf, packOne, placeOf, subtract, union } from '../packed/vector.ts'
import type { ListChanges } from '../stores/hot-store.ts'
import type { ListPart } from '../stores/record-store.ts'
import { LACKS_HOT_STORE, LACKS_RECORD_STORE, type Section } from '../packed/section.ts'

/** Clocks of processes may differ by this much. */
export const CLOCK_DIFFERENCE_MS = 60_000

/** Answers of the hot store, in the order of the items. Undefined: the store, or its part with this item, is down. */
export function readHot<K extends { viewer: ViewerId }, V>(
  items: readonly K[],
  read: (items: readonly K[]) => Promise<readonly V[]>,
): Promise<(V | undefined)[]> {
  return apartIfPartIsOut<K, V | undefined>(items, async (some) => {
    try {
      return await read(some)
    } catch (error) {
      if (!saysDown(error, 'hotStore') || concernsSomeOnly(error, some)) throw error
      return some.map(() => undefined)
    }
  })
}

/** Answers of the record store, in order. Undefined: it is down. */
export async function readRecords<V>(count: number, read: () => Promise<readonly V[]>): Promise<readonly (V | undefined)[]> {
  try {
    return count === 0 ? [] : await read()
  } catch (error) {
    if (!saysDown(error, 'recordStore')) throw error
    return Array.from({ length: count }, () => undefined)
  }
}

/** The lowest id that the hot store surely still has, if the post was published. */
export function horizonOf(now: number, keepMs: number): Buffer {
  return packOne(postIdOf(Math.max(0, now - keepMs + CLOCK_DIFFERENCE_MS - POST_EPOCH_MS) * TICKS_PER_MS, 0))
}

/**
 * The part of a list below `before`: at most `limit` ids of both stores, of which each gave as many. Undefined changes or part: that store is down. Without the record
 * store, the part ends at the horizon of the hot store.
 */
export function combine(
  changes: ListChanges | undefined,
  part: ListPart | undefined,
  { before, limit, horizon }: { before: PostId | undefined; limit: number; horizon: Buffer },
): Section {
  const lacks = (changes === undefined ? LACKS_HOT_STORE : 0) | (part === undefined ? LACKS_RECORD_STORE : 0)
  const added = changes === undefined ? Buffer.alloc(0) : below(changes.added, before)
  const known = part === undefined ? added : union(part.ids, added)
  const ids = changes === undefined ? known : subtract(known, changes.removed)
  // Below its floor, a store may have ids between those of the other one.
  const floors: Buffer[] = []
  if (changes?.hasMore === true) floors.push(added.subarray(0, ID_BYTES))
  if (part === undefined) floors.push(changes === undefined ? BOUND_OF_ALL : horizon)
  else if (part.hasMore) floors.push(part.ids.subarray(0, ID_BYTES))
  const floor = floors.sort(Buffer.compare).at(-1)
  if (floor === undefined) return cutAbove(ids, undefined, limit, lacks)
  return cutAbove(ids.subarray(placeOf(ids, floor)), floor, limit, lacks)
}

/** The newest `limit` ids. The part ends at its last one if there are more. */
function cutAbove(ids: Buffer, floor: Buffer | undefined, limit: number, lacks: number): Section {
  if (lengthOf(ids) <= limit) return { ids, hasMore: floor !== undefined, floor, lacks }
  const newest = newestOf(ids, limit)
  return { ids: newest, hasMore: true, floor: newest.subarray(0, ID_BYTES), lacks }
}
