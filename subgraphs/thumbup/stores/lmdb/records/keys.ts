/**
 * The keys of marks. Two tables have the same keys, once under the viewer (`likes`) and once under the subject (`likers`). The data of one
 * end is contiguous, with the other end's id behind it.
 *
 *     u16 business · packed id · kind · the rest
 *
 *     ROW        packed other id                             the row; under the viewer only
 *     NONE       2^48 - 1 - markedAt (6 bytes) · packed id   the list of tombstones; under the viewer only
 *     LIKE       the same                                    the list of likes, newest first
 *     DISLIKE    the same                                    the list of dislikes
 *     COVERED    packed other id                             a recent row hides an archived mark; under the subject only
 *     BLOCK      2^48 - 1 - newestAt · packed first id       a block of archived marks, in the order of its first entry
 *
 * The business comes first, since a tenant is exported and deleted as one range. A shelf is the place of one end, with a buffer for its
 * keys. A key is valid until the next key of its shelf. LMDB copies keys at once. Callers that keep a key longer, such as the ends of a
 * range, copy it.
 */
import type { BusinessNumber, Mark, MarkKey, MarkPlace } from '../../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, packedIdLength, unpackId } from '../../../../../core/keys.ts'

export const ROW = 0
const LISTED = { NONE: 1, LIKE: 2, DISLIKE: 3 } as const satisfies Record<Mark, number>
export const COVERED = 4
export const BLOCK = 5

const BUSINESS_BYTES = 2
const TIME_BYTES = 6
const TIME_MAX = 2 ** 48 - 1
const KEY_BYTES_MAX = BUSINESS_BYTES + PACKED_ID_BYTES_MAX + 1 + TIME_BYTES + PACKED_ID_BYTES_MAX

export type Range = { start: Buffer; end: Buffer; exclusiveStart?: boolean }

export type MarkShelf = { business: BusinessNumber; id: string; bytes: Buffer; kindAt: number }

export function makeMarkShelf(business: BusinessNumber, id: string): MarkShelf {
  const bytes = Buffer.allocUnsafe(KEY_BYTES_MAX)
  const kindAt = packId(id, bytes, bytes.writeUInt16BE(business, 0))
  return { business, id, bytes, kindAt }
}

/** A key of another table, for a business's subject or owner, or for a whole shelf. */
export function plainMarkKey(business: BusinessNumber, id: string): Buffer {
  const { bytes, kindAt } = makeMarkShelf(business, id)
  return bytes.subarray(0, kindAt)
}

/** ROW or COVERED. */
export function otherKey(shelf: MarkShelf, kind: typeof ROW | typeof COVERED, other: string): Buffer {
  shelf.bytes[shelf.kindAt] = kind
  return shelf.bytes.subarray(0, packId(other, shelf.bytes, shelf.kindAt + 1))
}

export function listedKey(shelf: MarkShelf, mark: Mark, markedAt: number, other: string): Buffer {
  return placeKey(shelf, LISTED[mark], { id: other, markedAt })
}

export function blockKey(shelf: MarkShelf, first: MarkPlace): Buffer {
  return placeKey(shelf, BLOCK, first)
}

/** All keys of a kind. */
export function kindRange(shelf: MarkShelf, kind: number): Range {
  return { start: kindStart(shelf, kind), end: kindStart(shelf, kind + 1) }
}

/** The list of a mark, strictly after `before`, which need not exist. */
export function listedRange(shelf: MarkShelf, mark: Mark, before: MarkPlace | undefined): Range {
  const kind = LISTED[mark]
  const range = kindRange(shelf, kind)
  return before === undefined ? range : { ...range, start: Buffer.from(cursorKey(shelf, kind, before)), exclusiveStart: true }
}

/** Rows whose other id is after `after`. */
export function rowRange(shelf: MarkShelf, after: string | undefined): Range {
  const range = kindRange(shelf, ROW)
  return after === undefined ? range : { ...range, start: Buffer.from(otherKey(shelf, ROW, after)), exclusiveStart: true }
}

/** The key of a block whose first entry had this place. Any place of a cursor is valid. */
export function blockCursor(shelf: MarkShelf, place: MarkPlace): Buffer {
  return Buffer.from(cursorKey(shelf, BLOCK, place))
}

export function readListedKey(shelf: MarkShelf, key: Buffer): MarkPlace {
  return { id: unpackId(key, shelf.kindAt + 1 + TIME_BYTES), markedAt: TIME_MAX - key.readUIntBE(shelf.kindAt + 1, TIME_BYTES) }
}

/** For a key whose rest is the other id. */
export function otherIdOf(shelf: MarkShelf, key: Buffer): string {
  return unpackId(key, shelf.kindAt + 1)
}

/** All keys of a business, after the keys of an id if one is given. */
export function businessRange(business: BusinessNumber, after?: string): Range {
  const start = Buffer.allocUnsafe(BUSINESS_BYTES)
  start.writeUInt16BE(business)
  // No packed id begins with 255.
  const end = Buffer.from([start[0] as number, start[1] as number, 255])
  return { start: after === undefined ? start : Buffer.concat([plainMarkKey(business, after), Buffer.from([255])]), end }
}

export type MarkTableKey = { business: BusinessNumber; id: string; kind: number; restAt: number }

/** The prefix of any key of the two tables. */
export function readMarkKey(key: Buffer): MarkTableKey {
  const kindAt = BUSINESS_BYTES + packedIdLength(key, BUSINESS_BYTES)
  return { business: key.readUInt16BE(0), id: unpackId(key, BUSINESS_BYTES), kind: key[kindAt] ?? 255, restAt: kindAt + 1 }
}

/** The other end of a key of the likers' lists, or of COVERED. */
export function readLikersKey(key: Buffer): MarkKey {
  const { business, id, kind, restAt } = readMarkKey(key)
  return { viewer: unpackId(key, kind === COVERED ? restAt : restAt + TIME_BYTES), business, oid: id }
}

/** The other end of a row's key. */
export function readRowKey(key: Buffer): MarkKey {
  const { business, id, restAt } = readMarkKey(key)
  return { viewer: id, business, oid: unpackId(key, restAt) }
}

/** For a key of a list. */
export function listedAt(key: Buffer): number {
  return TIME_MAX - key.readUIntBE(BUSINESS_BYTES + packedIdLength(key, BUSINESS_BYTES) + 1, TIME_BYTES)
}

/** Skips the ids, for walks over a whole table. */
export function kindOfKey(key: Buffer): number {
  return key[BUSINESS_BYTES + packedIdLength(key, BUSINESS_BYTES)] ?? 255
}

/** The id of a key that `plainMarkKey` made. */
export function idOfPlainKey(key: Buffer): string {
  return unpackId(key, BUSINESS_BYTES)
}

function kindStart(shelf: MarkShelf, kind: number): Buffer {
  shelf.bytes[shelf.kindAt] = kind
  return Buffer.from(shelf.bytes.subarray(0, shelf.kindAt + 1))
}

/** Throws a RangeError for an invalid moment. */
function placeKey(shelf: MarkShelf, kind: number, { id, markedAt }: MarkPlace): Buffer {
  shelf.bytes[shelf.kindAt] = kind
  const idAt = shelf.bytes.writeUIntBE(TIME_MAX - markedAt, shelf.kindAt + 1, TIME_BYTES)
  return shelf.bytes.subarray(0, packId(id, shelf.bytes, idAt))
}

/** A cursor may name any moment. Moments beyond the ends count as the ends. */
function cursorKey(shelf: MarkShelf, kind: number, { id, markedAt }: MarkPlace): Buffer {
  return placeKey(shelf, kind, { id, markedAt: Math.max(0, Math.min(markedAt, TIME_MAX)) })
}
