/** Reads of the feed's hot store: list changes as packed vectors, and the regions' noted changes. */
import type { ViewerId } from '../../../../core/domain.ts'
import { headKey, inboxKey } from '../../model/cache-keys.ts'
import { packIds, partOf } from '../../packed/vector.ts'
import type { ListAsked, ListChanges, RegionChanges } from '../hot-store.ts'
import { INBOX, NOTED, OUTBOX, changeRange, readNotedKey, type ListKind } from './keys.ts'
import { clockOf, notedTick, readList, regionOfViewer, type FeedWork } from './work.ts'

export const readOutbox = (work: FeedWork, author: ViewerId, part?: ListAsked): ListChanges =>
  changesOf(work, OUTBOX, author, headKey(author), part)
export const readInbox = (work: FeedWork, viewer: ViewerId, part?: ListAsked): ListChanges =>
  changesOf(work, INBOX, viewer, inboxKey(viewer), part)

function changesOf(work: FeedWork, kind: ListKind, viewer: ViewerId, cacheKey: string, part: ListAsked | undefined): ListChanges {
  const { added, removed } = readList(work, kind, viewer)
  const version = notedTick(work, regionOfViewer(work, viewer), cacheKey)
  return { ...partOf(added, part), removed: packIds(removed.map(({ id }) => id)), version }
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
