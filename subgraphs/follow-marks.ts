/** Whom viewers follow, as the feed reads and writes it. The marks of thumbup keep it (`subgraphs/thumbup/follow-marks.ts`). */
import type { ViewerId } from '../core/domain.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { Degraded } from '../core/outage/degraded.ts'

/** `changed`: false if the viewer already followed the user, or already did not. */
export type FollowChange = { changed: boolean } | { code: ErrorCode; message: string }

export type FollowPage = { edges: { cursor: string; id: ViewerId; followedAt: number }[]; hasNextPage: boolean }

/** The arguments of a page. `after`: a cursor of an earlier page of the same list. */
export type FollowPageAsked = { first: number; after: string | undefined }

export type FollowMarks = {
  /**
   * The viewer follows or unfollows these users. In the order of `users`. While the hot store is down, the changes are durable in the
   * journal. Throws the code of the store if all changes fail there.
   */
  put(viewer: ViewerId, users: readonly ViewerId[], follows: boolean, degraded: Degraded): Promise<FollowChange[]>
  /**
   * All users that this user follows, latest first. Null if no store answers. `isKept`: false if the hot store shall not keep what is read.
   * Default true.
   */
  all(user: ViewerId, degraded: Degraded, isKept?: boolean): Promise<ViewerId[] | null>
  /**
   * The users who follow a user, follows that are not counted yet included, in pages. Some may have ended lately. For operators: it reads
   * all waiting marks. Rejects with the code of a store that does not answer.
   */
  allFollowers(user: ViewerId): AsyncIterable<ViewerId[]>
  /** Persists these changes at once. Rejects with the code of a store that does not answer. */
  persist(pairs: readonly { viewer: ViewerId; user: ViewerId }[]): Promise<void>
  /** The same as `all`, as a page. Throws CURSOR_INVALID. */
  following(user: ViewerId, asked: FollowPageAsked, degraded: Degraded): Promise<FollowPage | null>
  /** A page of the users who follow a user, as `viewer` sees it. Throws CURSOR_INVALID. */
  followers(user: ViewerId, viewer: ViewerId | undefined, asked: FollowPageAsked, degraded: Degraded): Promise<FollowPage | null>
  /** The number of followers of each user, in their order, with the viewer's own follow of a moment ago. Null if no store answers. */
  followerCounts(users: readonly ViewerId[], viewer: ViewerId | undefined, degraded: Degraded): Promise<(number | null)[]>
}
