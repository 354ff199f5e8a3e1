/** Posts and users as the types of the schema. */
import type { ViewerId } from '../../core/domain.ts'
import { connectionOf } from '../connection.ts'
import type { FollowPage } from '../follow-marks.ts'
import type { SubjectEntity } from '../subjects.ts'
import type { Post } from './model/post.ts'
import type { PostPage } from './read/page.ts'

/** An entity whose post is known and may be shown to the viewer of this request. */
export class KnownPost implements SubjectEntity {
  readonly __typename: string
  readonly id: string
  readonly post: Post

  constructor(__typename: string, post: Post) {
    this.__typename = __typename
    this.id = post.id
    this.post = post
  }
}

/** A user whom the viewer has just followed, or not any more. It may be in the journal only, so it replaces the answer of a store. */
export class FollowedUser {
  readonly id: ViewerId
  readonly follows: boolean

  constructor(id: ViewerId, follows: boolean) {
    this.id = id
    this.follows = follows
  }
}

/** `entity`: the type of posts. */
export function postsOf(entity: string, page: PostPage, hasPreviousPage: boolean) {
  const edges = page.edges.map(({ cursor, post }) => ({ cursor, node: new KnownPost(entity, post) }))
  const { pageInfo } = connectionOf(edges, page, hasPreviousPage)
  // After many posts that were left out, the next page begins below the last edge.
  return { edges, pageInfo: { ...pageInfo, endCursor: page.endCursor ?? null } }
}

export function usersOf(page: FollowPage, hasPreviousPage: boolean) {
  const edges = page.edges.map(({ cursor, id, followedAt }) => ({ cursor, node: { id }, followedAt }))
  return connectionOf(edges, page, hasPreviousPage)
}
