/**
 * The invariants of the feed. Each has a name, which its message begins with:
 *
 *   invented   a shown post was published, with these contents
 *   audience   a restricted post is shown to its audience and its author alone
 *   deleted    a reader that begins after a deletion does not show the post
 *   followed   a home feed has posts of followed authors and of the viewer's inbox alone
 *   words      a home feed has no post with a filter word of the viewer
 *   missing    a page has every post that was published before it began, between its cursor and its end
 *   scroll     a scroll skips no post, repeats none, and has them newest first
 *   key        a client key has one post
 *   healthy    an answer names only stores that were down; a call fails only if one was
 *   lists      a list of follows is the last one
 *   counts     counts equal events
 *   quiet      after quiet the record store has everything, and nothing waits
 *
 * A change that is under way may be seen or not. While an answer names a store, only what its values may be is checked: what was down may be
 * older or missing.
 */
import type { ViewerId } from '../../../core/domain.ts'
import type { ErrorCode } from '../../../core/errors.ts'
import { UNAVAILABLE, type Degraded } from '../../../core/outage/degraded.ts'
import type { Post } from '../../../subgraphs/feed/model/post.ts'
import { Violation, type Fail } from '../violation.ts'
import type { FeedObserver } from './model-hot.ts'
import { makePageRules } from './page-rules.ts'
import { makeTruths } from './truth.ts'

export type FeedChecker = ReturnType<typeof makeFeedChecker>

/** `mayLack`: a store with this code may have been down for a call that began at this time. */
export function makeFeedChecker(mayLack: (code: ErrorCode, beganAt: number) => boolean) {
  const truths = makeTruths()
  let failure: Violation | undefined
  const fail: Fail = (message, viewer) => {
    failure ??= new Violation(message, viewer)
  }

  const observer: FeedObserver = {
    published(post) {
      const key = truths.keyText(post)
      const known = truths.idsOfKeys.get(key)
      if (known !== undefined) fail(`key: ${post.author}'s key ${post.clientKey} made post ${post.id} after ${known}`, post.author)
      truths.idsOfKeys.set(key, post.id)
      truths.published(post)
    },
    deleted: truths.deleted,
    wordsSet: truths.wordsSet,
  }

  function checkFollowed(viewer: ViewerId, user: ViewerId, isShown: boolean, since: number): void {
    if (!truths.followedSince(viewer, user, since).includes(isShown))
      fail(`lists: ${viewer} is shown ${isShown ? 'with' : 'without'} the follow of ${user}`, viewer)
  }

  function checkDegraded(degraded: Degraded, beganAt: number, what: string, viewer: ViewerId): void {
    for (const store of degraded)
      if (!mayLack(UNAVAILABLE[store], beganAt)) fail(`healthy: ${what} lacks the ${store}, which was not down`, viewer)
  }

  return {
    truths,
    observer,
    fail,
    failure: () => failure,
    mayLack,
    ...makePageRules(truths, fail),
    checkFollowed,
    checkDegraded,
    /** The answer of a publication. */
    checkPublished(viewer: ViewerId, key: string, post: Post): void {
      const known = truths.idsOfKeys.get(truths.keyText({ author: viewer, clientKey: key }))
      if (post.id !== known) fail(`key: ${viewer}'s key ${key} was answered with ${post.id}, not ${known}`, viewer)
      truths.acknowledged(post.id)
    },
  }
}
