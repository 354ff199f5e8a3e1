/** The request context of the feed's resolvers, and the reads they call. */
import type { ViewerId } from '../../core/domain.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { FeedLoaders } from '../../loaders/feed.ts'
import type { FollowMarks } from '../follow-marks.ts'
import type { FilterWords } from './model/post.ts'
import type { Moment } from './read/freshness.ts'
import type { Pages } from './read/page.ts'
import type { OpenWaiting } from './read/waiting.ts'

/** The context of every request, local or standalone. */
export type FeedContext = {
  viewer: Viewer | undefined
  loaders: FeedLoaders
  /** The stores that the answer lacked. */
  degraded: Degraded
}

export type FeedReads = Pick<Pages, 'homeFeed' | 'userPosts'> & {
  /** Null if no store answers. `asOf`: the moment of the page to which the words belong. */
  words(viewer: ViewerId, degraded: Degraded, asOf: Moment | undefined): Promise<FilterWords | null>
  waiting: OpenWaiting
  /** Pages of follows. */
  follows: Pick<FollowMarks, 'following' | 'followers'>
  /** True if the log is down. Writes still succeed then. */
  isLogDown(): boolean
}
