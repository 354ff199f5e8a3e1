/**
 * How two marks of one key become one: the later `markedAt` wins, and of equal times the higher version, which the hot
 * store hands out in the order of arrival. Commutative and idempotent, so any order, repetition and batching ends alike.
 * A repetition of the same mark at a later time moves its time: an undo from between the two, that arrives late, must lose.
 *
 * Every adapter does this inside its atomic call; the contract suites compare them with this function. A leaf.
 */
import type { Mark, MarkRecord, SubjectCounts } from '../../../core/domain.ts'

/** True if `incoming` replaces `stored`. */
export function winsOver(incoming: MarkRecord, stored: MarkRecord | undefined): boolean {
  if (stored === undefined || incoming.markedAt > stored.markedAt) return true
  return incoming.markedAt === stored.markedAt && incoming.version > stored.version
}

/** True if a subject's list of likers has another order though the mark is the same: it was liked again, at another time. */
export function movesLike(incoming: MarkRecord, stored: MarkRecord | undefined): boolean {
  return stored?.mark === 'LIKE' && incoming.mark === 'LIKE' && incoming.markedAt !== stored.markedAt
}

/** What a transition does to a subject's counts. */
export function transitionOf(old: Mark, mark: Mark): Pick<SubjectCounts, 'likes' | 'dislikes'> {
  return {
    likes: Number(mark === 'LIKE') - Number(old === 'LIKE'),
    dislikes: Number(mark === 'DISLIKE') - Number(old === 'DISLIKE'),
  }
}
