/** The terms of the feed as types. Times are milliseconds since the Unix epoch. */
import type { ViewerId } from '../../../core/domain.ts'
import type { PostId } from '../packed/post-id.ts'

export type Post = {
  id: PostId
  author: ViewerId
  /** At most 2,000 characters. Empty if deleted. */
  text: string
  /** At most 9 URLs. */
  media: readonly string[]
  /** The post that this one shares. */
  source: PostId | undefined
  /** The only viewers, besides the author, who may see the post. Undefined: everybody may. */
  audience: readonly ViewerId[] | undefined
  /** The client's key: a second post of the author with this key is a repetition. */
  clientKey: string
  /** Assigned by the hot store at each change of the post: the tick of its author's region (`post-id.ts`), strictly growing there. */
  version: number
  deleted: boolean
}

/** A post before the hot store has assigned its id and version. */
export type PostDraft = Omit<Post, 'id' | 'version' | 'deleted'>

/** Words that hide a post in the viewer's home feed. `version`: as in `Post`, of the viewer's region; 0 if none were ever set. */
export type FilterWords = { words: readonly string[]; version: number }

/** True if this viewer may see the post. Nobody may see a deleted one. */
export function maySee(
  { author, audience, deleted }: Pick<Post, 'author' | 'audience' | 'deleted'>,
  viewer: ViewerId | undefined,
): boolean {
  if (deleted) return false
  if (audience === undefined) return true
  return viewer !== undefined && (viewer === author || audience.includes(viewer))
}

/** True if the post is not deleted and its audience names this viewer. */
export function names({ audience = [], deleted }: Pick<Post, 'audience' | 'deleted'>, viewer: ViewerId): boolean {
  return !deleted && audience.includes(viewer)
}

export function withoutViewer<P extends Pick<Post, 'audience'>>(post: P, viewer: ViewerId): P {
  return { ...post, audience: post.audience?.filter((each) => each !== viewer) }
}

/** The viewers whose inboxes get the post: its audience without its author. */
export function recipientsOf({ author, audience = [] }: Pick<Post, 'author' | 'audience'>): ViewerId[] {
  return audience.filter((viewer) => viewer !== author)
}
