/**
 * The keys of a viewer's marks in their table, built like those of progress (`viewer-keys.ts`):
 *
 *     packed viewer · u16 business · kind · the rest
 *
 *     STATS              (nothing)                                   the common state of the viewer's marks
 *     RECORD             packed oid                                  the mark, tombstones included
 *     LIKES, DISLIKES    2^48 - 1 - markedAt (6 bytes) · packed oid  one per mark of the kind, newest first
 */
import type { MarkPlace } from '../../../../core/domain.ts'
import { packId, unpackId } from '../../../../core/keys.ts'
import { plainKey, type Shelf } from '../../../../stores/lmdb/viewer-keys.ts'

// STATS and RECORD are 0 and 1.
export const LIKES = 2
export const DISLIKES = 3
export type ListKind = typeof LIKES | typeof DISLIKES

const TIME_BYTES = 6
const TIME_MAX = 2 ** 48 - 1

/** Valid until the next key of the shelf. */
export function listKey(shelf: Shelf, kind: ListKind, { id, markedAt }: MarkPlace): Buffer {
  shelf.bytes[shelf.kindAt] = kind
  // A cursor may name any moment. A moment beyond the last counts as the last.
  const oidAt = shelf.bytes.writeUIntBE(TIME_MAX - Math.min(markedAt, TIME_MAX), shelf.kindAt + 1, TIME_BYTES)
  return shelf.bytes.subarray(0, packId(id, shelf.bytes, oidAt))
}

export function placeOfListKey(shelf: Shelf, key: Buffer): MarkPlace {
  const markedAt = TIME_MAX - key.readUIntBE(shelf.kindAt + 1, TIME_BYTES)
  return { markedAt, id: unpackId(key, shelf.kindAt + 1 + TIME_BYTES) }
}

/** The list strictly after `before`. */
export function listRange(shelf: Shelf, kind: ListKind, before?: MarkPlace): { start: Buffer; end: Buffer; exclusiveStart: boolean } {
  const end = Buffer.from(plainKey(shelf, kind + 1))
  const start = Buffer.from(before === undefined ? plainKey(shelf, kind) : listKey(shelf, kind, before))
  return { start, end, exclusiveStart: before !== undefined }
}
