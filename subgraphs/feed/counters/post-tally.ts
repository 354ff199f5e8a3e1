/**
 * The counters that posts cause, counted from the posts: `post` of each author and `repost` of each source. It holds one number per author
 * and per source.
 */
import type { BusinessNumber, Subject } from '../../../core/domain.ts'
import type { CountRow } from '../model/counts.ts'
import { eventsOfPost, USERS } from '../model/post-events.ts'
import type { Post } from '../model/post.ts'

export type PostTally = ReturnType<typeof makePostTally>

/** `business`: of the posts. */
export function makePostTally(business: BusinessNumber) {
  const tallies = new Map([USERS, business].map((number) => [number, new Map<string, number>()]))

  return {
    /** Each post once. */
    add(post: Post): void {
      for (const { subject, delta } of eventsOfPost(post, business)) {
        const tally = tallies.get(subject.business)
        tally?.set(subject.oid, (tally.get(subject.oid) ?? 0) + delta)
      }
    },

    /** The number of a subject, which is 0 from then on. */
    take(subject: Subject): number {
      const tally = tallies.get(subject.business)
      const count = tally?.get(subject.oid) ?? 0
      tally?.delete(subject.oid)
      return count
    },

    counterOf: (number: BusinessNumber): 'post' | 'repost' => (number === USERS ? 'post' : 'repost'),

    /** The subjects that were not taken. */
    *rest(): Generator<{ subject: Subject; count: number }> {
      for (const [number, tally] of tallies) for (const [oid, count] of tally) yield { subject: { business: number, oid }, count }
    },
  }
}

/** `row` with the number of the tally, which is taken. */
export function withTally(tally: PostTally, row: CountRow): CountRow {
  return { ...row, counts: { ...row.counts, [tally.counterOf(row.subject.business)]: tally.take(row.subject) } }
}
