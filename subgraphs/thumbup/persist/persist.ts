/**
 * The persist step of marks: read the dirty marks, apply them to the record store, refresh the caches, clear the unchanged dirty marks,
 * publish the events. Jobs run it per window, the sweeper for keys that no flush carried, and the service while the log is down. It is
 * idempotent.
 *
 * The order of the stages carries the guarantees.
 * 1. The record store changes rows, counts, owners' sums, offsets and its outbox in one transaction that reads the old rows. A repetition
 *    finds no transition, so nothing counts twice. All later stages may be lost and repeated.
 * 2. The caches come before the dirty marks. A viewer sees the cached count plus their own pending mark. In the other order, their like
 *    would vanish for a moment. Caches are refreshed by version, so a late older step changes nothing.
 * 3. Marks are cleared at the version that was read. After a crash before this stage, the step runs again.
 * 4. The outbox entry is dropped when both the caches and the events have its content. A repetition of the step would find nothing to
 *    publish, so a failure in 2 or 4 does not fail the step. `publishOutbox` completes it later.
 */
import { DamagedMarks } from '../model/damaged-marks.ts'
import type { BusinessNumber, MarkKey } from '../../../core/domain.ts'
import { eventsOf } from './events.ts'
import { distinctKeys } from '../../../core/progress-key.ts'
import type { CountCache } from '../stores/count-cache.ts'
import type { MarkEvents } from '../stores/events.ts'
import type { AppliedMarks, MarkChanges, MarkRecords, MarkRow, StreamOffset } from '../stores/record-store.ts'
import type { MarkStore } from '../stores/hot-store.ts'

export type MarkPersistStores = { hot: MarkStore; cache: CountCache; records: MarkRecords; events: MarkEvents }

export type MarkPersistOptions = {
  /** The `cap` of the hot store's calls, for each business. */
  capOf(business: BusinessNumber): number
  /** Keys per transaction. Minimum 1. */
  keysMax: number
  /** True for a business of these stores. A tenant may share the hot store or the record store. */
  isOurs(business: BusinessNumber): boolean
  /** Businesses whose data is removed. Their keys are left out: to forget them takes a walk over everything (`upkeep.ts`). */
  deleted: ReadonlySet<BusinessNumber>
}

export type MarkPersistReport = {
  /** Distinct keys. */
  keys: number
  rows: number
  /** Keys without a mark in the hot store: the mark was lost before it was persisted. */
  missing: number
  transitions: number
  /** Updates of a subject's counts. */
  countUpdates: number
}

/**
 * Rejects with the code of the store that failed. A repetition is safe and complete. `onLate` gets the failures that are left to the
 * outbox, and the damaged marks. Marks of a viewer whose archive is damaged stay dirty without delaying other viewers. The sweeper retries
 * them until the record store is restored.
 */
export async function persistMarks(
  stores: MarkPersistStores,
  keys: Iterable<MarkKey>,
  offsets: readonly StreamOffset[],
  options: MarkPersistOptions,
  onLate: (error: unknown) => void,
): Promise<MarkPersistReport> {
  const distinct = distinctKeys(keys).filter(({ business }) => options.isOurs(business))
  const report: MarkPersistReport = { keys: distinct.length, rows: 0, missing: 0, transitions: 0, countUpdates: 0 }
  const live = bySubject(
    distinct.filter(({ business }) => !options.deleted.has(business)),
    options.keysMax,
  )
  for (let start = 0; start === 0 || start < live.length; start += options.keysMax) {
    const chunk = live.slice(start, start + options.keysMax).sort(byViewer)
    // Only after the last chunk is everything up to the offsets persisted.
    const isLast = start + options.keysMax >= live.length
    await persistChunk(stores, chunk, isLast ? offsets : [], options, report, onLate)
  }
  return report
}

/** Groups keys by subject: a subject gets one update of its counts, or two at the end of a chunk, instead of one per chunk. */
function bySubject(keys: readonly MarkKey[], keysMax: number): readonly MarkKey[] {
  return keys.length <= keysMax ? keys : [...Map.groupBy(keys, ({ business, oid }) => `${business}:${oid}`).values()].flat()
}

/** Stores have the marks of a viewer side by side. Any order of viewers will do. */
function byViewer(a: MarkKey, b: MarkKey): number {
  if (a.viewer === b.viewer) return 0
  return a.viewer < b.viewer ? -1 : 1
}

async function persistChunk(
  stores: MarkPersistStores,
  keys: readonly MarkKey[],
  offsets: readonly StreamOffset[],
  options: MarkPersistOptions,
  report: MarkPersistReport,
  onLate: (error: unknown) => void,
): Promise<void> {
  const { hot, records } = stores
  const rows: MarkRow[] = []
  const missing: MarkKey[] = []
  if (keys.length > 0) {
    for (const { key, record } of await hot.readDirtyMarks(keys)) {
      if (record === undefined) missing.push(key)
      else rows.push({ key, record })
    }
  }
  report.missing += missing.length
  if (rows.length > 0 || offsets.length > 0) {
    const { applied, stored, changes } = await applyReadable(records, rows, offsets, onLate)
    report.rows += applied.length
    report.transitions += changes?.transitions.length ?? 0
    report.countUpdates += changes?.counts.length ?? 0
    const isCached = changes === undefined || (await succeeds(refreshCaches(stores.cache, [changes]), onLate))
    await clearDirty(hot, applied, stored, options)
    if (changes !== undefined && isCached) await succeeds(publish(stores, [changes]), onLate)
  }
  if (missing.length > 0) await hot.dropDirtyMarks(missing)
}

/** Applies all rows except those of viewers with damaged archives: their old marks are unknown. */
async function applyReadable(
  records: MarkRecords,
  rows: readonly MarkRow[],
  offsets: readonly StreamOffset[],
  onLate: (error: unknown) => void,
): Promise<AppliedMarks & { applied: readonly MarkRow[] }> {
  try {
    return { applied: rows, ...(await records.applyMarks(rows, offsets)) }
  } catch (error) {
    const readable = error instanceof DamagedMarks ? rows.filter(({ key }) => !error.concerns(key)) : rows
    if (readable.length === rows.length) throw error
    onLate(error)
    return applyReadable(records, readable, offsets, onLate)
  }
}

/** Each business has its own cap. */
async function clearDirty(
  hot: MarkStore,
  rows: readonly MarkRow[],
  stored: Awaited<ReturnType<MarkRecords['applyMarks']>>['stored'],
  options: MarkPersistOptions,
): Promise<void> {
  const persisted = rows.map(({ key, record }, index) => ({ key, version: record.version, record: stored[index] ?? record }))
  const byCap = Map.groupBy(persisted, ({ key }) => options.capOf(key.business))
  for (const [cap, some] of byCap) await hot.clearDirtyMarks(some, cap)
}

export type Changed = Pick<MarkChanges, 'counts' | 'owners'>

export async function refreshCaches(cache: CountCache, changes: readonly Changed[]): Promise<void> {
  const counts = newest(
    changes.flatMap((each) => each.counts),
    ({ business, oid }) => `${business}:${oid}`,
    ({ counts }) => counts.version,
  )
  const owners = newest(
    changes.flatMap((each) => each.owners),
    ({ business, owner }) => `${business}:${owner}`,
    ({ version }) => version,
  )
  // Waits for both, so that nothing is under way when a job has stopped.
  const puts = await Promise.allSettled([counts.length > 0 && cache.putCounts(counts), owners.length > 0 && cache.putOwnerSums(owners)])
  for (const put of puts) if (put.status === 'rejected') throw put.reason
}

export function newest<T>(items: readonly T[], textOf: (item: T) => string, versionOf: (item: T) => number): T[] {
  const byText = new Map<string, T>()
  for (const item of items) {
    const before = byText.get(textOf(item))
    if (before === undefined || versionOf(before) < versionOf(item)) byText.set(textOf(item), item)
  }
  return [...byText.values()]
}

export async function publish({ events, records }: MarkPersistStores, changes: readonly MarkChanges[]): Promise<void> {
  const all = changes.map(eventsOf)
  const [marks, counts] = [all.flatMap((each) => each.marks), all.flatMap((each) => each.counts)]
  // A change of owner has no events.
  if (marks.length + counts.length > 0) await events.appendEvents(marks, counts)
  await records.dropOutbox(changes.map((each) => each.number))
}

async function succeeds(work: Promise<unknown>, onLate: (error: unknown) => void): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    onLate(error)
    return false
  }
}
