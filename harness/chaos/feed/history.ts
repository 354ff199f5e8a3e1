/**
 * The recorded history of a run: every answered call with its time, and the stored rows at the end. `checker.ts` compares it with a model.
 *
 * Times are of one process, from performance.now(). A change happens at an unknown instant between the begin of its first try and its
 * answer. A read shows one instant of that interval or a later one.
 */
import type { ViewerId } from '../../../core/domain.ts'
import type { PostId } from '../../../subgraphs/feed/packed/post-id.ts'

export type Interval = { begun: number; ended: number }

/** `key`: of the client. An answered publication has an id, or the code of its refusal. */
export type Publication = Interval & {
  author: ViewerId
  key: string
  text: string
  source: PostId | undefined
  audience: readonly ViewerId[] | undefined
  id: PostId | undefined
  code: string | undefined
}

/** `code`: of the refusal. */
export type Deletion = Interval & { viewer: ViewerId; id: PostId; code: string | undefined }

/** A follow, or its end. `isFirm`: the hot store took it, and not the journal. `shown`: what its answer shows. */
export type Follow = Interval & { viewer: ViewerId; user: ViewerId; follows: boolean; isFirm: boolean; shown: boolean | null }

export type Counter = 'COMMENT' | 'READ'
/** `answer`: the outcome, or the code of the refusal. `isFirst`: no earlier try may have counted it. */
export type CountedEvent = Interval & { key: string; id: PostId; counter: Counter; delta: number; answer: string; isFirst: boolean }

/** `lacks`: the stores in `extensions.degraded`. `out`: the servers that were out of order during the read or just before. */
export type Read = Interval & { viewer: ViewerId; lacks: readonly string[]; out: readonly string[] }

export type ShownPost = { id: PostId; author: ViewerId; text: string; source: PostId | null; sourceState: string | null }

/** The home feed of its owner, or the public posts of its owner. */
export type PostList = { kind: 'homeFeed' | 'posts'; owner: ViewerId }

/** A page of a walk. `before` and `downTo` are the positions of its cursors. `downTo` is undefined on the last page. */
export type PageRead = Read & {
  list: PostList
  first: number
  before: PostId | undefined
  downTo: PostId | undefined
  hasNextPage: boolean
  posts: readonly ShownPost[] | null
}

export type ShownCounts = { commentCount: number | null; readCount: number | null }
export type Lookup = Read & { ids: readonly PostId[]; posts: readonly (ShownPost | null)[] | null; counts: readonly (ShownCounts | null)[] }

/** The users whom the viewer follows, as the viewer sees it. In the order of `users`. */
export type FollowsRead = Read & { users: readonly ViewerId[]; follows: readonly (boolean | null)[] }

/** The figures of a user at the end, as a gateway shows them. */
export type UserFigures = { user: ViewerId; postCount: number | null; followerCount: number | null; followingCount: number | null }
export type PostFigures = { id: PostId; repostCount: number | null; commentCount: number | null; readCount: number | null }

export type StoredPost = { text: string; source: PostId | undefined; audience: readonly ViewerId[] | undefined; deleted: boolean }
export type StoredCounts = { repost: number; comment: number; read: number }

/** The state after quiet: shown figures, and rows of the record store. */
export type EndState = {
  users: UserFigures[]
  posts: PostFigures[]
  storedPosts: Map<PostId, StoredPost>
  /** The public posts of each user, and the restricted posts for each user, in any order. */
  storedOutboxes: Map<ViewerId, PostId[]>
  storedInboxes: Map<ViewerId, PostId[]>
  storedCounts: Map<PostId, StoredCounts>
  storedPostCounts: Map<ViewerId, number>
  /** By viewer and user. */
  storedFollows: Map<string, boolean>
}

export type FeedHistory = {
  users: readonly ViewerId[]
  publications: Publication[]
  deletions: Deletion[]
  follows: Follow[]
  events: CountedEvent[]
  pages: PageRead[]
  lookups: Lookup[]
  followsReads: FollowsRead[]
  /** Undefined: the run did not reach its end. */
  end: EndState | undefined
}

export function makeHistory(users: readonly ViewerId[]): FeedHistory {
  return { users, publications: [], deletions: [], follows: [], events: [], pages: [], lookups: [], followsReads: [], end: undefined }
}

export function followText(viewer: ViewerId, user: ViewerId): string {
  return `${viewer} ${user}`
}
