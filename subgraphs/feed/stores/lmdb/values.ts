/**
 * Values of the feed's tables, to bytes and back.
 *
 *     a post, words   dirtySince (6 bytes, 0 = clean) · protobuf
 *     a client key    post id (8 bytes) · hash of the contents (8 bytes)
 *     a list          u32 bytes of the added ids · these ids, packed · per removed id: post id (8 bytes) · tick of the removal (f64)
 *     a clock         last tick (f64) · newest tick of a forgotten change (f64)
 *
 * Encoders write into one buffer: the bytes are valid until the next one encodes, which is long enough inside a transaction, where LMDB
 * copies at once.
 */
import { packId, unpackId } from '../../../../core/keys.ts'
import { CONTENTS_HASH_BYTES, decodePost, decodeWords, encodePost, encodeWords } from '../../model/post-codec.ts'
import type { FilterWords, Post } from '../../model/post.ts'
import type { PostId } from '../../packed/post-id.ts'
import { ID_BYTES } from '../../packed/vector.ts'

/** `dirtySince` is the time of the first unpersisted change; 0 = clean. */
export type Held<T> = { dirtySince: number; content: T }

const TIME_BYTES = 6
const COUNT_BYTES = 4
const REMOVAL_BYTES = ID_BYTES + 8
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

/** Changes of an outbox or inbox. `added` is a packed vector. */
export type HeldList = { added: Buffer; removed: readonly { id: PostId; tick: number }[] }

export function encodeList({ added, removed }: HeldList): Buffer {
  const value = Buffer.allocUnsafe(COUNT_BYTES + added.length + removed.length * REMOVAL_BYTES)
  let end = value.writeUInt32BE(added.length)
  end += added.copy(value, end)
  for (const { id, tick } of removed) end = value.writeDoubleBE(tick, packId(id, value, end))
  return value
}

export function decodeList(value: Buffer, length: number): HeldList {
  const addedEnd = COUNT_BYTES + value.readUInt32BE(0)
  const removed: { id: PostId; tick: number }[] = []
  for (let at = addedEnd; at < length; at += REMOVAL_BYTES)
    removed.push({ id: unpackId(value, at), tick: value.readDoubleBE(at + ID_BYTES) })
  return { added: Buffer.from(value.subarray(COUNT_BYTES, addedEnd)), removed }
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
