/**
 * Merges two marks of one key. The later `markedAt` wins. Of equal times the higher version wins, which the hot store assigns in the order
 * of arrival. The merge is commutative and idempotent, so order, repetition and batching do not matter. A repetition of the same mark at a
 * later time moves its time: a late undo from in between must lose.
 *
 * Every adapter merges inside its atomic call. The contract suites compare the adapters with this function.
 */
import type { Mark, MarkRecord, SubjectCounts } from '../../../core/domain.ts'

/** True if `incoming` replaces `stored`. */
export function winsOver(incoming: MarkRecord, stored: MarkRecord | undefined): boolean {
  if (stored === undefined || incoming.markedAt > stored.markedAt) return true
  return incoming.markedAt === stored.markedAt && incoming.version > stored.version
}

/** True if the mark is the same but was given at another time, so that the subject's list of likers has another order. */
export function movesLike(incoming: MarkRecord, stored: MarkRecord | undefined): boolean {
  return stored?.mark === 'LIKE' && incoming.mark === 'LIKE' && incoming.markedAt !== stored.markedAt
}

/** The change of a subject's counts by a transition. */
export function transitionOf(old: Mark, mark: Mark): Pick<SubjectCounts, 'likes' | 'dislikes'> {
  return {
    likes: Number(mark === 'LIKE') - Number(old === 'LIKE'),
    dislikes: Number(mark === 'DISLIKE') - Number(old === 'DISLIKE'),
  }
}
