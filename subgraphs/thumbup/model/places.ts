/**
 * Places in lists of marks, and their cursors. Lists are newest first. Entries of one moment are in the order of their packed ids, so that
 * every store lists them alike and a cursor is valid in all stores.
 *
 * A cursor carries a hash of its list, so that a cursor of another list is rejected. It contains no secret and grants no access.
 */
import type { MarkPlace } from '../../../core/domain.ts'
import { wrongCursor } from '../../../core/input-limits.ts'
import { PACKED_ID_BYTES_MAX, packId, packedIdLength, unpackId, compareIds } from '../../../core/keys.ts'
import { fnv1a } from '../../../core/regions.ts'

/** The first byte of a cursor. 1 is the timeline of history. */
const KINDS = { likers: 2, likes: 3 } as const
export type MarkListKind = keyof typeof KINDS

/** A list: the likers of a subject (`id` is its oid), or the likes of a viewer (`id` is theirs). */
export type MarkList = { kind: MarkListKind; business: number; id: string }

/** The place right before all marks at or before this moment: 64 bytes of the highest character sort last within a moment. */
export function placeAtOrBefore(markedAt: number): MarkPlace {
  return { markedAt: markedAt + 1, id: '\u{10ffff}'.repeat(16) }
}

const HEADER_BYTES = 1 + 8 + 4

export function encodeMarkCursor(list: MarkList, place: MarkPlace): string {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + PACKED_ID_BYTES_MAX)
  bytes[0] = KINDS[list.kind]
  bytes.writeDoubleBE(place.markedAt, 1)
  bytes.writeUInt32BE(hashOf(list), 9)
  const end = packId(place.id, bytes, HEADER_BYTES)
  return bytes.toString('base64url', 0, end)
}

/** Throws CURSOR_INVALID unless `encodeMarkCursor` made the cursor of this list. */
export function decodeMarkCursor(list: MarkList, cursor: string): MarkPlace {
  const bytes = cursor.length <= 120 ? Buffer.from(cursor, 'base64url') : Buffer.alloc(0)
  const place = readPlace(bytes)
  if (place === undefined || bytes.toString('base64url') !== cursor) throw wrongCursor(cursor, 'is not one of this list')
  if (bytes[0] !== KINDS[list.kind] || bytes.readUInt32BE(9) !== hashOf(list)) throw wrongCursor(cursor, 'is of another list')
  return place
}

function readPlace(bytes: Buffer): MarkPlace | undefined {
  const kind = bytes[0]
  if (bytes.length <= HEADER_BYTES || (kind !== KINDS.likers && kind !== KINDS.likes)) return undefined
  if (bytes.length !== HEADER_BYTES + packedIdLength(bytes, HEADER_BYTES)) return undefined
  const markedAt = bytes.readDoubleBE(1)
  if (!Number.isSafeInteger(markedAt) || markedAt < 0) return undefined
  const id = unpackId(bytes, HEADER_BYTES)
  // Invalid UTF-8, or an integer written as text, was never packed.
  const packed = Buffer.alloc(PACKED_ID_BYTES_MAX * 2)
  if (id.length === 0 || Buffer.byteLength(id) > 64 || !packed.subarray(0, packId(id, packed, 0)).equals(bytes.subarray(HEADER_BYTES)))
    return undefined
  return { markedAt, id }
}

function hashOf({ kind, business, id }: MarkList): number {
  return fnv1a(`${kind}:${business}:${id}`)
}

/** Negative if `a` comes before `b` in a list of marks of one viewer or one subject: newest first, then by id. */
export function compareMarkPlaces(a: MarkPlace, b: MarkPlace): number {
  return b.markedAt - a.markedAt || compareIds(a.id, b.id)
}
