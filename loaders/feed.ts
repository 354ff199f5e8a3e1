/**
 * The loaders of the feed: one set per request. The keys of one request are read in one batch: posts by id, counters by subject, and users
 * with what the viewer's own follows change in them.
 */
import DataLoader from 'dataloader'
import type { ViewerId } from '../core/domain.ts'
import type { Degraded } from '../core/outage/degraded.ts'
import type { Post } from '../subgraphs/feed/model/post.ts'
import type { PostId } from '../subgraphs/feed/packed/post-id.ts'

/** The counters of a post. Each store has those of users too: `post`. */
export type PostCounts = { repost: number; comment: number; read: number }

/** A user as a viewer sees them. */
export type SeenUser = { viewer: ViewerId | undefined; user: ViewerId }

export type FeedLoaders = {
  feed: {
    /**
     * The moment of the request (`subgraphs/feed/read/freshness.ts`): its reads must know all changes from before this moment. Undefined:
     * each read must know all changes from before itself. A request that writes sets it to undefined, so that later reads see the write.
     */
    asOf: number | undefined
    /** Tombstones included. Undefined: there is no such post; null: no store that may know it answers. */
    posts: DataLoader<PostId, Post | undefined | null>
    counts: DataLoader<PostId, PostCounts | null>
    postCounts: DataLoader<ViewerId, number | null>
    /** Whether the viewer follows the user. */
    follows: DataLoader<SeenUser, boolean | null, string>
    followerCounts: DataLoader<SeenUser, number | null, string>
    followingCounts: DataLoader<ViewerId, number | null>
  }
}

/** The batched reads. Each answers in the order of its keys. */
export type FeedSources = {
  posts(ids: readonly PostId[], degraded: Degraded, asOf: number | undefined): Promise<(Post | undefined | null)[]>
  counts(ids: readonly PostId[], degraded: Degraded): Promise<(PostCounts | null)[]>
  postCounts(users: readonly ViewerId[], degraded: Degraded): Promise<(number | null)[]>
  follows(viewer: ViewerId, users: readonly ViewerId[], degraded: Degraded): Promise<(boolean | null)[]>
  followerCounts(users: readonly ViewerId[], viewer: ViewerId | undefined, degraded: Degraded): Promise<(number | null)[]>
  followingCounts(users: readonly ViewerId[], degraded: Degraded): Promise<(number | null)[]>
}

const BATCH_MAX = 1_000

/** `moment`: the present one. */
export function makeFeedLoaders(sources: FeedSources, moment: () => number): (degraded: Degraded, lasting?: boolean) => FeedLoaders {
  return (degraded, lasting = false) => {
    const options = { cache: !lasting, maxBatchSize: BATCH_MAX }
    const loaderOf = <K, V>(read: (keys: readonly K[], degraded: Degraded) => Promise<V[]>): DataLoader<K, V> =>
      new DataLoader((keys) => read(keys, degraded), options)
    const byViewer = <V>(
      read: (viewer: ViewerId | undefined, users: readonly ViewerId[]) => Promise<V[]>,
    ): DataLoader<SeenUser, V, string> =>
      new DataLoader(
        async (keys: readonly SeenUser[]) => {
          const found = new Map<string, V>()
          const groups = Map.groupBy(keys, ({ viewer }) => viewer)
          await Promise.all(
            Array.from(groups, async ([viewer, some]) => {
              const values = await read(
                viewer,
                some.map(({ user }) => user),
              )
              some.forEach((key, at) => found.set(textOf(key), values[at] as V))
            }),
          )
          return keys.map((key) => found.get(textOf(key)) as V)
        },
        { ...options, cacheKeyFn: textOf },
      )
    const loaders: FeedLoaders = {
      feed: {
        asOf: lasting ? undefined : moment(),
        posts: loaderOf((ids) => sources.posts(ids, degraded, loaders.feed.asOf)),
        counts: loaderOf(sources.counts),
        postCounts: loaderOf(sources.postCounts),
        follows: byViewer(async (viewer, users) =>
          viewer === undefined ? users.map(() => null) : sources.follows(viewer, users, degraded),
        ),
        followerCounts: byViewer((viewer, users) => sources.followerCounts(users, viewer, degraded)),
        followingCounts: loaderOf(sources.followingCounts),
      },
    }
    return loaders
  }
}

function textOf({ viewer, user }: SeenUser): string {
  return JSON.stringify([viewer, user])
}
