/**
 * The keys of cached values. A change in the hot store is noted under the key of the value that it makes old. The first letter is the class.
 *
 *   h<author>  the head of an outbox: its newest ids
 *   o<author>  the outbox: more of its newest ids. Noted changes of an outbox have the key of the head
 *   i<viewer>  the inbox and the filter words of a viewer
 *   c<post>    the content of a post
 *   g<viewer>  whom a viewer follows
 */
import type { ViewerId } from '../../../core/domain.ts'
import type { PostId } from '../packed/post-id.ts'

export const headKey = (author: ViewerId): string => `h${author}`
export const outboxKey = (author: ViewerId): string => `o${author}`
export const inboxKey = (viewer: ViewerId): string => `i${viewer}`
export const contentKey = (id: PostId): string => `c${id}`
export const graphKey = (viewer: ViewerId): string => `g${viewer}`
