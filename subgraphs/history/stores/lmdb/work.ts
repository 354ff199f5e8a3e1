/**
 * The state of one call to the hot store: the viewers it touches, their settings and stats read once, and the version counter. It lives
 * as long as the call's transaction. `settle` writes the changes back.
 */
import type { BusinessNumber, Place, ProgressRecord, ViewerId, ViewerSettings } from '../../../../core/domain.ts'
import { SETTINGS_BUSINESS } from '../../../../core/domain.ts'
import { settingsKey } from '../../../../core/progress-key.ts'
import { regionOf } from '../../../../core/regions.ts'
import { dirtyMark } from '../../../../stores/lmdb/dirty-marks.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import {
  NO_DAY,
  decodeHeldProgress,
  decodeHeldSettings,
  decodeStats,
  encodeHeldProgress,
  encodeHeldSettings,
  encodeStats,
} from './values.ts'
import type { Held, Stats } from './values.ts'
import { beginVersions, settleVersions, type VersionCounter } from '../../../../stores/lmdb/version-counter.ts'
import { SETTINGS, STATS, makeShelf, plainKey, recordKey, timelineKey } from '../../../../stores/lmdb/viewer-keys.ts'
import type { Shelf } from '../../../../stores/lmdb/viewer-keys.ts'

export type HotTables = {
  /** Records, timelines, stats and settings, by viewer. */
  viewers: Bytes
  dirty: Bytes
  rewards: Bytes
  counters: Bytes
}

export type ViewerWork = { viewer: ViewerId; region: number; settings: Held<ViewerSettings>; shelves: Map<BusinessNumber, ShelfWork> }
export type ShelfWork = Shelf & { owner: ViewerWork; stats: Stats; statsChanged: boolean }
export type HotWork = {
  tables: HotTables
  regions: number
  viewers: Map<ViewerId, ViewerWork>
  versions: VersionCounter
}

const NO_SETTINGS: Held<ViewerSettings> = { dirtySince: 0, content: { paused: false, clearedAt: {}, version: 0 } }
const NOTHING = Buffer.allocUnsafeSlow(0)

export function openHotTables(environment: Environment): HotTables {
  return {
    viewers: environment.table('hot-viewers'),
    dirty: environment.table('hot-dirty'),
    rewards: environment.table('hot-rewards'),
    counters: environment.table('hot-counters'),
  }
}

export function beginWork(tables: HotTables, regions: number): HotWork {
  return { tables, regions, viewers: new Map(), versions: beginVersions(tables.counters) }
}

export function viewerWork(work: HotWork, viewer: ViewerId): ViewerWork {
  const known = work.viewers.get(viewer)
  if (known !== undefined) return known
  const value = work.tables.viewers.getBinaryFast(plainKey(makeShelf(viewer, SETTINGS_BUSINESS), SETTINGS))
  const settings = value === undefined ? NO_SETTINGS : decodeHeldSettings(value, value.length)
  const made: ViewerWork = { viewer, region: regionOf(viewer, work.regions), settings, shelves: new Map() }
  work.viewers.set(viewer, made)
  return made
}

export function shelfWork(work: HotWork, owner: ViewerWork, business: BusinessNumber): ShelfWork {
  const known = owner.shelves.get(business)
  if (known !== undefined) return known
  const shelf = makeShelf(owner.viewer, business)
  const value = work.tables.viewers.getBinaryFast(plainKey(shelf, STATS))
  const stats =
    value === undefined ? { entries: 0, lastDay: NO_DAY, floor: undefined, trimmedAt: 0 } : decodeStats(value, value.length, business)
  const made: ShelfWork = { business, bytes: shelf.bytes, kindAt: shelf.kindAt, owner, stats, statsChanged: false }
  owner.shelves.set(business, made)
  return made
}

export function clearedAtOf(shelf: ShelfWork): number {
  return shelf.owner.settings.content.clearedAt[shelf.business] ?? 0
}

export function isVisible(shelf: ShelfWork, record: ProgressRecord): boolean {
  return !record.deleted && record.viewedAt > clearedAtOf(shelf)
}

export function readHeld(work: HotWork, shelf: ShelfWork, oid: string): Held<ProgressRecord> | undefined {
  const value = work.tables.viewers.getBinaryFast(recordKey(shelf, oid))
  return value === undefined ? undefined : decodeHeldProgress(value, value.length)
}

/** Stores a changed record in place of `held`, and marks the key dirty. */
export function storeRecord(
  work: HotWork,
  shelf: ShelfWork,
  oid: string,
  held: Held<ProgressRecord> | undefined,
  record: ProgressRecord,
  now: number,
): void {
  const isDirty = held !== undefined && held.dirtySince > 0
  const key = { viewer: shelf.owner.viewer, business: shelf.business, oid }
  if (!isDirty) void work.tables.dirty.put(dirtyMark(now, shelf.owner.region, key), NOTHING)
  replaceRecord(work, shelf, oid, held, { dirtySince: isDirty ? held.dirtySince : now, content: record })
}

/** Stores a record in place of `held`, with the given `dirtySince`, and updates the timeline. It writes no dirty mark. */
export function replaceRecord(
  work: HotWork,
  shelf: ShelfWork,
  oid: string,
  held: Held<ProgressRecord> | undefined,
  { dirtySince, content: record }: Held<ProgressRecord>,
): void {
  const { viewers } = work.tables
  void viewers.put(recordKey(shelf, oid), encodeHeldProgress(dirtySince, record))
  const listedAt = held === undefined || held.content.deleted ? undefined : held.content.viewedAt
  const listAt = record.deleted ? undefined : record.viewedAt
  if (listedAt === listAt) return
  if (listedAt !== undefined) void viewers.remove(timelineKey(shelf, listedAt, oid))
  if (listAt !== undefined) void viewers.put(timelineKey(shelf, listAt, oid), NOTHING)
  const added = (listAt === undefined ? 0 : 1) - (listedAt === undefined ? 0 : 1)
  if (added !== 0) countEntries(shelf, added)
}

/** Removes a record with its place in the timeline and its dirty mark. */
export function removeRecord(work: HotWork, shelf: ShelfWork, oid: string, held: Held<ProgressRecord>): void {
  const { viewers, dirty } = work.tables
  if (held.dirtySince > 0)
    void dirty.remove(dirtyMark(held.dirtySince, shelf.owner.region, { viewer: shelf.owner.viewer, business: shelf.business, oid }))
  if (held.content.deleted) void viewers.remove(recordKey(shelf, oid))
  else removeClean(work, shelf, { viewedAt: held.content.viewedAt, oid })
}

/** Removes a record without a dirty mark, with its place in the timeline. */
export function removeClean(work: HotWork, shelf: ShelfWork, { viewedAt, oid }: Pick<Place, 'viewedAt' | 'oid'>): void {
  const { viewers } = work.tables
  void viewers.remove(recordKey(shelf, oid))
  void viewers.remove(timelineKey(shelf, viewedAt, oid))
  countEntries(shelf, -1)
}

export function countEntries(shelf: ShelfWork, added: number): void {
  shelf.stats.entries += added
  shelf.statsChanged = true
}

/** Stores changed settings and marks them dirty. */
export function storeSettings(work: HotWork, owner: ViewerWork, content: ViewerSettings, now: number): void {
  const { dirtySince } = owner.settings
  owner.settings = { dirtySince: dirtySince > 0 ? dirtySince : now, content }
  if (dirtySince === 0) void work.tables.dirty.put(dirtyMark(now, owner.region, settingsKey(owner.viewer)), NOTHING)
  writeSettings(work, owner)
}

/** Removes the dirty mark of settings, but not the settings. */
export function cleanSettings(work: HotWork, owner: ViewerWork): void {
  void work.tables.dirty.remove(dirtyMark(owner.settings.dirtySince, owner.region, settingsKey(owner.viewer)))
  owner.settings = { dirtySince: 0, content: owner.settings.content }
  writeSettings(work, owner)
}

export function writeSettings(work: HotWork, owner: ViewerWork): void {
  const key = plainKey(makeShelf(owner.viewer, SETTINGS_BUSINESS), SETTINGS)
  void work.tables.viewers.put(key, encodeHeldSettings(owner.settings.dirtySince, owner.settings.content))
}

/** Writes back the stats and the counter. The last step of a writing call in its transaction. */
export function settle(work: HotWork): void {
  for (const owner of work.viewers.values()) {
    for (const shelf of owner.shelves.values()) {
      if (shelf.statsChanged) void work.tables.viewers.put(plainKey(shelf, STATS), encodeStats(shelf.stats))
    }
  }
  settleVersions(work.versions)
}
