/**
 * The counter events that posts cause. Their ids are made of the post, so a repetition counts once. A restricted post causes none: the
 * counters of its author and of its source would reveal it.
 */
import { FOLLOW_BUSINESS } from '../../../config/feed.ts'
import type { BusinessNumber } from '../../../core/domain.ts'
import type { CountEvent } from './counts.ts'
import type { Post } from './post.ts'

/** Counters of a post, with their bits (`packed/counter-schema.ts`). */
export const POST_COUNTERS = { repost: 24, comment: 20, read: 32 } as const
/** Counters of a user. Users are the subjects of the internal business of follows. */
export const USER_COUNTERS = { post: 24 } as const
export const USERS: BusinessNumber = FOLLOW_BUSINESS

/** `business`: of the posts. For a tombstone, the events of its deletion. */
export function eventsOfPost({ id, author, source, audience, deleted }: Post, business: BusinessNumber): CountEvent[] {
  if (audience !== undefined) return []
  const [prefix, delta] = deleted ? ['un', -1] : ['', 1]
  const posted: CountEvent = { id: `${prefix}post:${id}`, subject: { business: USERS, oid: author }, counter: 'post', delta }
  if (source === undefined) return [posted]
  return [posted, { id: `${prefix}repost:${id}`, subject: { business, oid: source }, counter: 'repost', delta }]
}
