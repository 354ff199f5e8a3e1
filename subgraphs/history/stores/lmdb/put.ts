/**
 * Writes progress inside the call's transaction, in the order that the port promises. Also deletes, clears and pauses, since these change
 * the same data.
 */
import { ALL_BUSINESSES, type ProgressKey, type ProgressRecord, type ViewerId, type ViewerSettings } from '../../../../core/domain.ts'
import { mergeProgress } from '../../model/merge.ts'
import type { DeleteOutcome, ProgressWrite, PutOptions, PutOutcome } from '../hot-store.ts'
import { clearedAtOf, isVisible, readHeld, removeRecord, shelfWork, storeRecord, storeSettings, viewerWork } from './work.ts'
import type { HotWork, ShelfWork } from './work.ts'
import { nextVersion } from '../../../../stores/lmdb/version-counter.ts'
import { rewardKey, REWARD_TIME_BYTES } from '../../../../writeback/stores/lmdb/pending-rewards.ts'
import { allPlaces, newestEntry, trimTimelines } from './read.ts'

const PAUSED: PutOutcome = { status: 'paused' }
const claimedAtScratch = Buffer.allocUnsafeSlow(REWARD_TIME_BYTES)

export function putProgress(work: HotWork, writes: readonly ProgressWrite[], options: PutOptions): PutOutcome[] {
  const grown = new Set<ShelfWork>()
  const outcomes = writes.map((write) => putOne(work, write, options, grown))
  trimTimelines(work, grown, options.timelineCap)
  return outcomes
}

function putOne(work: HotWork, write: ProgressWrite, options: PutOptions, grown: Set<ShelfWork>): PutOutcome {
  const owner = viewerWork(work, write.viewer)
  if (owner.settings.content.paused && write.merges !== true) return PAUSED
  const shelf = shelfWork(work, owner, write.business)
  const held = readHeld(work, shelf, write.oid)
  const clearedAt = clearedAtOf(shelf)
  const since = write.merges === true ? Math.max(clearedAt, write.record.since) : clearedAt
  if (write.record.viewedAt <= clearedAt || (write.merges === true && held === undefined)) return stale(shelf, held?.content)
  if (held === undefined && needsBase(shelf, write)) return { status: 'needs-base', asOf: shelf.stats.trimmedAt }
  const stored = storedWithBase(held?.content, write.base)
  const version = nextVersion(work.versions, options.now, stored?.version ?? 0)
  const merged = mergeProgress(stored, { ...write.record, since, version, deleted: false })
  if (merged === stored) return stale(shelf, stored)
  storeRecord(work, shelf, write.oid, held, merged, options.now)
  grown.add(shelf)
  // The shelf of ALL_BUSINESSES has no records. Its stats keep the day.
  const daysOn = write.dayForAll === true ? shelfWork(work, owner, ALL_BUSINESSES) : shelf
  const firstOfDay = write.day !== undefined && claimDay(work, daysOn, write.day, options.now)
  return { status: 'written', record: merged, before: stored, firstOfDay }
}

function stale(shelf: ShelfWork, record: ProgressRecord | undefined): PutOutcome {
  const voidUntil = Math.max(clearedAtOf(shelf), record?.since ?? 0)
  return { status: 'stale', record: record !== undefined && isVisible(shelf, record) ? record : undefined, voidUntil }
}

/**
 * Only a trimmed record can be missing here, and only a decisive report above the floor wins against any trimmed record. A base that was
 * read before the last trimming may be older than a trimmed record.
 */
function needsBase(shelf: ShelfWork, write: ProgressWrite): boolean {
  const { floor, trimmedAt } = shelf.stats
  if (floor === undefined || (write.decisive && write.record.viewedAt > floor.viewedAt)) return false
  return write.base === undefined || (write.baseAsOf !== undefined && write.baseAsOf < trimmedAt)
}

function storedWithBase(held: ProgressRecord | undefined, base: ProgressRecord | null | undefined): ProgressRecord | undefined {
  if (base === undefined || base === null) return held
  return held === undefined ? base : mergeProgress(base, held)
}

/** Days are claimed in order: a late report of an earlier day earns nothing. */
function claimDay(work: HotWork, shelf: ShelfWork, day: number, now: number): boolean {
  if (day <= shelf.stats.lastDay) return false
  shelf.stats.lastDay = day
  shelf.statsChanged = true
  claimedAtScratch.writeUIntBE(now, 0, REWARD_TIME_BYTES)
  void work.tables.rewards.put(rewardKey(shelf.owner.region, shelf.owner.viewer, shelf.business, day), claimedAtScratch)
  return true
}

/** `told`: true if the deletion may have changed the viewer's history. A trimmed record may be visible in the record store. */
export function deleteProgress(work: HotWork, key: ProgressKey, now: number): { outcome: DeleteOutcome; told: boolean } {
  const shelf = shelfWork(work, viewerWork(work, key.viewer), key.business)
  const held = readHeld(work, shelf, key.oid)
  const existed = held !== undefined && isVisible(shelf, held.content)
  // Trimmed entries may lie ahead of the clock, up to the floor.
  const deletedAt = Math.max(now, held === undefined ? (shelf.stats.floor?.viewedAt ?? 0) : held.content.viewedAt)
  const record: ProgressRecord = {
    viewedAt: deletedAt,
    since: deletedAt,
    rank: 0,
    version: nextVersion(work.versions, now, held?.content.version ?? 0),
    position: 0,
    duration: 0,
    device: '',
    finished: false,
    deleted: true,
  }
  storeRecord(work, shelf, key.oid, held, record, now)
  return { outcome: { record, existed }, told: existed || (held === undefined && shelf.stats.floor !== undefined) }
}

/**
 * Contents are removed with their entries, dirty or not: all are below the watermark. It reaches the record store as part of the settings,
 * and purges the rows there. The watermark covers trimmed entries too, so the record store need not be read any more: the timeline is
 * complete again.
 */
export function clearProgress(work: HotWork, viewer: ViewerId, business: number, now: number): ViewerSettings {
  const owner = viewerWork(work, viewer)
  const shelf = shelfWork(work, owner, business)
  const newest = newestEntry(work, shelf)?.viewedAt ?? 0
  const clearedAt = Math.max(now, newest, shelf.stats.floor?.viewedAt ?? 0, clearedAtOf(shelf))
  removeUntil(work, shelf, clearedAt)
  const { paused, clearedAt: before, version } = owner.settings.content
  const settings = { paused, clearedAt: { ...before, [business]: clearedAt }, version: nextVersion(work.versions, now, version) }
  storeSettings(work, owner, settings, now)
  return settings
}

/** Removes the entries that a watermark covers. If it covers the trimmed ones too, the timeline is complete again. */
export function removeUntil(work: HotWork, shelf: ShelfWork, clearedAt: number): void {
  for (const { viewedAt, oid } of allPlaces(work, shelf)) {
    const held = viewedAt > clearedAt ? undefined : readHeld(work, shelf, oid)
    if (held !== undefined) removeRecord(work, shelf, oid, held)
  }
  const { floor } = shelf.stats
  if (floor === undefined || floor.viewedAt > clearedAt) return
  shelf.stats.floor = undefined
  shelf.statsChanged = true
}

export function setPaused(work: HotWork, viewer: ViewerId, paused: boolean, now: number): ViewerSettings {
  const owner = viewerWork(work, viewer)
  const { clearedAt, version } = owner.settings.content
  const settings = { paused, clearedAt, version: nextVersion(work.versions, now, version) }
  storeSettings(work, owner, settings, now)
  return settings
}
