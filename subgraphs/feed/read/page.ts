/**
 * Pages of posts: the home feed of a viewer, and the posts of a user.
 *
 *   1. The follow list of the viewer, and the changes since this process's last question (`freshness.ts`).
 *   2. The inbox of the viewer with their filter words, in one read.
 *   3. The newest ids of all authors: from the memory of this process, or with their heads in one multi-get.
 *   4. The merge, from the cursor down. It reads sections of the authors that can be on the page (`walk.ts`). A page without a cursor leaves out posts that
 *      were published after the question of 1. They are above all that it shows, and wait there.
 *   5. The contents of a page of ids, in one multi-get.
 *   6. Posts that are deleted, for other viewers, or have a filter word are replaced by the next ones of the merge.
 *
 * Authors, source posts, marks and counts are fields of other resolvers and subgraphs, one batch each.
 */
import type { ViewerId } from '../../../core/domain.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { contentKey, inboxKey } from '../model/cache-keys.ts'
import { decodePostCursor, encodePostCursor, type PostListName } from '../model/cursors.ts'
import { maySee, type Post } from '../model/post.ts'
import { makeWordFilter } from '../packed/filter-words.ts'
import { tickOf, type PostId } from '../packed/post-id.ts'
import type { Contents } from './contents.ts'
import type { Freshness, Moment } from './freshness.ts'
import type { Sections } from './sections.ts'
import { makeWalk, type WalkAsked, type Walked } from './walk.ts'

export type PostPage = {
  edges: { cursor: string; post: Post }[]
  hasNextPage: boolean
  /** The cursor of the next page. After many dropped posts it is below the last edge; undefined if the page is empty and the last one. */
  endCursor: string | undefined
}

/** `first`: 1 to 100. `after`: a cursor of the same list. `asOf`: the page knows all changes from before; by default, from before the call. */
export type PageAsked = { first: number; after: string | undefined; asOf?: Moment | undefined }

/** A list as a page reads it. */
type Range = Omit<WalkAsked, 'isShown' | 'isReached'> & { asOf?: Moment | undefined }

/** The part of the follow graph that pages need. */
export type FollowList = {
  /** The users that this viewer follows. Null: no store answers. */
  following(viewer: ViewerId, degraded: Degraded): Promise<readonly ViewerId[] | null>
}

export type Pages = {
  /** Null if no store answers and nothing is cached. Throws CURSOR_INVALID. */
  homeFeed(viewer: ViewerId, asked: PageAsked, degraded: Degraded): Promise<PostPage | null>
  /** The public posts of a user. */
  userPosts(author: ViewerId, asked: PageAsked, degraded: Degraded): Promise<PostPage | null>
  /** The newest posts of the viewer's home feed above `since`, at most `max`. Null as above. */
  newest(viewer: ViewerId, since: PostId | undefined, max: number, degraded: Degraded): Promise<Post[] | null>
}

export function makePages(
  graph: FollowList,
  freshness: Pick<Freshness, 'look' | 'reached'>,
  sections: Sections,
  contents: Contents,
): Pages {
  const walk = makeWalk(sections, contents)

  async function walkHome(viewer: ViewerId, range: Range, degraded: Degraded): Promise<Walked | null> {
    const [floorOf, authors] = await Promise.all([freshness.look(degraded, range.asOf), graph.following(viewer, degraded)])
    if (authors === null) return null
    let reached = freshness.reached()
    let [inbox, newest] = await Promise.all([sections.inbox(viewer, floorOf, degraded), sections.newestIds(authors, floorOf, degraded)])
    const isFirst = range.before === undefined
    if (isFirst && !reached(inboxKey(viewer), inbox.version)) {
      // The inbox changed after the question. The newest ids must be as new.
      await freshness.look(degraded)
      reached = freshness.reached()
      newest = await sections.newestIds(authors, floorOf, degraded)
    }
    // Without the hot store nothing is known about changes.
    const isReached = (id: PostId): boolean => !isFirst || degraded.has('hotStore') || reached(contentKey(id), tickOf(id))
    const hasFilterWord = makeWordFilter(inbox.words.words)
    const isShown = (post: Post): boolean => maySee(post, viewer) && !hasFilterWord(post.text)
    const lists = { authors, newest, inbox: { viewer, section: inbox.section } }
    return walk(lists, { ...range, isShown, isReached }, floorOf, degraded)
  }

  async function walkUser(author: ViewerId, range: Range, degraded: Degraded): Promise<Walked> {
    const floorOf = await freshness.look(degraded, range.asOf)
    const newest = await sections.newestIds([author], floorOf, degraded)
    const isShown = (post: Post): boolean => maySee(post, undefined)
    return walk({ authors: [author], newest }, { ...range, isShown }, floorOf, degraded)
  }

  async function page(
    list: PostListName,
    { first, after, asOf }: PageAsked,
    degraded: Degraded,
    read: (range: Range, degraded: Degraded) => Promise<Walked | null>,
  ): Promise<PostPage | null> {
    const before = after === undefined ? undefined : decodePostCursor(list, after)
    const walked = await orNull(degraded, (own) => read({ before, wanted: first + 1, asOf }, own))
    return walked === null ? null : pageOf(list, first, walked)
  }

  return {
    homeFeed: (viewer, asked, degraded) =>
      page({ kind: 'homeFeed', owner: viewer }, asked, degraded, (range, own) => walkHome(viewer, range, own)),
    userPosts: (author, asked, degraded) =>
      page({ kind: 'posts', owner: author }, asked, degraded, (range, own) => walkUser(author, range, own)),
    async newest(viewer, since, max, degraded) {
      const walked = await orNull(degraded, (own) => walkHome(viewer, { before: undefined, above: since, wanted: max }, own))
      return walked && walked.posts
    },
  }
}

/** Null if nothing was found and both stores are down: the list may have posts. */
async function orNull(degraded: Degraded, read: (own: Degraded) => Promise<Walked | null>): Promise<Walked | null> {
  const own: Degraded = new Set()
  const walked = await read(own)
  for (const store of own) degraded.add(store)
  const isUnknown = walked?.posts.length === 0 && own.has('hotStore') && own.has('recordStore')
  return isUnknown ? null : walked
}

function pageOf(list: PostListName, first: number, { posts, end }: Walked): PostPage {
  const shown = posts.slice(0, first)
  const edges = shown.map((post) => ({ cursor: encodePostCursor(list, post.id), post }))
  const isDropped = typeof end === 'object' && posts.length <= first
  return {
    edges,
    // A walk that a store's outage stopped ends the list if it found nothing, so that clients stop asking. The cursor stays valid.
    hasNextPage: end === 'wanted' || isDropped || (end === 'outage' && shown.length > 0),
    endCursor: isDropped ? encodePostCursor(list, end.droppedTo) : edges.at(-1)?.cursor,
  }
}
