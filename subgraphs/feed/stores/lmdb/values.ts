/**
 * Values of the feed's tables, to bytes and back.
 *
 *     a post, words   dirtySince (6 bytes, 0 = clean) · protobuf
 *     a client key    post id (8 bytes) · hash of the contents (8 bytes)
 *     a list entry    the tick of its removal (f64), 0 = added
 *     a clock         last tick (f64) · newest tick of a forgotten change (f64)
 *
 * Encoders write into one buffer: the bytes are valid until the next one encodes, which is long enough inside a transaction, where LMDB
 * copies at once.
 */
import { packId, unpackId } from '../../../../core/keys.ts'
import { CONTENTS_HASH_BYTES, decodePost, decodeWords, encodePost, encodeWords } from '../../model/post-codec.ts'
import type { FilterWords, Post } from '../../model/post.ts'
import type { PostId } from '../../packed/post-id.ts'

/** `dirtySince` is the time of the first unpersisted change; 0 = clean. */
export type Held<T> = { dirtySince: number; content: T }

const TIME_BYTES = 6
const ID_BYTES = 8
let scratch = Buffer.allocUnsafeSlow(4_096)

export function encodeHeldPost({ dirtySince, content }: Held<Post>): Buffer {
  return encodeHeld(dirtySince, encodePost(content))
}

export function encodeHeldWords({ dirtySince, content }: Held<FilterWords>): Buffer {
  return encodeHeld(dirtySince, encodeWords(content))
}

function encodeHeld(dirtySince: number, content: Uint8Array): Buffer {
  const length = TIME_BYTES + content.length
  if (length > scratch.length) scratch = Buffer.allocUnsafeSlow(length * 2)
  scratch.writeUIntBE(dirtySince, 0, TIME_BYTES)
  scratch.set(content, TIME_BYTES)
  return scratch.subarray(0, length)
}

export function decodeHeldPost(id: PostId, value: Buffer, length: number): Held<Post> {
  return { dirtySince: value.readUIntBE(0, TIME_BYTES), content: decodePost(id, value.subarray(TIME_BYTES, length)) }
}

export function decodeHeldWords(value: Buffer, length: number): Held<FilterWords> {
  return { dirtySince: value.readUIntBE(0, TIME_BYTES), content: decodeWords(value.subarray(TIME_BYTES, length)) }
}

export type KnownKey = { id: PostId; hash: Buffer }

export function encodeKnownKey({ id, hash }: KnownKey): Buffer {
  return scratch.subarray(0, packId(id, scratch, 0) + hash.copy(scratch, ID_BYTES))
}

export function decodeKnownKey(value: Buffer): KnownKey {
  return { id: unpackId(value, 0), hash: Buffer.from(value.subarray(ID_BYTES, ID_BYTES + CONTENTS_HASH_BYTES)) }
}

export function encodeTick(tick: number): Buffer {
  return scratch.subarray(0, scratch.writeDoubleBE(tick, 0))
}

export function decodeTick(value: Buffer): number {
  return value.readDoubleBE(0)
}

/** A region's clock. `forgotten`: the newest tick among the noted changes that were purged. */
export type RegionClock = { last: number; forgotten: number }

export function encodeClock({ last, forgotten }: RegionClock): Buffer {
  return scratch.subarray(0, scratch.writeDoubleBE(forgotten, scratch.writeDoubleBE(last, 0)))
}

export function decodeClock(value: Buffer): RegionClock {
  return { last: value.readDoubleBE(0), forgotten: value.readDoubleBE(8) }
}
