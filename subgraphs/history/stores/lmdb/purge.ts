/**
 * Retention in the hot store: removes clean records and tombstones last written before a moment, and counts and claimed days that nothing
 * needs any more. The table is scanned in steps outside the write lock. The transaction that removes the records examines them again.
 *
 * There is no index by time of writing: every write would move an entry, while a purge runs once an hour.
 */
import { saysDamaged } from '../../../../core/errors.ts'
import { unpackId } from '../../../../core/keys.ts'
import { VERSIONS_PER_MS } from '../../../../core/version.ts'
import type { Environment } from '../../../../stores/lmdb/environment.ts'
import { beginWork, readHeld, removeRecord, settle, shelfWork, viewerWork } from './work.ts'
import type { HotTables, HotWork, ShelfWork } from './work.ts'
import { decodeHeldProgress, decodeStats, readDirtySince, type Stats } from './values.ts'
import { makeFinder, type Entry } from '../../../../stores/lmdb/scan.ts'
import { RECORD, STATS, plainKey, readViewerKey } from '../../../../stores/lmdb/viewer-keys.ts'

const DAY_MS = 86_400_000

/** Returns `purgeExpired` of the port. */
export function makeHotPurge(environment: Environment, tables: HotTables) {
  const find = makeFinder(environment, tables.viewers, isExpired)

  return async (writtenBefore: number, limit: number): Promise<number> => {
    for (;;) {
      const found = await find(writtenBefore, limit)
      if (found.length === 0) return 0
      const removed = await environment.writeToFree(() => removeExpired(beginWork(tables, environment.regions), found, writtenBefore))
      if (removed > 0) return removed
    }
  }
}

function isExpired({ key, value }: Entry, writtenBefore: number): boolean {
  const { kind, business } = readViewerKey(key)
  return unlessDamaged(() => {
    if (kind === STATS) return isOver(decodeStats(value, value.length, business), writtenBefore)
    if (kind !== RECORD || readDirtySince(value) > 0) return false
    return decodeHeldProgress(value, value.length).content.version < writtenBefore * VERSIONS_PER_MS
  })
}

/** Damaged values stay, and do not stop the purge of others. */
function unlessDamaged(examine: () => boolean): boolean {
  try {
    return examine()
  } catch (error) {
    if (!saysDamaged(error)) throw error
    return false
  }
}

function removeExpired(work: HotWork, keys: readonly Buffer[], writtenBefore: number): number {
  let removed = 0
  for (const key of keys) if (unlessDamaged(() => removeOne(work, key, writtenBefore))) removed += 1
  settle(work)
  return removed
}

/** True if a record was removed. */
function removeOne(work: HotWork, key: Buffer, writtenBefore: number): boolean {
  const { viewer, business, kind, restAt } = readViewerKey(key)
  const shelf = shelfWork(work, viewerWork(work, viewer), business)
  if (kind === STATS) {
    dropStats(work, shelf, writtenBefore)
    return false
  }
  const oid = unpackId(key, restAt)
  const held = readHeld(work, shelf, oid)
  if (held === undefined || held.dirtySince > 0 || held.content.version >= writtenBefore * VERSIONS_PER_MS) return false
  removeRecord(work, shelf, oid, held)
  dropStats(work, shelf, writtenBefore)
  return true
}

/** Removes the counts of an expired timeline. Otherwise they would stay for ever. */
function dropStats(work: HotWork, shelf: ShelfWork, writtenBefore: number): void {
  if (!isOver(shelf.stats, writtenBefore)) return
  void work.tables.viewers.remove(plainKey(shelf, STATS))
  shelf.statsChanged = false
}

/**
 * Whether nothing needs the counts: there are no entries, trimmed ones have expired in the record store too, and the last claimed day is
 * over. Retention is a day or more, and no time zone is further from UTC.
 */
function isOver({ entries, lastDay, floor, trimmedAt }: Stats, writtenBefore: number): boolean {
  const isTrimmed = floor !== undefined && trimmedAt >= writtenBefore * VERSIONS_PER_MS
  return entries === 0 && !isTrimmed && (lastDay + 1) * DAY_MS <= writtenBefore
}
