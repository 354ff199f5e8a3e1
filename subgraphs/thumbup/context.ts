/** The request context of thumbup's resolvers, and the reads they call. */
import type { ReadTenants } from '../tenant-statistics.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import type { BusinessNumber, CountedSubject, MarkPlace, Subject, ViewerId } from '../../core/domain.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { ThumbupLoaders } from '../../loaders/thumbup.ts'
import type { LikersRead } from './read/likers.ts'
import type { MarkPage } from './read/likes.ts'
import type { HotMark } from './stores/hot-store.ts'

/** The context of every request, local or standalone. */
export type ThumbupContext = {
  viewer: Viewer | undefined
  loaders: ThumbupLoaders
  /** The stores that the answer lacked. */
  degraded: Degraded
}

export type ThumbupReads = {
  tenants: ReadTenants
  /** Reads the likers of subjects of one business. */
  likers(business: BusinessNumber, ...asked: Parameters<LikersRead>): ReturnType<LikersRead>
  likes(
    viewer: ViewerId,
    business: BusinessNumber,
    before: MarkPlace | undefined,
    first: number,
    degraded: Degraded,
  ): Promise<MarkPage | null>
  /**
   * The marks as the hot store holds them, without a read of the record store: a mark that is not counted yet is always there. Empty if the
   * hot store does not answer.
   */
  heldMarks(viewer: ViewerId, subjects: readonly Subject[], degraded: Degraded): Promise<readonly HotMark[]>
  countsChanged(subjects: readonly Subject[], degraded: Degraded): Promise<AsyncIterableIterator<readonly CountedSubject[]>>
  /** Whether only chosen viewers may see the subject. */
  isRestricted(subject: Subject): boolean
  /** True if the loaders may find counts older than the current ones, as for a hot subject. */
  mayBeOld(subject: Subject): boolean
  /** True if the log of this business's stores is down. Writes still succeed then; their keys reach the record store another way. */
  isLogDown(business: BusinessNumber): boolean
}
