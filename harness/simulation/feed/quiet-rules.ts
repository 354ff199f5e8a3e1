/**
 * The rules after quiet: the record store alone has every post, every deletion and the filter words. Nothing waits anywhere. Inboxes and
 * outboxes of the record store are those of the facts.
 */
import type { ViewerId } from '../../../core/domain.ts'
import type { FeedChecker } from './checker.ts'
import type { FeedWorldStores } from './ports.ts'
import { nameOf, type PostFact } from './truth.ts'

export function checkFeedQuiet(
  { truths, fail }: FeedChecker,
  { hot, records, log, marks }: FeedWorldStores,
  viewers: readonly ViewerId[],
): void {
  if (log.lag() + marks.log.lag() > 0) fail(`quiet: ${log.lag() + marks.log.lag()} messages are not committed`, undefined)
  const dirty = hot.state.countDirty() + marks.hot.countDirtyMarks()
  if (dirty > 0) fail(`quiet: ${dirty} keys are still dirty`, undefined)
  for (const fact of truths.posts.values()) checkPost(fact)
  for (const viewer of viewers) checkViewer(viewer)

  function checkPost({ post, deletedAt }: PostFact): void {
    const row = records.rows.posts.get(post.id)
    if (row === undefined) {
      // The row of a deleted post is removed after its time.
      if (deletedAt === undefined) fail(`quiet: ${nameOf(post)} is not in the record store`, post.author)
      return
    }
    if (row.deleted !== (deletedAt !== undefined))
      fail(`quiet: ${nameOf(post)} is stored as ${row.deleted ? 'a tombstone' : 'a post'}`, post.author)
    const { text, source, audience } = row
    if (!row.deleted && JSON.stringify([text, source, audience]) !== JSON.stringify([post.text, post.source, post.audience]))
      fail(`quiet: ${nameOf(post)} is stored with other contents`, post.author)
  }

  function checkViewer(viewer: ViewerId): void {
    const stored = records.rows.words.get(viewer)?.words
    const words = truths.wordsNow(viewer)
    if (JSON.stringify(stored) !== JSON.stringify(words))
      fail(`quiet: the words of ${viewer} are stored as ${JSON.stringify(stored)}, not ${JSON.stringify(words)}`, viewer)
  }
}
