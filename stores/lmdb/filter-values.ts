/**
 * Keys and values of filters. Numbers are big endian.
 *
 *     filters      packed viewer · u16 month                     u48 expiresAt · f64 version · the filter
 *     quarantined  packed viewer · u16 month · f64 version       u48 expiresAt · u16 length · the reason (UTF-8) · the filter
 *     expiring     u48 expiresAt · which of the two (u8) · the key there
 *
 * A filter that was set aside leaves its place with the next version and no bytes, so that no version comes twice; one that
 * exists has a byte at least.
 */
import type { FilterKey, QuarantinedFilter } from '../seen-records.ts'
import { PACKED_ID_BYTES_MAX, packId, packedIdLength, unpackId } from '../../core/keys.ts'

export const FILTER = 0
export const QUARANTINED = 1

const TIME_BYTES = 6
const TIME_MAX = 2 ** 48 - 1
const HEADER_BYTES = TIME_BYTES + 8
const NOTHING = Buffer.alloc(0)

/** `filter` is empty where it was set aside. */
export type HeldFilter = { filter: Buffer; version: number; expiresAt: number }

export function filterKeyBytes({ viewer, month }: FilterKey): Buffer {
  const bytes = Buffer.allocUnsafe(PACKED_ID_BYTES_MAX + 2)
  return bytes.subarray(0, bytes.writeUInt16BE(month, packId(viewer, bytes, 0)))
}

export function readFilterKey(key: Buffer): FilterKey {
  return { viewer: unpackId(key, 0), month: key.readUInt16BE(packedIdLength(key, 0)) }
}

/** All months of a viewer. */
export function viewerRange(viewer: string): { start: Buffer; end: Buffer } {
  const end = Buffer.concat([filterKeyBytes({ viewer, month: 0xffff }), Buffer.from([0])])
  return { start: filterKeyBytes({ viewer, month: 0 }), end }
}

export function encodeFilter({ filter, version, expiresAt }: HeldFilter): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  header.writeUIntBE(expiresAt, 0, TIME_BYTES)
  header.writeDoubleBE(version, TIME_BYTES)
  return Buffer.concat([header, filter])
}

export function encodeSetAside({ version, expiresAt }: HeldFilter, rebuilt: Buffer = NOTHING): Buffer {
  return encodeFilter({ filter: rebuilt, version: version + 1, expiresAt })
}

/** Shares the bytes of the value. */
export function decodeFilter(value: Buffer): HeldFilter {
  return {
    filter: value.subarray(HEADER_BYTES),
    version: value.readDoubleBE(TIME_BYTES),
    expiresAt: value.readUIntBE(0, TIME_BYTES),
  }
}

export function quarantineKey(key: Buffer, version: number): Buffer {
  const bytes = Buffer.concat([key, Buffer.allocUnsafe(8)])
  bytes.writeDoubleBE(version, key.length)
  return bytes
}

export function encodeQuarantined({ filter, expiresAt }: HeldFilter, reason: string): Buffer {
  const text = Buffer.from(reason)
  const header = Buffer.allocUnsafe(TIME_BYTES + 2)
  header.writeUIntBE(expiresAt, 0, TIME_BYTES)
  header.writeUInt16BE(text.length, TIME_BYTES)
  return Buffer.concat([header, text, filter])
}

export function decodeQuarantined(key: Buffer, value: Buffer): QuarantinedFilter {
  const reasonAt = TIME_BYTES + 2
  const filterAt = reasonAt + value.readUInt16BE(TIME_BYTES)
  return {
    ...readFilterKey(key),
    version: key.readDoubleBE(key.length - 8),
    filter: value.subarray(filterAt),
    reason: value.toString('utf8', reasonAt, filterAt),
  }
}

export function expiringKey(expiresAt: number, table: number, key: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(TIME_BYTES + 1 + key.length)
  bytes[bytes.writeUIntBE(expiresAt, 0, TIME_BYTES)] = table
  key.copy(bytes, TIME_BYTES + 1)
  return bytes
}

export function readExpiringKey(bytes: Buffer): { expiresAt: number; table: number; key: Buffer } {
  return { expiresAt: bytes.readUIntBE(0, TIME_BYTES), table: bytes[TIME_BYTES] as number, key: bytes.subarray(TIME_BYTES + 1) }
}

/** The end of what expired at this moment or before. */
export function expiredEnd(expiredBefore: number): Buffer {
  const bytes = Buffer.allocUnsafe(TIME_BYTES)
  bytes.writeUIntBE(Math.min(Math.max(0, expiredBefore + 1), TIME_MAX), 0, TIME_BYTES)
  return bytes
}
