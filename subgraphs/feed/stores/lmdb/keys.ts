/**
 * The keys of the feed's tables. Post ids have 8 bytes, big endian (`post-id.ts`), and ticks are doubles, big endian, so both are in order.
 *
 *     posts     post id                                 the post, or its tombstone
 *     viewers   packed viewer · kind · the rest
 *               WORDS    (nothing)                      the viewer's filter words
 *               KEY      client key                     id and contents' hash of the author's post with this key
 *               OUTBOX   (nothing)                      added and removed public posts of the author
 *               INBOX    (nothing)                      added and removed restricted posts for the viewer
 *     changes   u16 region · kind · the rest
 *               NOTED    tick · cache key               (nothing): noted changes, oldest first
 *               NEWEST   cache key                      the tick of the key's noted change
 *               POST     tick · post id                 (nothing): held posts by version
 *     counters  u16 region                              the region's clock
 *
 * All data of a viewer is side by side, since pages to flush are the limit of writes. Keys share one buffer: a key is valid until the next
 * one is made. LMDB copies keys at once. The ends of a range have buffers of their own.
 */
import type { ViewerId } from '../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, unpackId } from '../../../../core/keys.ts'
import type { PostId } from '../../packed/post-id.ts'

export const WORDS = 0
export const CLIENT_KEY = 1
export const OUTBOX = 2
export const INBOX = 3
export type ListKind = typeof OUTBOX | typeof INBOX

export const NOTED = 0
export const NEWEST = 1
export const POST = 2

export type KeyRange = { start: Buffer; end: Buffer }

const TICK_BYTES = 8
const CHANGE_AT = 2 + 1
const TEXT_BYTES_MAX = PACKED_ID_BYTES_MAX
const scratch = Buffer.allocUnsafeSlow(PACKED_ID_BYTES_MAX + 1 + TICK_BYTES + TEXT_BYTES_MAX)

export function postKey(id: PostId): Buffer {
  return scratch.subarray(0, packId(id, scratch, 0))
}

function writeKind(viewer: ViewerId, kind: number): number {
  return scratch.writeUInt8(kind, packId(viewer, scratch, 0))
}

/** WORDS, OUTBOX or INBOX. */
export function plainKey(kind: typeof WORDS | ListKind, viewer: ViewerId): Buffer {
  return scratch.subarray(0, writeKind(viewer, kind))
}

export function clientKeyKey(author: ViewerId, clientKey: string): Buffer {
  const at = writeKind(author, CLIENT_KEY)
  return scratch.subarray(0, at + scratch.write(clientKey, at))
}

function writeChange(region: number, kind: number): number {
  return scratch.writeUInt8(kind, scratch.writeUInt16BE(region))
}

export function notedKey(region: number, tick: number, key: string): Buffer {
  const at = scratch.writeDoubleBE(tick, writeChange(region, NOTED))
  return scratch.subarray(0, at + scratch.write(key, at))
}

export function newestKey(region: number, key: string): Buffer {
  const at = writeChange(region, NEWEST)
  return scratch.subarray(0, at + scratch.write(key, at))
}

export function heldPostKey(region: number, version: number, id: PostId): Buffer {
  return scratch.subarray(0, packId(id, scratch, scratch.writeDoubleBE(version, writeChange(region, POST))))
}

/** Noted changes, or held posts, of a region from this tick on and below that one. */
export function changeRange(region: number, kind: typeof NOTED | typeof POST, from: number, below: number): KeyRange {
  const end = (tick: number): Buffer =>
    Buffer.from(scratch.subarray(0, scratch.writeDoubleBE(Math.max(tick, 0), writeChange(region, kind))))
  return { start: end(from), end: end(below) }
}

export function readNotedKey(noted: Buffer): { key: string; version: number } {
  return { key: noted.toString('utf8', CHANGE_AT + TICK_BYTES), version: noted.readDoubleBE(CHANGE_AT) }
}

export function idOfHeldPostKey(held: Buffer): PostId {
  return unpackId(held, CHANGE_AT + TICK_BYTES)
}

export function clockKey(region: number): Buffer {
  return scratch.subarray(0, scratch.writeUInt16BE(region))
}
