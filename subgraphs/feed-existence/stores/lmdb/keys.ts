/**
 * The keys of the seen table, which keep all data of a viewer side by side:
 *
 *     packed viewer · kind · the rest
 *
 *     STATE    (nothing)                            folds, and the number of staged plays per slot
 *     STAGED   u8 slot · u16 business · packed oid  playedAt (6 bytes)
 *     ISSUED   u16 business                         served subjects, newest first
 *
 * and in the table of the ring: u8 slot · u32 shard · packed viewer. A place has a buffer in which its viewer's keys are built: a key is
 * valid until the next one of its place.
 */
import type { BusinessNumber, Subject, ViewerId } from '../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, unpackId } from '../../../../core/keys.ts'

const STATE = 0
const STAGED = 1
const ISSUED = 2
const KEY_BYTES_MAX = PACKED_ID_BYTES_MAX + 1 + 1 + 2 + PACKED_ID_BYTES_MAX
const RING_ROOT_BYTES = 5

export type SeenPlace = { bytes: Buffer; kindAt: number }

export function makePlace(viewer: ViewerId): SeenPlace {
  const bytes = Buffer.allocUnsafe(KEY_BYTES_MAX)
  return { bytes, kindAt: packId(viewer, bytes, 0) }
}

export function stateKey({ bytes, kindAt }: SeenPlace): Buffer {
  bytes[kindAt] = STATE
  return bytes.subarray(0, kindAt + 1)
}

export function issuedKey({ bytes, kindAt }: SeenPlace, business: BusinessNumber): Buffer {
  bytes[kindAt] = ISSUED
  return bytes.subarray(0, bytes.writeUInt16BE(business, kindAt + 1))
}

export function stagedKey({ bytes, kindAt }: SeenPlace, slot: number, { business, oid }: Subject): Buffer {
  bytes[kindAt] = STAGED
  bytes[kindAt + 1] = slot
  return bytes.subarray(0, packId(oid, bytes, bytes.writeUInt16BE(business, kindAt + 2)))
}

/** The range of all staged plays, or of one slot. */
export function stagedRange({ bytes, kindAt }: SeenPlace, slot?: number): { start: Buffer; end: Buffer } {
  const root = bytes.subarray(0, kindAt)
  if (slot === undefined) return { start: Buffer.concat([root, Buffer.of(STAGED)]), end: Buffer.concat([root, Buffer.of(STAGED + 1)]) }
  return { start: Buffer.concat([root, Buffer.of(STAGED, slot)]), end: Buffer.concat([root, Buffer.of(STAGED, slot + 1)]) }
}

export function subjectOfStagedKey({ kindAt }: SeenPlace, key: Buffer): Subject {
  return { business: key.readUInt16BE(kindAt + 2), oid: unpackId(key, kindAt + 4) }
}

export function ringKey(slot: number, shard: number, viewer: ViewerId): Buffer {
  const bytes = Buffer.allocUnsafe(RING_ROOT_BYTES + PACKED_ID_BYTES_MAX)
  return bytes.subarray(0, packId(viewer, bytes, writeRingRoot(bytes, slot, shard)))
}

/** The keys of one shard, or of all shards from it to `last`. */
export function ringRange(slot: number, shard: number, last = shard): { start: Buffer; end: Buffer } {
  const [start, end] = [Buffer.allocUnsafe(RING_ROOT_BYTES), Buffer.allocUnsafe(RING_ROOT_BYTES)]
  writeRingRoot(start, slot, shard)
  writeRingRoot(end, slot, last + 1)
  return { start, end }
}

export function readRingKey(key: Buffer): { slot: number; shard: number; viewer: ViewerId } {
  return { slot: key[0] as number, shard: key.readUInt32BE(1), viewer: unpackId(key, RING_ROOT_BYTES) }
}

function writeRingRoot(bytes: Buffer, slot: number, shard: number): number {
  bytes[0] = slot
  return bytes.writeUInt32BE(shard, 1)
}
