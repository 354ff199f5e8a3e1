/**
 * Tables and keys of the record store on LMDB. Numbers are big endian; an id of a post has 8 bytes.
 *
 *     feed-posts     id                      a post, protobuf Post
 *     feed-outboxes  packed author · id      (nothing), for public posts that are not deleted
 *     feed-inboxes   packed viewer · id      (nothing), for restricted posts that are not deleted
 *     feed-words     packed viewer           filter words, protobuf FilterWords
 *     feed-deleted   f64 version · id        (nothing), for tombstones
 *
 * Ids grow, so new posts go to the end of their table, and the ids of a list are side by side in the order of time. No packed viewer is the
 * beginning of another one, so a list is one range.
 */
import type { ViewerId } from '../../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, unpackId } from '../../../../../core/keys.ts'
import type { Bytes, Environment } from '../../../../../stores/lmdb/environment.ts'
import type { PostId } from '../../../packed/post-id.ts'

export type FeedRecordTables = { posts: Bytes; outboxes: Bytes; inboxes: Bytes; words: Bytes; deleted: Bytes }

export function openFeedRecordTables(environment: Environment): FeedRecordTables {
  return {
    posts: environment.table('feed-posts'),
    outboxes: environment.table('feed-outboxes'),
    inboxes: environment.table('feed-inboxes'),
    words: environment.table('feed-words'),
    deleted: environment.table('feed-deleted'),
  }
}

export const PRESENT = Buffer.allocUnsafeSlow(0)

export const ID_BYTES = 8
/** Above every id: ids are below 2^63. */
const ID_END = Buffer.alloc(ID_BYTES, 0xff)
const VERSION_BYTES = 8

export function postKey(id: PostId): Buffer {
  const key = Buffer.allocUnsafe(ID_BYTES)
  packId(id, key, 0)
  return key
}

export function wordsKey(viewer: ViewerId): Buffer {
  const key = Buffer.allocUnsafe(PACKED_ID_BYTES_MAX)
  return key.subarray(0, packId(viewer, key, 0))
}

/** The key of an id in the list of an author or a viewer. */
export function listKey(owner: ViewerId, id: PostId): Buffer {
  const key = Buffer.allocUnsafe(PACKED_ID_BYTES_MAX + ID_BYTES)
  return key.subarray(0, packId(id, key, packId(owner, key, 0)))
}

/** The list below `before`, newest first. */
export function listRange(owner: ViewerId, before: PostId | undefined) {
  const end = wordsKey(owner)
  const start = before === undefined ? Buffer.concat([end, ID_END]) : listKey(owner, before)
  return { start, end, exclusiveStart: true, reverse: true }
}

export function deletedKey(version: number, id: PostId): Buffer {
  const key = Buffer.allocUnsafe(VERSION_BYTES + ID_BYTES)
  packId(id, key, key.writeDoubleBE(version, 0))
  return key
}

/** The tombstones below this version. */
export function deletedRange(versionBelow: number): { end: Buffer } {
  const end = Buffer.allocUnsafe(VERSION_BYTES)
  end.writeDoubleBE(Math.max(versionBelow, 0), 0)
  return { end }
}

export function idOfDeleted(key: Buffer): PostId {
  return unpackId(key, VERSION_BYTES)
}
