/** Posts by id, for one viewer. A post for other viewers is as absent as one that never existed. */
import type { ViewerId } from '../../../core/domain.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { maySee, type Post } from '../model/post.ts'
import { isPostId, type PostId } from '../packed/post-id.ts'
import type { Contents } from './contents.ts'
import type { Freshness } from './freshness.ts'

/** In order. Null: the post does not exist, is deleted, is for other viewers, or a store that may have it is down (`degraded`). */
export type ReadPosts = (viewer: ViewerId | undefined, ids: readonly PostId[], degraded: Degraded) => Promise<(Post | null)[]>

/** `ids` may be any strings. */
export function makeReadPosts(freshness: Pick<Freshness, 'look'>, contents: Contents, regions: number): ReadPosts {
  return async (viewer, ids, degraded) => {
    const possible = [...new Set(ids)].filter((id) => isPostId(id, regions))
    if (possible.length === 0) return ids.map(() => null)
    const posts = await contents.getMany(possible, await freshness.look(degraded), degraded)
    const byId = new Map(possible.map((id, at) => [id, posts[at]]))
    return ids.map((id) => {
      const post = byId.get(id)
      return post !== undefined && maySee(post, viewer) ? post : null
    })
  }
}
