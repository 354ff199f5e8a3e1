/** The keys under which the feed's changes wait to be persisted. They travel through the log as `FlushedKey`s. */
import type { FlushedKey, ViewerId } from '../../../core/domain.ts'
import type { PostId } from '../packed/post-id.ts'

/** A post of its author, or the filter words of a viewer. */
export type DirtyKey = { viewer: ViewerId; post: PostId } | { viewer: ViewerId; post: undefined }

/** No post has this id. The keys have the business 0, which is no business, as the settings of history do. */
const WORDS_OID = 'words'

export function flushedKeyOf({ viewer, post }: DirtyKey): FlushedKey {
  return { viewer, business: 0, oid: post ?? WORDS_OID }
}

export function dirtyKeyOf({ viewer, oid }: FlushedKey): DirtyKey {
  return { viewer, post: oid === WORDS_OID ? undefined : oid }
}
