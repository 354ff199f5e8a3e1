/** The reads of a lane: walks through home feeds and lists of posts, lookups, and the viewer's own follows. */
import type { ViewerId } from '../../../core/domain.ts'
import { randomBelow } from '../../../core/random.ts'
import { decodePostCursor } from '../../../subgraphs/feed/model/cursors.ts'
import type { PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import type { Answered, Device } from './device.ts'
import type { PostList, Read, ShownCounts, ShownPost } from './history.ts'
import type { Known } from './known.ts'

const POST = 'id author { id } text source { id } sourceState'
const PAGE = `{ edges { node { ${POST} } } pageInfo { hasNextPage endCursor } }`
const HOME = `query ($first: Int!, $after: String) { homeFeed(first: $first, after: $after) ${PAGE} }`
const USER_POSTS = `query ($id: ID!, $first: Int!, $after: String) { feedUser(id: $id) { posts(first: $first, after: $after) ${PAGE} } }`
const LOOKUP = `query ($ids: [ID!]!) { posts(ids: $ids) { ${POST} commentCount readCount } }`
const FOLLOWING = 'query ($id: ID!) { feedUser(id: $id) { following(first: 100) { edges { node { id } } } } }'
const FOLLOWS = 'query ($id: ID!) { feedUser(id: $id) { id viewerFollows } }'

type Node = { id: string; author: { id: string } | null; text: string; source: { id: string } | null; sourceState: string | null }
type Page = { edges: { node: Node }[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }
type Walk = { viewer: ViewerId; list: PostList; first: number; pages: number; after: string | undefined; before: PostId | undefined }

const FIRST_MAX = 30
const PAGES_MAX = 8
const LOOKUPS_MAX = 20

export function makeReading({ random, viewer, user, ask }: Device, known: Known, users: readonly ViewerId[]) {
  const { history } = known
  /** Every distinct shown post once, to save memory. */
  const shown = new Map<string, ShownPost>()
  let walk: Walk | undefined

  function shownOf({ id, author, text, source, sourceState }: Node): ShownPost {
    const post = { id, author: author?.id ?? '', text, source: source?.id ?? null, sourceState }
    const name = JSON.stringify(post)
    const same = shown.get(name)
    if (same === undefined) shown.set(name, post)
    return same ?? post
  }

  function readOf(reader: ViewerId, { answeredFrom, ended, lacks, out }: Answered<unknown>): Read {
    return { begun: answeredFrom, ended, viewer: reader, lacks, out }
  }

  function beginWalk(): Walk {
    const [reader, isHome] = [viewer(), random() < 0.75]
    const list: PostList = isHome ? { kind: 'homeFeed', owner: reader } : { kind: 'posts', owner: user() }
    // Few walks go to the end of a long list.
    const pages = random() < 0.03 ? Infinity : 1 + randomBelow(random, PAGES_MAX)
    return { viewer: reader, list, first: 1 + randomBelow(random, FIRST_MAX), pages, after: undefined, before: undefined }
  }

  /** The next page of the walk under way. */
  async function readPage(): Promise<void> {
    const current = (walk ??= beginWalk())
    walk = await nextOf(current)
  }

  async function nextOf(current: Walk): Promise<Walk | undefined> {
    const { list, first, after, before } = current
    const answer =
      list.kind === 'homeFeed'
        ? await ask<{ homeFeed: Page | null }>('homeFeed', current.viewer, HOME, { first, after })
        : await ask<{ feedUser: { posts: Page | null } | null }>('userPosts', current.viewer, USER_POSTS, { id: list.owner, first, after })
    const page = 'homeFeed' in answer.data ? answer.data.homeFeed : (answer.data.feedUser?.posts ?? null)
    const { hasNextPage = false, endCursor = null } = page?.pageInfo ?? {}
    const end = endCursor === null ? undefined : decodePostCursor(list, endCursor)
    const downTo = hasNextPage ? end : undefined
    const posts = page && page.edges.map(({ node }) => shownOf(node))
    history.pages.push({ ...readOf(current.viewer, answer), list, first, before, downTo, hasNextPage, posts })
    if (downTo === undefined || endCursor === null || current.pages <= 1) return undefined
    return { ...current, pages: current.pages - 1, after: endCursor, before: downTo }
  }

  async function readWhole(reader: ViewerId, list: PostList): Promise<void> {
    for (
      let next: Walk | undefined = { viewer: reader, list, first: 100, pages: Infinity, after: undefined, before: undefined };
      next !== undefined;
    )
      next = await nextOf(next)
  }

  async function lookUpIds(reader: ViewerId, ids: readonly PostId[]): Promise<void> {
    const answer = await ask<{ posts: ((Node & ShownCounts) | null)[] | null }>('lookup', reader, LOOKUP, { ids })
    const { posts } = answer.data
    const counts = (posts ?? []).map((post) => post && { commentCount: post.commentCount, readCount: post.readCount })
    history.lookups.push({ ...readOf(reader, answer), ids, posts: posts && posts.map((post) => post && shownOf(post)), counts })
  }

  /** Posts of anybody, also deleted ones and those for others. */
  async function lookUp(): Promise<void> {
    const some = Array.from({ length: 1 + randomBelow(random, LOOKUPS_MAX) }, () => known.somePost(random)?.id)
    const ids = [...new Set(some.filter((id) => id !== undefined))]
    if (ids.length > 0) await lookUpIds(viewer(), ids)
  }

  /** The whole list, or whether the viewer follows one user. */
  async function readFollows(reader: ViewerId = viewer(), isWhole = random() < 0.5): Promise<void> {
    if (isWhole) {
      const answer = await ask<{ feedUser: { following: { edges: { node: { id: string } }[] } | null } }>('following', reader, FOLLOWING, {
        id: reader,
      })
      const { following } = answer.data.feedUser
      const ids = new Set(following?.edges.map(({ node }) => node.id))
      const follows = users.map((each) => following && ids.has(each))
      history.followsReads.push({ ...readOf(reader, answer), users, follows })
      return
    }
    const asked = user()
    const answer = await ask<{ feedUser: { viewerFollows: boolean | null } }>('viewerFollows', reader, FOLLOWS, { id: asked })
    history.followsReads.push({ ...readOf(reader, answer), users: [asked], follows: [answer.data.feedUser.viewerFollows] })
  }

  return { readPage, lookUp, readFollows, readWhole, lookUpIds }
}
