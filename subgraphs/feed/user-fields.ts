/** The fields of a user: their posts, and whom they follow. None of them needs a scope. */
import { checkFirst } from '../../core/input-limits.ts'
import { idFrom } from '../../core/keys.ts'
import { requireViewer } from '../../core/viewer.ts'
import { resolveReference } from '../references.ts'
import { FollowedUser, postsOf, usersOf } from './answers.ts'
import type { FeedContext, FeedReads } from './context.ts'

export type UserEntity = { id: unknown }
export type PageArgs = { first: number; after?: string | null }

/** `entity`: the type of posts. */
export function makeUserFields(entity: string, reads: Pick<FeedReads, 'userPosts' | 'follows'>) {
  return {
    __resolveReference: resolveReference<UserEntity>,
    async posts(user: UserEntity, { first, after }: PageArgs, { degraded, loaders }: FeedContext) {
      checkFirst(first)
      const page = await reads.userPosts(userId(user), { first, after: after ?? undefined, asOf: loaders.feed.asOf }, degraded)
      return page && postsOf(entity, page, typeof after === 'string')
    },
    async following(user: UserEntity, { first, after }: PageArgs, { viewer, degraded }: FeedContext) {
      requireViewer(viewer)
      checkFirst(first)
      const page = await reads.follows.following(userId(user), { first, after: after ?? undefined }, degraded)
      return page && usersOf(page, typeof after === 'string')
    },
    async followers(user: UserEntity, { first, after }: PageArgs, { viewer, degraded }: FeedContext) {
      const { id } = requireViewer(viewer)
      checkFirst(first)
      const page = await reads.follows.followers(userId(user), id, { first, after: after ?? undefined }, degraded)
      return page && usersOf(page, typeof after === 'string')
    },
    viewerFollows(user: UserEntity, _: unknown, { viewer, loaders }: FeedContext) {
      const { id } = requireViewer(viewer)
      return user instanceof FollowedUser ? user.follows : loaders.feed.follows.load({ viewer: id, user: userId(user) })
    },
    followerCount: (user: UserEntity, _: unknown, { viewer, loaders }: FeedContext) =>
      loaders.feed.followerCounts.load({ viewer: viewer?.id, user: userId(user) }),
    followingCount: (user: UserEntity, _: unknown, { loaders }: FeedContext) => loaders.feed.followingCounts.load(userId(user)),
    postCount: (user: UserEntity, _: unknown, { loaders }: FeedContext) => loaders.feed.postCounts.load(userId(user)),
  }
}

export function userId({ id }: UserEntity): string {
  return idFrom(id, 'id')
}
