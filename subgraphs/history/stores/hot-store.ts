/**
 * Port: the hot store, where a write is readable at once. Timelines, contents, dirty marks, settings and day flags of
 * the viewers; one viewer belongs to one region, and everything of a region can be changed in one atomic step.
 *
 * Every adapter passes `test/contracts/history/hot-store.ts`. Failures of the store itself surface as `TidemarkError` with code
 * `HOT_STORE_UNAVAILABLE` (retryable) or `STORE_FULL`; a call that failed so may have been executed all the same.
 *
 * Who repeats a call: putting, clearing dirty marks, dropping, confirming and purging may be repeated at any time, and a
 * repetition changes nothing. Deleting, clearing and pausing mean "as of the moment of the call": what somebody wrote after
 * a failed call that was executed, its repetition by the caller removes. Repetitions that an adapter makes by itself within
 * a call, because an answer was lost, remove nothing of that and bring the first answer.
 */
import type {
  BusinessNumber,
  Place,
  ProgressChange,
  ProgressKey,
  ProgressRecord,
  RewardEvent,
  TimelineEntry,
  ViewerId,
  ViewerSettings,
  GapSide,
} from '../../../core/domain.ts'

export type ProgressWrite = {
  viewer: ViewerId
  business: BusinessNumber
  oid: string
  /** What the report says. `version` and `since` are assigned by the store, whatever stands here. */
  record: ProgressRecord
  /**
   * True if the record would win over anything older than itself. A write that is not decisive, or older than the
   * timeline's floor, needs the record that was trimmed before it can be merged.
   */
  decisive: boolean
  /** What the record store has for this key: absent = not looked up, null = nothing there. */
  base?: ProgressRecord | null
  /** `asOf` of the answer that asked for the base. Absent: the base is taken as it is, however old. */
  baseAsOf?: number
  /**
   * True if `record` and `base` are what the record store has, to be merged with a report that was put with `base: null` while
   * it was down. Nothing new was watched: so the viewer's pause is no obstacle, `since` of the record counts, and where
   * nothing is held there is nothing to merge with (stale).
   */
  merges?: true
  /** The day (UTC, days since the epoch) to claim as the viewer's first of this business; absent = do not check. */
  day?: number
}

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
  /** The viewer paused his history; nothing changed. */
  | { status: 'paused' }
  /**
   * Only the record store knows what this must be merged with: call again with `base`, read after this answer, and
   * `baseAsOf: asOf`. Nothing changed. It may be asked again: what was trimmed after `asOf` may be newer than the base.
   * `repeated`: as above.
   */
  | { status: 'needs-base'; asOf: number; repeated?: true }

export type PutOptions = {
  /** The server's clock, ms since the epoch. */
  now: number
  /** Timeline entries kept per viewer and business. The oldest clean ones beyond it leave, with their contents. */
  timelineCap: number
}

export type DeleteOutcome = { record: ProgressRecord; existed: boolean }

/** A point lookup. `older` is set only on a miss in a truncated timeline: the record store may know more. */
export type HotLookup = { record: ProgressRecord | undefined; older: { clearedAt: number } | undefined }

export type HotPage = {
  /** Newest first, at most `limit`, all after `before`. */
  entries: TimelineEntry[]
  /**
   * One per asked business whose timeline was truncated: entries at or after `floor` (in timeline order: that or older)
   * may be missing here and stand in the record store, where only those newer than `clearedAt` count.
   */
  truncated: { business: BusinessNumber; floor: Place; clearedAt: number }[]
}

/** A change of one key. */
export type KeyChange = Exclude<ProgressChange, { kind: 'cleared' }>

/** A dirty key as the persist step reads it. `record` is undefined if its content is missing (explained, not fatal). */
export type DirtyProgress = { key: ProgressKey; record: ProgressRecord | undefined }

export interface HotStore {
  /**
   * Writes each record unless something newer exists; per write, in order: paused → dropped; viewed at or before the
   * business's clearedAt, or merged to no change (`mergeProgress`) → stale; else timeline entry, content and dirty mark
   * (the time of the first unpersisted change is kept), then the day flag (a first of the day leaves a
   * pending reward); after the last write the timelines are trimmed, so that a base stays true through a call. Atomic per region; durable and readable in every process when the promise resolves.
   * Outcomes in the order of `writes`. A key may occur several times; later ones see earlier ones.
   */
  putProgress(writes: readonly ProgressWrite[], options: PutOptions): Promise<PutOutcome[]>

  /**
   * Writes a tombstone per key, at `max(now, what is stored)`, removes it from the timeline, marks it dirty.
   * A tombstone is written for unknown keys too: the record store may hold them. Atomic per region. In key order.
   */
  deleteProgress(keys: readonly ProgressKey[], now: number): Promise<DeleteOutcome[]>

  /**
   * Sets the business's watermark to `max(now, the newest entry)`, empties its timeline, marks the settings dirty.
   * Atomic. Returns the watermark.
   */
  clearProgress(viewer: ViewerId, business: BusinessNumber, now: number): Promise<number>

  /** Sets the switch and marks the settings dirty. Atomic. Returns the settings as stored. */
  setPaused(viewer: ViewerId, paused: boolean, now: number): Promise<ViewerSettings>
  getSettings(viewer: ViewerId): Promise<ViewerSettings>

  /** Multi-get in key order. Tombstones and cleared records are misses. */
  getProgressMany(keys: readonly ProgressKey[]): Promise<HotLookup[]>

  /** One page of the merged timelines of these businesses, strictly after `before` (undefined: from the newest). */
  listTimeline(viewer: ViewerId, businesses: readonly BusinessNumber[], before: Place | undefined, limit: number): Promise<HotPage>

  /**
   * What a follower missed: visible records and tombstones of these businesses that changed after this version and are
   * still held, in order of version. Clearings are the settings'.
   */
  listChanges(viewer: ViewerId, businesses: readonly BusinessNumber[], sinceVersion: number): Promise<KeyChange[]>

  /** For the persist step: records as they are, tombstones included, dirty or not. In key order. */
  readDirtyProgress(keys: readonly ProgressKey[]): Promise<DirtyProgress[]>
  /** For the persist step: settings of these viewers, in order. */
  readDirtySettings(viewers: readonly ViewerId[]): Promise<ViewerSettings[]>
  /** Removes each key's dirty mark if its version has not moved since; then trims. Settings keys included. */
  clearDirty(keys: readonly { key: ProgressKey; version: number }[], timelineCap: number): Promise<void>
  /** Removes dirty marks whose content is missing (what a lost hot store leaves behind). */
  dropDirty(keys: readonly ProgressKey[]): Promise<void>
  /** Keys of these regions whose oldest unpersisted change is at or before `dirtyBefore`; at most `limit`, oldest first per region. */
  listDirty(regions: readonly number[], dirtyBefore: number, limit: number): Promise<ProgressKey[]>
  /** How many keys are dirty in all regions. */
  countDirty(): Promise<number>

  /** Rewards claimed at or before `claimedBefore` and not yet confirmed, of these regions; at most `limit`. */
  listPendingRewards(regions: readonly number[], claimedBefore: number, limit: number): Promise<RewardEvent[]>
  /** The log has them. */
  confirmRewards(rewards: readonly RewardEvent[]): Promise<void>

  /** Removes clean records (and tombstones) last written before this moment, at most `limit`. Returns how many went; 0 = done. */
  purgeExpired(writtenBefore: number, limit: number): Promise<number>

  /**
   * Calls `listener` after each visible change of this viewer, made by any process, once it is readable. At most once
   * per change; a listener that throws is the caller's bug. Resolves when following has begun; returns how to stop.
   * Following may be interrupted, by a connection that is lost: `onGap` is called before the first change behind such a gap,
   * and again when everything behind it will come.
   */
  followProgress(viewer: ViewerId, listener: (change: ProgressChange) => void, onGap?: (side: GapSide) => void): Promise<() => void>

  /**
   * Resolves if the store answers and takes writes; rejects with what is wrong. With a part: of that part only, and in
   * whatever state of it a write would fail.
   */
  check(part?: number): Promise<void>
  /**
   * The part of the store that this viewer's data is in, where parts fail one by one; then calls reject with a `PartOutage`
   * that says whom it concerns. Absent: the store fails as a whole.
   */
  partOf?(viewer: ViewerId): number
  close(): Promise<void>
}
