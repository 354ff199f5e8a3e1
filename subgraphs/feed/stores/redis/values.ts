/** Posts, words and lists as the scripts store and return them. */
import { decodePost, decodeWords } from '../../model/post-codec.ts'
import type { FilterWords, Post } from '../../model/post.ts'
import { POST_EPOCH_MS, TICKS_PER_MS, type PostId } from '../../packed/post-id.ts'
import type { ListChanges } from '../hot-store.ts'

/** The byte before the message tells scripts whether the post is a tombstone. */
export function decodeStoredPost(id: PostId, value: Buffer): Post {
  return decodePost(id, value.subarray(1))
}

export function decodeStoredWords(value: Buffer): FilterWords {
  return decodeWords(value)
}

/** The tick of a moment. Never negative. */
export function tickOfTime(ms: number): number {
  return Math.max(0, (ms - POST_EPOCH_MS) * TICKS_PER_MS)
}

/** Four answers of `get-lists.lua`. */
export function decodeList(added: Buffer | null, hasMore: boolean, removed: readonly Buffer[], tick: Buffer | null): ListChanges {
  return {
    added: added ?? Buffer.alloc(0),
    hasMore,
    removed: Buffer.concat(removed.toSorted(Buffer.compare)),
    version: Number(tick?.toString() ?? 0),
  }
}
