/**
 * Reads of the hot store: point lookups, timelines over several businesses, and the cap.
 *
 * Trimming removes entries from the oldest end, with their contents, up to the first dirty one, which is not yet persisted. Missing entries
 * are therefore at or below the floor, the newest place ever trimmed, and everything above it is complete here. Late entries below the
 * floor stay in the timeline until they are clean.
 */
import type { BusinessNumber, Place, ProgressKey, TimelineEntry, ViewerId } from '../../../../core/domain.ts'
import { saysDamaged } from '../../../../core/errors.ts'
import { gatherDamage } from '../../model/damaged-progress.ts'
import { comparePlaces } from '../../model/places.ts'
import type { HotLookup, HotPage, KeyChange } from '../hot-store.ts'
import { decodeHeldProgress, readDirtySince } from './values.ts'
import { clearedAtOf, isVisible, readHeld, removeClean, shelfWork, viewerWork } from './work.ts'
import type { HotWork, ShelfWork } from './work.ts'
import { lastVersion } from '../../../../stores/lmdb/version-counter.ts'
import { oidOfRecordKey, readTimelineKey, recordKey, recordRange, timelineRange } from '../../../../stores/lmdb/viewer-keys.ts'

/** In key order. Reads all keys. If some cannot be decoded, throws one `DamagedProgress` for all of them. */
export function readEach<T>(keys: readonly ProgressKey[], read: (key: ProgressKey) => T): T[] {
  const found: T[] = []
  const damage = gatherDamage()
  for (const key of keys) {
    try {
      found.push(read(key))
    } catch (error) {
      if (!saysDamaged(error)) throw error
      damage.note(key, error)
    }
  }
  damage.throwIfAny()
  return found
}

export function lookUp(work: HotWork, { viewer, business, oid }: ProgressKey): HotLookup {
  const shelf = shelfWork(work, viewerWork(work, viewer), business)
  const held = readHeld(work, shelf, oid)
  if (held !== undefined) return { record: isVisible(shelf, held.content) ? held.content : undefined, older: undefined }
  return { record: undefined, older: shelf.stats.floor === undefined ? undefined : { clearedAt: clearedAtOf(shelf) } }
}

export function listTimeline(
  work: HotWork,
  viewer: ViewerId,
  businesses: readonly BusinessNumber[],
  before: Place | undefined,
  limit: number,
): HotPage {
  const owner = viewerWork(work, viewer)
  const shelves = [...new Set(businesses)].map((business) => shelfWork(work, owner, business))
  const places = mergePlaces(shelves.map((shelf) => listPlaces(work, shelf, before, limit))).slice(0, limit)
  return {
    entries: places.flatMap((place) => entryAt(work, shelfWork(work, owner, place.business), place)),
    truncated: shelves.flatMap((shelf) => {
      const { floor } = shelf.stats
      return floor === undefined ? [] : [{ business: shelf.business, floor, clearedAt: clearedAtOf(shelf) }]
    }),
  }
}

/** Merges sorted lists. They are short, and usually there is one. */
export function mergePlaces(lists: readonly Place[][]): Place[] {
  return lists.length === 1 ? (lists[0] ?? []) : lists.flat().sort(comparePlaces)
}

function listPlaces(work: HotWork, shelf: ShelfWork, before: Place | undefined, limit: number): Place[] {
  const places: Place[] = []
  for (const key of work.tables.viewers.getKeys({ ...timelineRange(shelf, before), limit })) places.push(readTimelineKey(shelf, key))
  return places
}

function entryAt(work: HotWork, shelf: ShelfWork, { business, oid }: Place): TimelineEntry[] {
  const held = readHeld(work, shelf, oid)
  return held === undefined ? [] : [{ business, oid, record: held.content }]
}

/** Scans all records of these businesses. A follower needs it once per reconnect. */
export function listChanges(work: HotWork, viewer: ViewerId, businesses: readonly BusinessNumber[], sinceVersion: number): KeyChange[] {
  const owner = viewerWork(work, viewer)
  const changes: KeyChange[] = []
  for (const business of new Set(businesses)) {
    const shelf = shelfWork(work, owner, business)
    for (const { key, value } of work.tables.viewers.getRange(recordRange(shelf))) {
      const { content: record } = decodeHeldProgress(value, value.length)
      if (record.version <= sinceVersion || (!record.deleted && !isVisible(shelf, record))) continue
      changes.push({ kind: record.deleted ? 'deleted' : 'put', viewer, business, oid: oidOfRecordKey(shelf, key), record })
    }
  }
  return changes.sort((a, b) => a.record.version - b.record.version)
}

export function newestEntry(work: HotWork, shelf: ShelfWork): Place | undefined {
  return listPlaces(work, shelf, undefined, 1)[0]
}

export function allPlaces(work: HotWork, shelf: ShelfWork): Place[] {
  return listPlaces(work, shelf, undefined, shelf.stats.entries)
}

/** Removes clean entries from the oldest ends until `cap` are left in each timeline. Decodes no record, since it may be damaged. */
export function trimTimelines(work: HotWork, shelves: Iterable<ShelfWork>, cap: number): void {
  for (const shelf of shelves) {
    if (shelf.stats.entries > cap) trimTimeline(work, shelf, shelf.stats.entries - cap)
  }
}

/** In lots: a dirty entry at the end stops it, and the excess may be large. */
const LOT = 100
function trimTimeline(work: HotWork, shelf: ShelfWork, excess: number): void {
  for (let left = excess; left > 0; left -= LOT) {
    for (const place of oldestPlaces(work, shelf, Math.min(left, LOT))) {
      const value = work.tables.viewers.getBinaryFast(recordKey(shelf, place.oid))
      if (value === undefined || readDirtySince(value) > 0) return
      removeClean(work, shelf, place)
      shelf.stats.trimmedAt = lastVersion(work.versions)
      const { floor } = shelf.stats
      if (floor === undefined || comparePlaces(place, floor) < 0) shelf.stats.floor = place
    }
  }
}

function oldestPlaces(work: HotWork, shelf: ShelfWork, limit: number): Place[] {
  const { start, end } = timelineRange(shelf, undefined)
  const places: Place[] = []
  for (const key of work.tables.viewers.getKeys({ start: end, end: start, reverse: true, limit })) places.push(readTimelineKey(shelf, key))
  return places
}
