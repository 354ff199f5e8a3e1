/** Reads of the feed's hot store: list changes as packed vectors, and the regions' noted changes. */
import type { ViewerId } from '../../../../core/domain.ts'
import { headKey, inboxKey } from '../../model/cache-keys.ts'
import type { ListChanges, RegionChanges } from '../hot-store.ts'
import { INBOX, NOTED, OUTBOX, changeRange, listRange, readNotedKey, type ListKind } from './keys.ts'
import { decodeTick } from './values.ts'
import { clockOf, notedTick, regionOfViewer, type FeedWork } from './work.ts'

const ID_BYTES = 8

export const readOutbox = (work: FeedWork, author: ViewerId): ListChanges => readList(work, OUTBOX, author, headKey(author))
export const readInbox = (work: FeedWork, viewer: ViewerId): ListChanges => readList(work, INBOX, viewer, inboxKey(viewer))

/** Keys end in packed ids, in ascending order, so the vectors are joined from them. */
function readList(work: FeedWork, kind: ListKind, viewer: ViewerId, cacheKey: string): ListChanges {
  const added: Buffer[] = []
  const removed: Buffer[] = []
  for (const { key, value } of work.tables.viewers.getRange(listRange(kind, viewer))) {
    const list = decodeTick(value) === 0 ? added : removed
    list.push(key.subarray(key.length - ID_BYTES))
  }
  const version = notedTick(work, regionOfViewer(work, viewer), cacheKey)
  return { added: Buffer.concat(added), removed: Buffer.concat(removed), version }
}

export function listChanges(work: FeedWork, since: ReadonlyMap<number, number>): RegionChanges[] {
  return [...since].flatMap(([region, tick]) => {
    const clock = clockOf(work, region)
    const range = changeRange(region, NOTED, tick + 1, Number.POSITIVE_INFINITY)
    const changed = Array.from(work.tables.changes.getKeys(range), readNotedKey)
    const isPartial = tick < clock.forgotten
    return changed.length === 0 && !isPartial ? [] : [{ region, changed, version: clock.last, isPartial }]
  })
}
