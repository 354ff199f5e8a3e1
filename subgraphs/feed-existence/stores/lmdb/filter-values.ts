/**
 * Keys and values of filters. Numbers are big endian.
 *
 *     filters      packed viewer · u16 month                     u48 expiresAt · f64 version · the filter
 *     quarantined  packed viewer · u16 month · f64 version       u48 expiresAt · u16 length · the reason (UTF-8) · the filter
 *     expiring     u48 expiresAt · which of the two (u8) · the key there
 *
 * A quarantined filter leaves its place with the next version and no bytes, so that no version repeats. An existing filter has at least one
 * byte.
 *
 * If the disk has damaged a value before the filter begins, its version is unknown. Its bytes still count as a filter, and the reader finds
 * out whether they are valid. Its version is one that no filter of this key ever had: the next multiple of 2^32 above those in quarantine.
 */
import type { FilterKey, QuarantinedFilter } from '../record-store.ts'
import { PACKED_ID_BYTES_MAX, packId, packedIdLength, unpackId } from '../../../../core/keys.ts'
import { beginningOf } from '../../model/time-ring.ts'

export const FILTER = 0
export const QUARANTINED = 1

const TIME_BYTES = 6
const TIME_MAX = 2 ** 48 - 1
const HEADER_BYTES = TIME_BYTES + 8
const NOTHING = Buffer.alloc(0)
/** No filter is written this often. */
const DAMAGED_STEP = 2 ** 32
const VERSION_MAX = 2 ** 50
/** A filter expires in the sixth month after its own. */
const MONTHS_KEPT_MAX = 7

export type WrittenFilter = { filter: Buffer; version: number; expiresAt: number }
/** `filter` is empty after a quarantine, and may be empty if the value is damaged. */
export type HeldFilter = WrittenFilter & { isThere: boolean }

export function filterKeyBytes({ viewer, month }: FilterKey): Buffer {
  const bytes = Buffer.allocUnsafe(PACKED_ID_BYTES_MAX + 2)
  return bytes.subarray(0, bytes.writeUInt16BE(month, packId(viewer, bytes, 0)))
}

export function readFilterKey(key: Buffer): FilterKey {
  return { viewer: unpackId(key, 0), month: key.readUInt16BE(packedIdLength(key, 0)) }
}

/** All months of a viewer, quarantined ones included. */
export function viewerRange(viewer: string): { start: Buffer; end: Buffer } {
  const end = Buffer.concat([filterKeyBytes({ viewer, month: 0xffff }), Buffer.from([0])])
  return { start: filterKeyBytes({ viewer, month: 0 }), end }
}

export function encodeFilter({ filter, version, expiresAt }: WrittenFilter): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  header.writeUIntBE(expiresAt, 0, TIME_BYTES)
  header.writeDoubleBE(version, TIME_BYTES)
  return Buffer.concat([header, filter])
}

export function encodeSetAside({ version, expiresAt }: WrittenFilter, rebuilt: Buffer = NOTHING): Buffer {
  return encodeFilter({ filter: rebuilt, version: version + 1, expiresAt })
}

/** Shares the bytes of the value. Undefined if the header is damaged. */
export function decodeFilter(value: Buffer): HeldFilter | undefined {
  if (value.length < HEADER_BYTES) return undefined
  const version = value.readDoubleBE(TIME_BYTES)
  if (!Number.isInteger(version) || version < 1 || version > VERSION_MAX) return undefined
  const filter = value.subarray(HEADER_BYTES)
  return { filter, version, expiresAt: value.readUIntBE(0, TIME_BYTES), isThere: filter.length > 0 }
}

/** For a value that `decodeFilter` cannot read. `versionAside`: the last quarantined version of this key, 0 if there is none. */
export function decodeDamaged(value: Buffer, { month }: FilterKey, versionAside: number): HeldFilter {
  return {
    filter: value.length > HEADER_BYTES ? value.subarray(HEADER_BYTES) : value,
    version: (Math.floor(versionAside / DAMAGED_STEP) + 1) * DAMAGED_STEP,
    // Any written filter has expired by then.
    expiresAt: beginningOf(month + MONTHS_KEPT_MAX),
    isThere: true,
  }
}

export function quarantineKey(key: Buffer, version: number): Buffer {
  const bytes = Buffer.concat([key, Buffer.allocUnsafe(8)])
  bytes.writeDoubleBE(version, key.length)
  return bytes
}

/** Range of the quarantined versions of this key, newest first. */
export function asideRange(key: Buffer): { start: Buffer; end: Buffer; reverse: true } {
  return { start: quarantineKey(key, Infinity), end: quarantineKey(key, 0), reverse: true }
}

export function versionOfAside(key: Buffer): number {
  return key.readDoubleBE(key.length - 8)
}

export function encodeQuarantined({ filter, expiresAt }: WrittenFilter, reason: string): Buffer {
  const text = Buffer.from(reason)
  const header = Buffer.allocUnsafe(TIME_BYTES + 2)
  header.writeUIntBE(expiresAt, 0, TIME_BYTES)
  header.writeUInt16BE(text.length, TIME_BYTES)
  return Buffer.concat([header, text, filter])
}

export function decodeQuarantined(key: Buffer, value: Buffer): QuarantinedFilter {
  const reasonAt = TIME_BYTES + 2
  const filterAt = value.length < reasonAt ? Infinity : reasonAt + value.readUInt16BE(TIME_BYTES)
  const aside = { ...readFilterKey(key), version: versionOfAside(key) }
  // The quarantined value itself is damaged.
  if (filterAt > value.length) return { ...aside, filter: value, reason: '' }
  return { ...aside, filter: value.subarray(filterAt), reason: value.toString('utf8', reasonAt, filterAt) }
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

/** The end of the entries that expired at or before this moment. */
export function expiredEnd(expiredBefore: number): Buffer {
  const bytes = Buffer.allocUnsafe(TIME_BYTES)
  bytes.writeUIntBE(Math.min(Math.max(0, expiredBefore + 1), TIME_MAX), 0, TIME_BYTES)
  return bytes
}
