/**
 * Cursors of lists of posts. The position is the id of a post, and the rest of the list is below it.
 *
 *   byte 0          the kind of list. 1 is the timeline of history, 2 and 3 are lists of marks
 *   bytes 1 to 8    the packed id
 *   bytes 9 to 12   a hash of the list, so that a cursor of another list is rejected
 *
 * A cursor contains no secret and grants no access.
 */
import type { ViewerId } from '../../../core/domain.ts'
import { wrongCursor } from '../../../core/input-limits.ts'
import { packId, unpackId } from '../../../core/keys.ts'
import { fnv1a } from '../../../core/regions.ts'
import type { PostId } from '../packed/post-id.ts'

const KINDS = { homeFeed: 4, posts: 5 } as const

/** The home feed of a viewer, or the posts of a user (`owner`). */
export type PostListName = { kind: keyof typeof KINDS; owner: ViewerId }

const CURSOR_BYTES = 1 + 8 + 4

export function encodePostCursor(list: PostListName, id: PostId): string {
  const bytes = Buffer.allocUnsafe(CURSOR_BYTES)
  bytes[0] = KINDS[list.kind]
  packId(id, bytes, 1)
  bytes.writeUInt32BE(hashOf(list), 9)
  return bytes.toString('base64url')
}

/** Throws CURSOR_INVALID unless `encodePostCursor` made the cursor of this list. */
export function decodePostCursor(list: PostListName, cursor: string): PostId {
  const bytes = cursor.length <= 120 ? Buffer.from(cursor, 'base64url') : Buffer.alloc(0)
  const kinds: readonly number[] = Object.values(KINDS)
  const isOurs = bytes.length === CURSOR_BYTES && kinds.includes(bytes[0] as number) && (bytes[1] as number) < 0x80
  if (!isOurs || bytes.toString('base64url') !== cursor) throw wrongCursor(cursor, 'is not one of this list')
  if (bytes[0] !== KINDS[list.kind] || bytes.readUInt32BE(9) !== hashOf(list)) throw wrongCursor(cursor, 'is of another list')
  return unpackId(bytes, 1)
}

function hashOf({ kind, owner }: PostListName): number {
  return fnv1a(`${kind}:${owner}`)
}
