/**
 * The keys of viewers' tables. All data of a viewer is side by side, and within it all data of one business. A write touches the record,
 * the timeline and the counts of one viewer. With a table for each of them it would dirty three pages instead of one, and pages to flush
 * are the limit of writes.
 *
 *     packed viewer · u16 business · kind · the rest
 *
 *     STATS     (nothing)                                   stats of the whole timeline
 *     RECORD    packed oid                                  the record
 *     TIMELINE  2^48 - 1 - viewedAt (6 bytes) · packed oid  one per visible record, newest first
 *     SETTINGS  (nothing; business 0)                       the viewer's settings
 *
 * A shelf is a viewer's place for one business, with a buffer in which its keys are built: a key is valid until the next one of its shelf.
 * LMDB copies keys at once; a caller that keeps one longer (the ends of a range) copies it.
 */
import type { BusinessNumber, Place, ViewerId } from '../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, packedIdLength, unpackId } from '../../core/keys.ts'

export const STATS = 0
export const RECORD = 1
export const TIMELINE = 2
export const SETTINGS = 3
const KIND_END = 255
const BUSINESS_MAX = 65_535

const TIME_BYTES = 6
const TIME_MAX = 2 ** 48 - 1
const KEY_BYTES_MAX = PACKED_ID_BYTES_MAX + 2 + 1 + TIME_BYTES + PACKED_ID_BYTES_MAX

export type Shelf = { business: BusinessNumber; bytes: Buffer; kindAt: number }

export function makeShelf(viewer: ViewerId, business: BusinessNumber): Shelf {
  const bytes = Buffer.allocUnsafe(KEY_BYTES_MAX)
  const kindAt = bytes.writeUInt16BE(business, packId(viewer, bytes, 0))
  return { business, bytes, kindAt }
}

/** STATS or SETTINGS. */
export function plainKey(shelf: Shelf, kind: number): Buffer {
  shelf.bytes[shelf.kindAt] = kind
  return shelf.bytes.subarray(0, shelf.kindAt + 1)
}

export function recordKey(shelf: Shelf, oid: string): Buffer {
  shelf.bytes[shelf.kindAt] = RECORD
  return shelf.bytes.subarray(0, packId(oid, shelf.bytes, shelf.kindAt + 1))
}

/** All records of the shelf, tombstones included. */
export function recordRange(shelf: Shelf): { start: Buffer; end: Buffer } {
  return { start: Buffer.from(plainKey(shelf, RECORD)), end: Buffer.from(plainKey(shelf, RECORD + 1)) }
}

export function oidOfRecordKey(shelf: Shelf, key: Buffer): string {
  return unpackId(key, shelf.kindAt + 1)
}

export function timelineKey(shelf: Shelf, viewedAt: number, oid: string): Buffer {
  shelf.bytes[shelf.kindAt] = TIMELINE
  writeMoment(shelf, viewedAt)
  return shelf.bytes.subarray(0, packId(oid, shelf.bytes, shelf.kindAt + 1 + TIME_BYTES))
}

export function readTimelineKey(shelf: Shelf, key: Buffer): Place {
  const viewedAt = TIME_MAX - key.readUIntBE(shelf.kindAt + 1, TIME_BYTES)
  return { viewedAt, business: shelf.business, oid: unpackId(key, shelf.kindAt + 1 + TIME_BYTES) }
}

/** The shelf's timeline strictly after `before`; `start` is excluded if it names an entry. */
export function timelineRange(shelf: Shelf, before: Place | undefined): { start: Buffer; end: Buffer; exclusiveStart: boolean } {
  const end = Buffer.from(plainKey(shelf, TIMELINE + 1))
  if (before === undefined) return { start: Buffer.from(plainKey(shelf, TIMELINE)), end, exclusiveStart: false }
  return { ...startAfter(shelf, before), end }
}

/** Places are ordered by time, business and oid. A place of another business is therefore before or after all places of its moment here. */
function startAfter(shelf: Shelf, before: Place): { start: Buffer; exclusiveStart: boolean } {
  if (before.business === shelf.business)
    return { start: Buffer.from(timelineKey(shelf, before.viewedAt, before.oid)), exclusiveStart: true }
  const moment = before.business < shelf.business ? before.viewedAt : before.viewedAt - 1
  shelf.bytes[shelf.kindAt] = TIMELINE
  if (moment < 0) return { start: Buffer.from(plainKey(shelf, TIMELINE + 1)), exclusiveStart: false }
  return { start: Buffer.from(shelf.bytes.subarray(0, writeMoment(shelf, moment))), exclusiveStart: false }
}

/** Newer sorts first. A moment beyond the last one (a cursor may name any) counts as the last one. */
function writeMoment(shelf: Shelf, viewedAt: number): number {
  return shelf.bytes.writeUIntBE(TIME_MAX - Math.min(viewedAt, TIME_MAX), shelf.kindAt + 1, TIME_BYTES)
}

/** This moment and older ones. */
export function timelineFrom(shelf: Shelf, viewedAt: number): { start: Buffer; end: Buffer } {
  shelf.bytes[shelf.kindAt] = TIMELINE
  return { start: Buffer.from(shelf.bytes.subarray(0, writeMoment(shelf, viewedAt))), end: Buffer.from(plainKey(shelf, TIMELINE + 1)) }
}

/** A key after all keys of this viewer, and before those of the next one. */
export function afterViewer(viewer: ViewerId): Buffer {
  return Buffer.from(plainKey(makeShelf(viewer, BUSINESS_MAX), KIND_END))
}

export type ViewerKey = { viewer: ViewerId; business: BusinessNumber; kind: number; restAt: number }

/** The prefix of every other key of the table. */
export function readViewerKey(key: Buffer): ViewerKey {
  const businessAt = packedIdLength(key, 0)
  return { viewer: unpackId(key, 0), business: key.readUInt16BE(businessAt), kind: key[businessAt + 2] ?? KIND_END, restAt: businessAt + 3 }
}
