/** The lists that have a post: the outbox of its author if everybody may see it, else the inboxes of its recipients. */
import type { ViewerId } from '../../../core/domain.ts'
import { recipientsOf, type Post } from '../model/post.ts'

export function isListed(post: Pick<Post, 'audience' | 'deleted'> | undefined): boolean {
  return post !== undefined && !post.deleted && post.audience === undefined
}

/** The viewers whose inboxes change when `next` replaces `stored`. */
export function inboxesOf(stored: Post | undefined, next: Post): { added: ViewerId[]; removed: ViewerId[] } {
  const before = recipientsNow(stored)
  const after = recipientsNow(next)
  return {
    added: [...after].filter((viewer) => !before.has(viewer)),
    removed: [...before].filter((viewer) => !after.has(viewer)),
  }
}

function recipientsNow(post: Post | undefined): Set<ViewerId> {
  return new Set(post === undefined || post.deleted ? [] : recipientsOf(post))
}
