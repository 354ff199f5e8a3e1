/**
 * Port: the traces of a viewer in the stores of marks, for `write/erasure.ts`. The stores of marks know a viewer as the one who marks, as
 * the owner of subjects, and, in the business of follows, as a subject.
 */
import type { BusinessNumber, MarkKey, Subject, ViewerId } from '../../../core/domain.ts'

export interface MarkHotTraces {
  /** Removes all marks of the viewer in a business, persisted or not. Atomic. Returns the number of removed entries. */
  forget(viewer: ViewerId, business: BusinessNumber): Promise<number>
  count(viewer: ViewerId, business: BusinessNumber): Promise<number>
  /** Drops persisted tombstones of these keys. */
  dropUndone(keys: readonly MarkKey[], undoneBefore: number): Promise<void>
}

/** The caches of counts, likers and likes received. */
export interface MarkCacheTraces {
  /** Removes the cached likers of these subjects. */
  forgetLikers(subjects: readonly Subject[]): Promise<void>
  /** Removes the likes received by this owner. */
  forgetOwner(business: BusinessNumber, owner: ViewerId): Promise<number>
  /** Removes everything cached of this subject. */
  forgetSubject(subject: Subject): Promise<number>
  /** The number of cached values under these two. */
  count(viewer: ViewerId, business: BusinessNumber): Promise<number>
}

/** The tombstones of a viewer, or of all viewers for a subject. */
export type UndoneMarks = { business: BusinessNumber } & ({ viewer: ViewerId } | { oid: string })

export interface MarkRecordTraces {
  /**
   * Removes up to `limit` tombstones up to this version, with the archived marks that they cover, in one transaction. Returns their keys;
   * none = done.
   */
  eraseUndone(of: UndoneMarks, upToVersion: number, limit: number): Promise<MarkKey[]>
  /** Forgets the owner of all their subjects, and their sum. Returns the number of changed entries. */
  eraseOwner(business: BusinessNumber, owner: ViewerId): Promise<number>
  /** Removes the counts of a subject that has no marks. */
  eraseCounts(subject: Subject): Promise<number>
  /** The entries of the viewer in a business: marks, tombstones, blocks, owned subjects, sums; and, as a subject, counts and tombstones. */
  count(viewer: ViewerId, business: BusinessNumber): Promise<number>
  /** The same as a subject. */
  countSubject(subject: Subject): Promise<number>
}

export type MarkTraces = { hot: MarkHotTraces; cache: MarkCacheTraces; records: MarkRecordTraces }
