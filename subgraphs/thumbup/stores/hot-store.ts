/**
 * Port: the hot store of marks. A mark in it is readable at once. Per viewer and business it holds the newest likes and dislikes, all marks
 * that are not persisted yet, and whether that is complete. A viewer belongs to one region, and one atomic step can change everything in a
 * region.
 *
 * A viewer's marks in a business have one of three states:
 * - **unknown**: the viewer was never looked up, or their marks have left memory
 * - **complete**: a miss is NONE
 * - **truncated**: the oldest marks left, and a miss may be in the record store
 *
 * `fillMarks` makes unknown marks known. Trimming truncates them. Unpersisted marks never leave.
 *
 * Every adapter passes `test/contracts/thumbup/hot-store.ts`. Failures of the store surface as `HOT_STORE_UNAVAILABLE` (retryable, as a
 * `PartOutage` for a store in parts) or `STORE_FULL`. A failed call may still have been executed. The caller may repeat every call: a
 * repetition changes nothing.
 */
import type { BusinessNumber, DirtyWalk, Mark, MarkEntry, MarkKey, MarkPlace, MarkRecord, ViewerId } from '../../../core/domain.ts'

export type MarkWrite = {
  viewer: ViewerId
  business: BusinessNumber
  oid: string
  mark: Mark
  /** Milliseconds since the epoch. */
  markedAt: number
  /** The record store's mark of this key: absent = not looked up, null = no row. */
  base?: MarkRecord | null
  /** `asOf` of the outcome that asked for the base. */
  baseAsOf?: number
  /** True if the record store does not answer: an unknown mark counts as NONE, and the viewer stays unknown. */
  blind?: true
}

/** A viewer in a business. */
export type MarkOwner = Pick<MarkKey, 'viewer' | 'business'>

/** `unknown` and `asOf`: as in the outcome `needs-base`. */
export type ReadStart = { unknown: boolean; asOf: number }

export type MarkOutcome =
  /** `record` is stored, visible and marked dirty. If `old` equals its mark, it was a repetition and only its time moved. */
  | { status: 'written'; old: Mark; record: MarkRecord }
  /** The same mark at the same time, or an older one: nothing changed. `record` is the stored mark. `repeated`: as in `PutOutcome`. */
  | { status: 'stale'; record: MarkRecord; repeated?: true }
  /**
   * Nothing changed: only the record store knows the old mark. Call again with `baseAsOf: asOf` and a `base` that was read after this
   * outcome. `beginReads` reports in advance which viewers are unknown: a write of theirs needs a base, unless its mark is held.
   *
   * `unknown`: the viewer's marks in the business are unknown, so a fill helps all later calls. The store may ask again, since a mark
   * that left after `asOf` may be newer than the base. `repeated`: as in `PutOutcome`.
   */
  | { status: 'needs-base'; unknown: boolean; asOf: number; repeated?: true }

/** The limit of counting the remaining data of a deleted business. */
export const COUNTED_MAX = 1_000_000

export type MarkPutOptions = {
  /** The server's clock, ms since the epoch. */
  now: number
  /** Likes, and dislikes, per viewer and business. The oldest clean ones beyond it leave. */
  cap: number
}

/** The answer of the hot store for a key. */
export type HotMark = {
  /** NONE on a miss. */
  mark: Mark
  /** The mark that the record store has, and that all counts include. It differs from `mark` while a change waits. */
  counted: Mark
  /** True if the newest change is not yet persisted. */
  pending: boolean
  /** True if the store holds an undone mark, which older counts may include. Absent on a miss. */
  undone?: true
  /** On a miss: the viewer's marks in this business are unknown or truncated, so the record store may know more. */
  older?: 'unknown' | 'truncated'
}

export type HotLikes = {
  /** Newest first, at most `limit`, all after `before`. */
  entries: MarkEntry[]
  /**
   * Set unless the viewer's marks are complete. Likes at or after this place in list order may be missing here and be in the record store.
   * `null`: any like may be missing, since the marks are unknown.
   */
  floor: MarkPlace | null | undefined
}

/** A dirty key as the persist step reads it. Undefined if the store lost the mark. */
export type DirtyMark = { key: MarkKey; record: MarkRecord | undefined }

/** The result of a key in the record store: `version` is the one that was read, `record` the row as it is now. */
export type PersistedMark = { key: MarkKey; version: number; record: MarkRecord }

export type FillOptions = {
  cap: number
  /**
   * From `beginReads` or the outcome `needs-base`. If a mark of this viewer and business has left the hot store since, the fill changes
   * nothing, and resolves.
   */
  asOf: number
  /** True if `rows` are all live marks of the viewer in this business. Otherwise the oldest of them is the floor. */
  whole: boolean
}

export interface MarkStore {
  /**
   * Per write, in the order of `writes`, with later writes seeing earlier ones:
   * - An older mark than the held one, or the same mark: stale.
   * - Not held, no valid base, and the viewer unknown, truncated, or `markedAt` not after the newest dropped mark: needs-base.
   * - Otherwise the mark is stored, with its version, the counted mark, and its dirty mark. The dirty mark keeps the time of the first
   *   unpersisted change.
   *
   * `winsOver` judges a held mark, with the new version as the higher one. Of equal times the later arrival wins, unless its mark is the
   * same. The lists are trimmed after the last write. Atomic per region. Durable and readable in every process when the promise resolves.
   */
  putMarks(writes: readonly MarkWrite[], options: MarkPutOptions): Promise<MarkOutcome[]>

  /** Multi-get in key order. The number of commands grows with viewers and businesses, not with keys. */
  getMarkMany(keys: readonly MarkKey[]): Promise<HotMark[]>

  /** One page of a viewer's likes, strictly after `before` (undefined: from the newest), unpersisted ones included. */
  listLikes(viewer: ViewerId, business: BusinessNumber, before: MarkPlace | undefined, limit: number): Promise<HotLikes>

  /**
   * Reports per owner, in order, whether the marks are unknown. `asOf` is a moment of the region's own clock. Call it before rows are read
   * for `fillMarks`, or for the base of a write.
   */
  beginReads(owners: readonly MarkOwner[]): Promise<ReadStart[]>
  /**
   * Fills in from the record store: `rows` are the viewer's newest live marks of both kinds, distinct. Held marks stay as they are. Unknown
   * marks become complete or truncated. Atomic. A put of the same process that begins after this call is usually executed after the fill,
   * even if the fill is not awaited. A fill that the adapter has to repeat can come later.
   */
  fillMarks(
    viewer: ViewerId,
    business: BusinessNumber,
    rows: readonly (MarkRecord & { oid: string })[],
    options: FillOptions,
  ): Promise<void>

  /**
   * For the persist step: the records of the keys in order, NONE included, dirty or not. A clean like or dislike may have lost its version,
   * and reads as 0 here and in outcomes: every later write is newer.
   */
  readDirtyMarks(keys: readonly MarkKey[]): Promise<DirtyMark[]>
  /**
   * Removes the dirty mark of each key whose version has not moved. Takes over a row that differs, since it was newer. A
   * clean mark may have lost its version. It may then keep its value against a row of the same `markedAt`. If the version has moved, only the counted mark is noted, unless a row with a later `markedAt` is counted already. Then trims. An undone mark
   * stays as a tombstone until `purgeUndone`.
   */
  clearDirtyMarks(persisted: readonly PersistedMark[], cap: number): Promise<void>
  /** Removes dirty marks without a mark. */
  dropDirtyMarks(keys: readonly MarkKey[]): Promise<void>
  /**
   * Keys of these regions whose oldest unpersisted change is at or before `dirtyBefore`: at most `limit`, oldest first per region. Calls
   * with the same walk, regions and bound continue behind the last one, past keys that are still dirty, until one finds nothing. Their cost
   * does not grow with the number of passed keys. A failed call may be repeated.
   */
  listDirtyMarks(regions: readonly number[], dirtyBefore: number, limit: number, walk?: DirtyWalk): Promise<MarkKey[]>
  /** The number of dirty keys in all regions. */
  countDirtyMarks(): Promise<number>

  /**
   * Drops persisted tombstones of these regions that were undone at or before this moment, at most `limit`. A write at or before the
   * `markedAt` of a dropped tombstone then needs a base. Returns the number dropped; 0 = done.
   */
  purgeUndone(regions: readonly number[], undoneBefore: number, limit: number): Promise<number>
  /**
   * Removes the data of a deleted business, dirty marks included, of at most about `limit` viewers. Returns the number of removed keys; 0 =
   * done.
   */
  forgetBusiness(business: BusinessNumber, limit: number): Promise<number>
  /** The number of viewers with data of a business, at most COUNTED_MAX; 0 once it is forgotten. A walk over everything: may be slow. */
  countViewers(business: BusinessNumber): Promise<number>

  /** Resolves if the store answers and accepts writes. Rejects with the failure. With a part: checks that part only. */
  check(part?: number): Promise<void>
  /** As in the hot store of history. */
  partOf?(viewer: ViewerId): number
  close(): Promise<void>
}
