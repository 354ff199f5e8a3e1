/**
 * Places in a timeline, and the cursors that name them. Newest first. Entries of one moment are ordered by business and then by id, as
 * their packed keys are. Every store therefore lists them alike, and a cursor is valid in all stores.
 */
import type { BusinessNumber, Place } from '../../../core/domain.ts'
import { shortened, TidemarkError } from '../../../core/errors.ts'
import { wrongCursor } from '../../../core/input-limits.ts'
import { PACKED_ID_BYTES_MAX, compareIds, packId, packedIdLength, unpackId } from '../../../core/keys.ts'

/** Negative if `a` comes before `b` in a timeline. */
export function comparePlaces(a: Place, b: Place): number {
  return b.viewedAt - a.viewedAt || a.business - b.business || compareIds(a.oid, b.oid)
}

/** The first byte of a cursor gives the kind of its list: 1 here, 2 and 3 in thumbup. */
const KIND = 1
const HEADER_BYTES = 1 + 8 + 2

/** An opaque cursor. It contains nothing about the viewer and grants no access. */
export function encodeCursor(place: Place): string {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + PACKED_ID_BYTES_MAX)
  bytes[0] = KIND
  bytes.writeDoubleBE(place.viewedAt, 1)
  bytes.writeUInt16BE(place.business, 9)
  const end = packId(place.oid, bytes, HEADER_BYTES)
  return bytes.toString('base64url', 0, end)
}

/** Throws CURSOR_INVALID for a cursor that `encodeCursor` did not make, or of a business that the caller did not ask for. */
export function decodeCursor(cursor: string, businesses: readonly BusinessNumber[]): Place {
  const place = cursor.length <= 120 ? readCursor(Buffer.from(cursor, 'base64url')) : undefined
  if (place === undefined || encodeCursor(place) !== cursor) {
    throw wrongCursor(cursor, 'is not one of this list')
  }
  if (!businesses.includes(place.business)) {
    throw new TidemarkError(
      'CURSOR_INVALID',
      `cursor "${shortened(cursor, 24)}" is of a list with other businesses: ask for the same businesses as before`,
    )
  }
  return place
}

function readCursor(bytes: Buffer): Place | undefined {
  if (bytes.length <= HEADER_BYTES || bytes[0] !== KIND) return undefined
  if (bytes.length !== HEADER_BYTES + packedIdLength(bytes, HEADER_BYTES)) return undefined
  const viewedAt = bytes.readDoubleBE(1)
  if (!Number.isSafeInteger(viewedAt) || viewedAt < 0) return undefined
  const oid = unpackId(bytes, HEADER_BYTES)
  return oid.length > 0 ? { viewedAt, business: bytes.readUInt16BE(9), oid } : undefined
}
