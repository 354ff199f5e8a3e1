/**
 * Port: the count cache, where what the record store counted is read without asking it: counts per subject, its newest
 * likers, likes received per owner. Everything in it can be made again, and may vanish at any time; nothing in it is older
 * than something that was in it before.
 *
 * Every adapter passes `test/contracts/thumbup/count-cache.ts`. Failures surface as `HOT_STORE_UNAVAILABLE`. Every call may be
 * repeated. Counts carry versions: an older value never replaces a newer one, whatever the order of arrival.
 */
import type { BusinessNumber, MarkEntry, OwnerSum, Subject, SubjectCounts, ViewerId, CountedSubject } from '../../../core/domain.ts'

/** The newest likers of a subject, as of a version of its counts. */
export type CachedLikers = {
  version: number
  /** Newest first. */
  entries: MarkEntry[]
  /** True if these are all. */
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
  /** Keeps each unless a newer version is cached; whoever follows is told of those that changed. Zero counts are cached too. */
  putCounts(counted: readonly CountedSubject[]): Promise<void>
  getLikers(subject: Subject): Promise<CachedLikers | undefined>
  /** Unless a newer version is cached. */
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
  /** Removes everything of a business that is deleted; at most about `limit` keys. Returns how many went; 0 = done. */
  forgetCounts(business: BusinessNumber, limit: number): Promise<number>
  /** How many keys of a business are kept, COUNTED_MAX or more being that; 0 once it is forgotten. What is only in this process's memory does not count. May be slow. */
  countKept(business: BusinessNumber): Promise<number>
  /** Caches behind this one, which may be behind in what they hold: the reconciler brings them up to date. */
  readonly others?: readonly Pick<CountCache, 'getCountsMany' | 'putCounts' | 'getOwnerSums' | 'putOwnerSums'>[]
  check(): Promise<void>
  close(): Promise<void>
}
