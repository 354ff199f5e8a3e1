/**
 * The persist step of marks: read the dirty marks, apply them to the record store, refresh the caches, clear the marks that
 * have not moved, tell the world. Jobs run it per window, the sweeper for what no flush carried, the service itself when
 * the log is down: one idempotent step for all.
 *
 * The order carries the guarantees.
 * 1. The record store changes rows, counts, owners' sums, offsets and its outbox in one transaction that reads the old rows.
 *    Repeating it finds no transition, so nothing counts twice; whatever comes after it may be lost and repeated.
 * 2. The caches come before the dirty marks: a viewer sees the cached count plus what waits of his own, and the other way
 *    round his like would vanish for a moment. They are refreshed by version, so an older step that comes late does nothing.
 * 3. Marks are cleared at the version that was read. A crash before leaves them, and the step runs again.
 * 4. The outbox is dropped when both the caches and the events have what it holds. A repetition of the step would find
 *    nothing to tell, so whatever fails of 2 and 4 is made up for by `publishOutbox`, and does not fail the step.
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
  /** As in MarkPutOptions of the hot store, of each business. */
  capOf(business: BusinessNumber): number
  /** Keys one transaction takes. Minimum 1. */
  keysMax: number
  /** Is a business these stores'? The hot store, or the record store, may be shared with one that has others of its own. */
  isOurs(business: BusinessNumber): boolean
  /** Businesses whose data is removed: their keys are left out. Forgetting them is a walk over everything, and not for here. */
  deleted: ReadonlySet<BusinessNumber>
}

export type MarkPersistReport = {
  /** Distinct keys. */
  keys: number
  rows: number
  /** Keys whose mark was missing in the hot store: it was lost before it was persisted. */
  missing: number
  transitions: number
  /** Updates of a subject's counts. */
  countUpdates: number
}

/**
 * Rejects with the code of the store that failed; repeating it is safe and complete. `onLate` is told what was left to the outbox,
 * and whose marks stay dirty because what is archived of them is damaged: they hold up nobody else's, and the sweeper tries them
 * again and again, until the record store is restored.
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
    const chunk = live.slice(start, start + options.keysMax)
    // Only with the last chunk is everything up to the offsets there.
    const isLast = start + options.keysMax >= live.length
    await persistChunk(stores, chunk, isLast ? offsets : [], options, report, onLate)
  }
  return report
}

/** Keys of a subject side by side, so that it has one update of its counts, or two where a chunk ends, and not one per chunk. */
function bySubject(keys: readonly MarkKey[], keysMax: number): readonly MarkKey[] {
  return keys.length <= keysMax ? keys : [...Map.groupBy(keys, ({ business, oid }) => `${business}:${oid}`).values()].flat()
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
    if (changes !== undefined && isCached) await succeeds(tell(stores, [changes]), onLate)
  }
  if (missing.length > 0) await hot.dropDirtyMarks(missing)
}

/** Applies all rows but those of viewers whose archived marks are damaged: what stood there before is not known. */
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

/** Each business has a cap of its own. */
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
  // Both end before the step does, so that nothing is under way when a job has stopped.
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

export async function tell({ events, records }: MarkPersistStores, changes: readonly MarkChanges[]): Promise<void> {
  const all = changes.map(eventsOf)
  const [marks, counts] = [all.flatMap((each) => each.marks), all.flatMap((each) => each.counts)]
  // A change of owner has none.
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
