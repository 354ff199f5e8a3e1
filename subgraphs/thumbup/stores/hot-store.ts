/**
 * Port: the hot store of marks, where a mark is readable at once. Per viewer and business: his newest likes and dislikes,
 * what is not yet persisted, and whether that is all there is. One viewer belongs to one region, and everything of a region
 * can be changed in one atomic step.
 *
 * A viewer's marks in a business are **unknown** (he was never looked at, or his marks have left memory), **complete** (a
 * miss is NONE), or **truncated** (the oldest left; a miss may stand in the record store). `fillMarks` makes unknown ones
 * known; trimming truncates them. What is not yet persisted never leaves.
 *
 * Every adapter passes `test/contracts/thumbup/hot-store.ts`. Failures of the store itself surface as `HOT_STORE_UNAVAILABLE`
 * (retryable; of a store in parts as a `PartOutage`) or `STORE_FULL`; a call that failed so may have been executed all the
 * same. Every call may be repeated by the caller; a repetition changes nothing.
 */
import type { BusinessNumber, Mark, MarkEntry, MarkKey, MarkPlace, MarkRecord, ViewerId } from '../../../core/domain.ts'

export type MarkWrite = {
  viewer: ViewerId
  business: BusinessNumber
  oid: string
  mark: Mark
  /** Milliseconds since the epoch. */
  markedAt: number
  /** What the record store has for this key: absent = not looked up, null = nothing there. */
  base?: MarkRecord | null
  /** `asOf` of the answer that asked for the base. */
  baseAsOf?: number
  /** True if the record store does not answer: what is not held counts as NONE, and the viewer stays unknown. */
  blind?: true
}

export type MarkOutcome =
  /** `record` is stored, visible and marked dirty. It was a repetition if `old` equals its mark: then only its time moved. */
  | { status: 'written'; old: Mark; record: MarkRecord }
  /** The same mark at the same time, or an older one: nothing changed. `record` is the stored one. `repeated`: as in `PutOutcome`. */
  | { status: 'stale'; record: MarkRecord; repeated?: true }
  /**
   * Only the record store knows the old mark: call again with `base`, read after this answer, and `baseAsOf: asOf`. Nothing
   * changed. `unknown`: nothing of this viewer and business is held; filling helps all his next calls. It may be asked again:
   * what left the hot store after `asOf` may be newer than the base. `repeated`: as in `PutOutcome`.
   */
  | { status: 'needs-base'; unknown: boolean; asOf: number; repeated?: true }

/** Nobody need know more exactly how much a business that goes still has. */
export const COUNTED_MAX = 1_000_000

export type MarkPutOptions = {
  /** The server's clock, ms since the epoch. */
  now: number
  /** Likes, and dislikes, kept per viewer and business. The oldest clean ones beyond it leave. */
  cap: number
}

/** What the hot store says about a key. */
export type HotMark = {
  /** NONE on a miss. */
  mark: Mark
  /** The mark that the record store, and so every count, has of this key: differs from `mark` while a change waits. */
  counted: Mark
  /** True if the newest change is not yet persisted. */
  pending: boolean
  /** True if nothing is marked and that is held, as a mark that was undone: counts of before may have it. Absent on a miss. */
  undone?: true
  /** On a miss: the viewer's marks in this business are unknown or truncated, so the record store may know more. */
  older?: 'unknown' | 'truncated'
}

export type HotLikes = {
  /** Newest first, at most `limit`, all after `before`. */
  entries: MarkEntry[]
  /**
   * Set unless the viewer's marks are complete: likes at or after this place (in list order: that or older) may be missing
   * here and stand in the record store. `null`: any may, his marks are unknown.
   */
  floor: MarkPlace | null | undefined
}

/** A dirty key as the persist step reads it; undefined if nothing is held (a lost hot store leaves such). */
export type DirtyMark = { key: MarkKey; record: MarkRecord | undefined }

/** A walk over dirty marks: an empty object, in which the store notes where it goes on. */
export type DirtyWalk = { place?: unknown }

/** What became of a key in the record store: `version` is the one that was read, `record` the row as it is now. */
export type PersistedMark = { key: MarkKey; version: number; record: MarkRecord }

export type FillOptions = {
  cap: number
  /** `asOf` of `beginFill`. Filling is refused (nothing changes) if something of this viewer and business left the hot store since. */
  asOf: number
  /** True if `rows` are all live marks of the viewer in this business. Otherwise the oldest of them is his floor. */
  whole: boolean
}

export interface MarkStore {
  /**
   * Per write, in order: older than what is held, or the same → stale; not held and (unknown, truncated, or `markedAt` at or
   * before what was ever dropped) and no valid base → needs-base; else the entry, its version, what was counted before, and
   * the dirty mark (the time of the first unpersisted change is kept). A held entry is judged by `winsOver`, with the new
   * version as the higher one: of equal times the later arrival wins, unless its mark is the same. After the last write the
   * lists are trimmed. Atomic per region; durable and readable in every process when the promise resolves. In the order of
   * `writes`; later ones see earlier ones.
   */
  putMarks(writes: readonly MarkWrite[], options: MarkPutOptions): Promise<MarkOutcome[]>

  /** Multi-get in key order: one command per viewer and business, whatever the number of keys. */
  getMarkMany(keys: readonly MarkKey[]): Promise<HotMark[]>

  /** One page of a viewer's likes, strictly after `before` (undefined: from the newest). Unpersisted ones included. */
  listLikes(viewer: ViewerId, business: BusinessNumber, before: MarkPlace | undefined, limit: number): Promise<HotLikes>

  /** A moment of the region's own clock, to be taken before the rows for `fillMarks` are read. */
  beginFill(viewer: ViewerId, business: BusinessNumber): Promise<number>
  /**
   * Brings in what the record store has: `rows` are the viewer's newest live marks of both kinds, distinct. What is held
   * already is not touched, what is unknown becomes complete or truncated. Atomic.
   */
  fillMarks(
    viewer: ViewerId,
    business: BusinessNumber,
    rows: readonly (MarkRecord & { oid: string })[],
    options: FillOptions,
  ): Promise<void>

  /**
   * For the persist step: records as they are, NONE included, dirty or not. In key order. A clean like or dislike may have lost
   * its version and read as 0, here and in outcomes: it is older than anything that is written from then on.
   */
  readDirtyMarks(keys: readonly MarkKey[]): Promise<DirtyMark[]>
  /**
   * Removes each key's dirty mark if its version has not moved since, and takes over the row if that is another (something
   * newer was there); if the version has moved, only notes what is counted now, unless a row of a later `markedAt` is: then this
   * clearing comes late. Then trims. An undone mark stays as a tombstone until `purgeUndone`.
   */
  clearDirtyMarks(persisted: readonly PersistedMark[], cap: number): Promise<void>
  /** Removes dirty marks whose entry is missing. */
  dropDirtyMarks(keys: readonly MarkKey[]): Promise<void>
  /**
   * Keys of these regions whose oldest unpersisted change is at or before `dirtyBefore`; at most `limit`, oldest first per region.
   * Calls with the same walk, regions and bound go on where the last one stopped, past what is still dirty, in time that does not
   * grow with it, until one finds nothing. One that failed may be repeated.
   */
  listDirtyMarks(regions: readonly number[], dirtyBefore: number, limit: number, walk?: DirtyWalk): Promise<MarkKey[]>
  /** How many keys are dirty in all regions. */
  countDirtyMarks(): Promise<number>

  /**
   * Drops tombstones that were persisted, and undone at or before this moment, of these regions; at most `limit`. A write at or
   * before the `markedAt` of what was dropped then needs a base. Returns how many went; 0 = done.
   */
  purgeUndone(regions: readonly number[], undoneBefore: number, limit: number): Promise<number>
  /** Removes everything of a business that is deleted, dirty marks included; at most about `limit` viewers. Returns how many keys went; 0 = done. */
  forgetBusiness(business: BusinessNumber, limit: number): Promise<number>
  /** Of how many viewers anything of a business is held, COUNTED_MAX or more being that; 0 once it is forgotten. A walk over everything: may be slow. */
  countViewers(business: BusinessNumber): Promise<number>

  /** Resolves if the store answers and takes writes; rejects with what is wrong. With a part: of that part only. */
  check(part?: number): Promise<void>
  /** As in the hot store of history. */
  partOf?(viewer: ViewerId): number
  close(): Promise<void>
}
