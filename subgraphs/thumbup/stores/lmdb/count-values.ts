/**
 * Entries of the count cache, to bytes and back. Each value begins with its version, so that a
 * write of any kind sees which is newer.
 *
 *     u16 business · COUNTS · packed oid    →  version (f64) · likes (f64) · dislikes (f64)
 *     u16 business · LIKERS · packed oid    →  version (f64) · u8 whole · per liker: markedAt (6 bytes) · packed viewer
 *     u16 business · OWNERS · packed owner  →  version (f64) · likes (f64)
 */
import type { BusinessNumber, MarkEntry, SubjectCounts } from '../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, packedIdLength, unpackId } from '../../../../core/keys.ts'
import type { CachedLikers } from '../count-cache.ts'

export const COUNTS = 0
export const LIKERS = 1
export const OWNERS = 2
const KIND_END = 255

const ID_AT = 3
const NUMBER_BYTES = 8
const TIME_BYTES = 6
const LIKERS_AT = NUMBER_BYTES + 1

/** A buffer of its own. */
export function cacheKey(kind: number, business: BusinessNumber, id: string): Buffer {
  const key = Buffer.allocUnsafe(ID_AT + PACKED_ID_BYTES_MAX)
  key.writeUInt16BE(business, 0)
  key[2] = kind
  return key.subarray(0, packId(id, key, ID_AT))
}

export function cacheRange(business: BusinessNumber): { start: Buffer; end: Buffer } {
  const [start, end] = [Buffer.alloc(ID_AT), Buffer.alloc(ID_AT)]
  start.writeUInt16BE(business)
  end.writeUInt16BE(business)
  end[2] = KIND_END
  return { start, end }
}

export function versionOfEntry(value: Buffer): number {
  return value.readDoubleBE(0)
}

function encodeNumbers(numbers: readonly number[]): Buffer {
  const value = Buffer.allocUnsafe(numbers.length * NUMBER_BYTES)
  for (const [index, number] of numbers.entries()) value.writeDoubleBE(number, index * NUMBER_BYTES)
  return value
}

export function encodeCounts({ version, likes, dislikes }: SubjectCounts): Buffer {
  return encodeNumbers([version, likes, dislikes])
}

export function decodeCounts(value: Buffer): SubjectCounts {
  return { likes: value.readDoubleBE(NUMBER_BYTES), dislikes: value.readDoubleBE(2 * NUMBER_BYTES), version: versionOfEntry(value) }
}

export function encodeOwnerSum({ version, likes }: { version: number; likes: number }): Buffer {
  return encodeNumbers([version, likes])
}

export function decodeOwnerSum(value: Buffer): { likes: number; version: number } {
  return { likes: value.readDoubleBE(NUMBER_BYTES), version: versionOfEntry(value) }
}

export function encodeLikers({ version, whole, entries }: CachedLikers): Buffer {
  const value = Buffer.allocUnsafe(LIKERS_AT + entries.length * (TIME_BYTES + PACKED_ID_BYTES_MAX))
  value.writeDoubleBE(version, 0)
  let offset = value.writeUInt8(Number(whole), NUMBER_BYTES)
  for (const { id, markedAt } of entries) offset = packId(id, value, value.writeUIntBE(markedAt, offset, TIME_BYTES))
  return value.subarray(0, offset)
}

export function decodeLikers(value: Buffer, length: number): CachedLikers {
  const entries: MarkEntry[] = []
  for (let offset = LIKERS_AT; offset < length;) {
    const idAt = offset + TIME_BYTES
    entries.push({ id: unpackId(value, idAt), markedAt: value.readUIntBE(offset, TIME_BYTES) })
    offset = idAt + packedIdLength(value, idAt)
  }
  return { version: versionOfEntry(value), entries, whole: value[NUMBER_BYTES] === 1 }
}
