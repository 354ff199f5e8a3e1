/**
 * Port: the count cache. It answers for the record store: counts per subject, its newest likers, and likes received per owner. All of it
 * can be rebuilt, and may vanish at any time. A value never becomes older than before.
 *
 * Every adapter passes `test/contracts/thumbup/count-cache.ts`. Failures surface as `HOT_STORE_UNAVAILABLE`. Every call may be repeated.
 * Counts carry versions: an older value never replaces a newer one, in any order of arrival.
 */
import type { BusinessNumber, MarkEntry, OwnerSum, Subject, SubjectCounts, ViewerId, CountedSubject } from '../../../core/domain.ts'

/** The newest likers of a subject, as of a version of its counts. */
export type CachedLikers = {
  version: number
  /** Newest first. */
  entries: MarkEntry[]
  /** True if the list is complete. */
  whole: boolean
}

/** The subscription of one listener. It keeps nothing per subject. */
export type CountFollowing = {
  /**
   * Resolves when changes of these subjects arrive. Rejects with HOT_STORE_UNAVAILABLE if that takes too long. The subjects stay added
   * then, and `onGap` is called as soon as their changes arrive. Undo each addition with one `remove` of the same subjects.
   */
  add(subjects: readonly Subject[]): Promise<void>
  remove(subjects: readonly Subject[]): void
  /** The listener is not called again. Remaining subjects stay added. */
  stop(): void
}

export interface CountCache {
  /** Multi-get in order: one command per node. Undefined = not cached. */
  getCountsMany(subjects: readonly Subject[]): Promise<(SubjectCounts | undefined)[]>
  /** Keeps each value unless a newer version is cached. Followers get the changed ones. Zero counts are cached too. */
  putCounts(counted: readonly CountedSubject[]): Promise<void>
  getLikers(subject: Subject): Promise<CachedLikers | undefined>
  /** Keeps the value unless a newer version is cached. */
  putLikers(subject: Subject, likers: CachedLikers): Promise<void>
  getOwnerSums(
    owners: readonly { business: BusinessNumber; owner: ViewerId }[],
  ): Promise<(Pick<OwnerSum, 'likes' | 'version'> | undefined)[]>
  putOwnerSums(sums: readonly OwnerSum[]): Promise<void>
  /**
   * Reports changes of counts by any process, once subjects are added. The listener may get other subjects too, and a version twice: the
   * caller filters. Changes may be missed while a connection is lost. `onGap` is called when the connection is back.
   */
  followCounts(listener: (changed: CountedSubject) => void, onGap?: () => void): CountFollowing
  /** Removes the data of a deleted business, at most about `limit` keys. Returns the number of removed keys; 0 = done. */
  forgetCounts(business: BusinessNumber, limit: number): Promise<number>
  /**
   * The number of keys of a business, at most COUNTED_MAX; 0 once it is forgotten. Keys in this process's memory do not count. May be slow.
   */
  countKept(business: BusinessNumber): Promise<number>
  /** Caches behind this one. They may hold older values, and the reconciler updates them. */
  readonly others?: readonly Pick<CountCache, 'getCountsMany' | 'putCounts' | 'getOwnerSums' | 'putOwnerSums'>[]
  check(): Promise<void>
  close(): Promise<void>
}
