/**
 * Port: the hot store, where a write is readable at once. It has the timelines, contents, dirty marks, settings and day flags of the
 * viewers. A viewer belongs to one region, and data of one region can change in one atomic step.
 *
 * Every adapter passes `test/contracts/history/hot-store.ts`. Failures of the store surface as `TidemarkError` with code
 * `HOT_STORE_UNAVAILABLE` (retryable) or `STORE_FULL`. A failed call may have been executed.
 *
 * Puts, and the clearing, dropping, confirming and purging calls, may be repeated at any time without further effect. Deletions, clearings
 * of history and switches mean "as of the moment of the call": if a failed call was executed, its repetition by the caller removes writes
 * made in between. An adapter may repeat them within a call after a lost answer; such repetitions remove nothing and return the first
 * answer.
 */
import type {
  BusinessNumber,
  DirtyWalk,
  Place,
  ProgressChange,
  ProgressKey,
  ProgressRecord,
  ProgressRow,
  RewardEvent,
  TimelineEntry,
  ViewerId,
  ViewerSettings,
  GapSide,
} from '../../../core/domain.ts'
import type { DayClaim } from '../../../core/rewards.ts'
import type { SettingsRow } from './record-store.ts'

export type ProgressWrite = {
  viewer: ViewerId
  business: BusinessNumber
  oid: string
  /** The record of the report. The store assigns `version` and `since`; values given here are ignored. */
  record: ProgressRecord
  /**
   * True if the record would win over anything older than itself. A write that is not decisive, or is older than the timeline's floor, can
   * be merged only with the trimmed record, if there is one.
   */
  decisive: boolean
  /** The record store's row for this key. Absent = not looked up, null = none. */
  base?: ProgressRecord | null
  /** `asOf` of the answer that asked for the base. If absent, the base is taken however old it is. */
  baseAsOf?: number
  /**
   * True if `record` and `base` are the row of the record store, to be merged with a report that was put with `base: null` during an
   * outage. Nothing new was watched, so the viewer's pause does not apply, and `since` of the record counts. If the hot store has no
   * record, there is nothing to merge with (stale).
   */
  merges?: true
} & DayClaim

export type PutOutcome =
  /**
   * Stored, visible and marked dirty. `record` is the merged result. `before` is the previous record, held or base, or a tombstone. It is
   * undefined if the key was new, or if a decisive report did not need it.
   */
  | { status: 'written'; record: ProgressRecord; before: ProgressRecord | undefined; firstOfDay: boolean }
  /**
   * A newer report, deletion or clearing is stored; nothing changed. `record` is the stored and visible record, if any. `voidUntil` is the
   * newest clearing or deletion that covers the key; 0 if there is none. A report above it and above `record` is not stale.
   * `repeated`: the report was sent twice, for example because an answer was lost. It may have been stored before it was overtaken.
   */
  | { status: 'stale'; record: ProgressRecord | undefined; voidUntil: number; repeated?: true }
  /** The viewer paused history; nothing changed. */
  | { status: 'paused' }
  /**
   * The write must be merged with a row that only the record store has. Call again with `base`, read after this answer, and `baseAsOf:
   * asOf`. Nothing changed. The answer may repeat, since an entry trimmed after `asOf` may be newer than the base. `repeated`: as above.
   */
  | { status: 'needs-base'; asOf: number; repeated?: true }

export type PutOptions = {
  /** The server's clock, ms since the epoch. */
  now: number
  /** Timeline entries kept per viewer and business. Beyond it, the oldest clean entries are trimmed with their contents. */
  timelineCap: number
}

export type DeleteOutcome = { record: ProgressRecord; existed: boolean }

/** A point lookup. `older` is set only on a miss in a truncated timeline: the record store may know more. */
export type HotLookup = { record: ProgressRecord | undefined; older: { clearedAt: number } | undefined }

export type HotPage = {
  /** Newest first, at most `limit`, all after `before`. */
  entries: TimelineEntry[]
  /**
   * One per requested business with a truncated timeline. Entries at or after `floor` in timeline order, that is as old or older, may be
   * missing here and exist in the record store. There, only entries newer than `clearedAt` count.
   */
  truncated: { business: BusinessNumber; floor: Place; clearedAt: number }[]
}

/** A change of one key. */
export type KeyChange = Extract<ProgressChange, { kind: 'put' | 'deleted' }>

/** A dirty key for the persist step. `record` is undefined if its content is missing, which is not an error. */
export type DirtyProgress = { key: ProgressKey; record: ProgressRecord | undefined }

export interface HotStore {
  /**
   * Writes each record unless a newer one exists. Per write, in order:
   *
   * 1. If the viewer paused, the write is dropped.
   * 2. If it was viewed at or before the business's clearedAt, or the merge changes nothing (`mergeProgress`), it is stale.
   * 3. Otherwise timeline entry, content and dirty mark are written; the mark keeps the time of the first unpersisted change.
   * 4. The day is claimed, if it is later than the viewer's last claimed day. A first of the day leaves a pending reward.
   *
   * After the last write the timelines are trimmed, so that a base stays valid through a call. Atomic per region; durable and readable in
   * every process when the promise resolves. Outcomes in the order of `writes`. A key may occur several times; later writes see earlier
   * ones.
   */
  putProgress(writes: readonly ProgressWrite[], options: PutOptions): Promise<PutOutcome[]>

  /**
   * Writes a tombstone per key, at the later of `now` and the stored time, removes it from the timeline, and marks it dirty. Unknown keys
   * get a tombstone too, since the record store may have them. Atomic per region. In key order.
   */
  deleteProgress(keys: readonly ProgressKey[], now: number): Promise<DeleteOutcome[]>

  /**
   * Sets the business's watermark to the later of `now` and the newest entry, empties its timeline, and marks the settings dirty. Atomic.
   * Returns the watermark.
   */
  clearProgress(viewer: ViewerId, business: BusinessNumber, now: number): Promise<number>

  /** Sets the switch and marks the settings dirty. Atomic. Returns the settings as stored. */
  setPaused(viewer: ViewerId, paused: boolean, now: number): Promise<ViewerSettings>
  getSettings(viewer: ViewerId): Promise<ViewerSettings>

  /**
   * Multi-get in key order. Tombstones and cleared records are misses. Rejects with `DamagedProgress` if the data of some keys cannot be
   * decoded; the others may then be read without them.
   */
  getProgressMany(keys: readonly ProgressKey[]): Promise<HotLookup[]>

  /** One page of the merged timelines of these businesses, strictly after `before` (undefined: from the newest). */
  listTimeline(viewer: ViewerId, businesses: readonly BusinessNumber[], before: Place | undefined, limit: number): Promise<HotPage>

  /**
   * The changes that a follower missed: visible records and tombstones of these businesses that changed after this version and are still
   * held, in order of version. Clearings are part of the settings.
   */
  listChanges(viewer: ViewerId, businesses: readonly BusinessNumber[], sinceVersion: number): Promise<KeyChange[]>

  /**
   * For the persist step: the stored records, tombstones included, dirty or not. In key order. Rejects with `DamagedProgress` as
   * `getProgressMany` does. A key also counts as damaged if its dirty mark could not be cleared: its settings or timeline are damaged.
   */
  readDirtyProgress(keys: readonly ProgressKey[]): Promise<DirtyProgress[]>
  /** For the persist step: settings of these viewers, in order. Rejects with a `DamagedProgress` that names settings keys. */
  readDirtySettings(viewers: readonly ViewerId[]): Promise<ViewerSettings[]>
  /** Removes each key's dirty mark if its version has not moved, then trims. Settings keys included. */
  clearDirty(keys: readonly { key: ProgressKey; version: number }[], timelineCap: number): Promise<void>
  /**
   * Takes over rows of the record store, tombstones included, while no other process writes. Each is merged into the held record
   * (`mergeProgress`), unless a clearing covers it. They keep their versions, from which retention counts, and later versions are higher.
   * Nothing becomes dirty, no pause applies, and followers are not notified. The timelines are then trimmed. An adapter may split the rows
   * of a region into several atomic steps, and trims after each step.
   */
  fillProgress(rows: readonly ProgressRow[], options: PutOptions): Promise<void>
  /**
   * Takes over settings of the record store, while no other process writes. A clearing that is later than the held one removes the entries
   * up to its moment, and leaves newer ones. The pause is that of the row, unless the held settings are dirty and at least as new. The
   * version is the higher of the two. Nothing becomes dirty, and followers are not notified. Atomic per viewer.
   */
  fillSettings(rows: readonly SettingsRow[], now: number): Promise<void>
  /** Removes dirty marks without content, such as those that remain after a loss of data. */
  dropDirty(keys: readonly ProgressKey[]): Promise<void>
  /**
   * Keys of these regions whose oldest unpersisted change is at or before `dirtyBefore`: at most `limit`, oldest first per region. A call
   * with the same walk, regions and bound continues after the last key of the previous call. It does not return keys again that are still
   * dirty. A page shorter than the limit ends the walk. A failed call may be repeated.
   */
  listDirty(regions: readonly number[], dirtyBefore: number, limit: number, walk?: DirtyWalk): Promise<ProgressKey[]>
  /** The number of dirty keys in all regions. */
  countDirty(): Promise<number>

  /** Rewards claimed at or before `claimedBefore` and not yet confirmed, of these regions; at most `limit`. */
  listPendingRewards(regions: readonly number[], claimedBefore: number, limit: number): Promise<RewardEvent[]>
  /** Removes rewards that the log has taken. */
  confirmRewards(rewards: readonly RewardEvent[]): Promise<void>

  /** Removes clean records and tombstones last written before this moment, at most `limit`. Returns the number removed; 0 = done. */
  purgeExpired(writtenBefore: number, limit: number): Promise<number>

  /**
   * Calls `listener` after each visible change of this viewer, made by any process, once it is readable: of progress, of the switch, and
   * of the claimed day. A claim comes after the report that made it. At most once per change; the listener must not throw. Resolves when following has begun, with a function that ends it. Following may be interrupted by a lost
   * connection: `onGap` is called before the first change after such a gap, and again when all further changes will arrive.
   */
  followProgress(viewer: ViewerId, listener: (change: ProgressChange) => void, onGap?: (side: GapSide) => void): Promise<() => void>

  /**
   * Resolves if the store answers and accepts writes; rejects with the reason otherwise. With a part: checks that part only, and rejects in
   * every state in which a write to it would fail.
   */
  check(part?: number): Promise<void>
  /**
   * The part of the store that has this viewer's data, if parts fail one by one. Calls then reject with a `PartOutage`, which lists the
   * affected viewers. If absent, the store fails as a whole.
   */
  partOf?(viewer: ViewerId): number
  close(): Promise<void>
}
