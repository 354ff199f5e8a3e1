/** The request context of thumbup's resolvers, and the reads they call. */
import type { Degraded } from '../../core/outage/degraded.ts'
import type { BusinessNumber, CountedSubject, MarkPlace, Subject, ViewerId } from '../../core/domain.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { ThumbupLoaders } from '../../loaders/thumbup.ts'
import type { LikersRead } from './read/likers.ts'
import type { MarkPage } from './read/likes.ts'

/** What every request brings along, local or standalone. */
export type ThumbupContext = {
  viewer: Viewer | undefined
  loaders: ThumbupLoaders
  /** The stores that the answer lacked. */
  degraded: Degraded
}

export type ThumbupReads = {
  /** All of one business. */
  likers(business: BusinessNumber, ...asked: Parameters<LikersRead>): ReturnType<LikersRead>
  likes(
    viewer: ViewerId,
    business: BusinessNumber,
    before: MarkPlace | undefined,
    first: number,
    degraded: Degraded,
  ): Promise<MarkPage | null>
  countsChanged(subjects: readonly Subject[], degraded: Degraded): Promise<AsyncIterableIterator<readonly CountedSubject[]>>
  /** Might the counts that loaders find be older than what was counted by now? Of a hot subject they may. */
  mayBeOld(subject: Subject): boolean
  /** Of the stores of this business. A write is as good as ever then; that it is persisted another way is all there is to say. */
  isLogDown(business: BusinessNumber): boolean
}
