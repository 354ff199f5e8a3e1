/** Posts and users as the types of the schema. */
import type { ViewerId } from '../../core/domain.ts'
import { connectionOf } from '../connection.ts'
import type { FollowPage } from '../follow-marks.ts'
import { knownSubject, type SubjectEntity } from '../subjects.ts'
import type { Post } from './model/post.ts'
import type { PostPage } from './read/page.ts'

/** The entity of a post that may be shown to the viewer of this request. */
export function knownPost(entity: string, post: Post): SubjectEntity<Post> {
  return knownSubject(entity, post.id, post)
}

/** A user whom the viewer has just followed or unfollowed. The change may be in the journal only, so it overrides the answers of stores. */
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
  const edges = page.edges.map(({ cursor, post }) => ({ cursor, node: knownPost(entity, post) }))
  const { pageInfo } = connectionOf(edges, page, hasPreviousPage)
  // If many posts were left out, `page.endCursor` is below the last edge.
  return { edges, pageInfo: { ...pageInfo, endCursor: page.endCursor ?? null } }
}

export function usersOf(page: FollowPage, hasPreviousPage: boolean) {
  const edges = page.edges.map(({ cursor, id, followedAt }) => ({ cursor, node: { id }, followedAt }))
  return connectionOf(edges, page, hasPreviousPage)
}
