/**
 * The bytes of cached values. Each begins with a byte of flags:
 *
 *   1   the hot store was down when the value was loaded: recent changes are missing
 *   2   the record store was down: older parts are missing
 *   4   a list may go on below its floor
 *
 * A list (classes h and o) has these parts:
 *
 *   flags, 1 byte
 *   the floor, 8 bytes, only with flag 4: the ids are complete from this one on
 *   the ids, a vector (`packed/vector.ts`)
 *
 * An inbox (class i) has the length of its list, 4 bytes big endian, the list, and the filter words as protobuf (`post-codec.ts`). A content
 * (class c) has the flags and the post as protobuf, or nothing if the post is not known.
 *
 * A value that lacks a store has version -1, so the cache does not keep it.
 *
 * A node of the cache may return damaged bytes. The checks of this file accept only bytes that can be decoded. Damage that leaves the form
 * intact passes: there is no checksum.
 */
import type { Degraded } from '../../../core/outage/degraded.ts'
import { decodePost, decodeWords, encodePost, encodeWords } from '../model/post-codec.ts'
import type { FilterWords, Post } from '../model/post.ts'
import type { MergeSource } from '../packed/merge.ts'
import { isRestrictedId, type PostId } from '../packed/post-id.ts'
import { ID_BYTES } from '../packed/vector.ts'

export const LACKS_HOT_STORE = 1
export const LACKS_RECORD_STORE = 2
export const LACKS_BOTH = 3
const HAS_MORE = 4

/** Bytes that a node of the cache must accept as one value. The largest are posts with long texts, media and audiences. */
export const VALUE_BYTES_MAX = 98_304

/** Part of a list, complete from its floor on, except for ids that only the stores in `lacks` have. */
export type Section = MergeSource & { lacks: number }

export type Inbox = { section: Section; words: FilterWords }

/** The version under which a value is cached: it includes all changes up to it. */
export function stampOf(lacks: number, ...versions: number[]): number {
  return lacks === 0 ? Math.max(...versions) : -1
}

export function noteLacks(lacks: number, degraded: Degraded): void {
  if ((lacks & LACKS_HOT_STORE) !== 0) degraded.add('hotStore')
  if ((lacks & LACKS_RECORD_STORE) !== 0) degraded.add('recordStore')
}

/** A section that goes on must have a floor. */
export function encodeSection({ ids, hasMore, floor, lacks }: Section): Buffer {
  if (!hasMore || floor === undefined) return Buffer.concat([Buffer.of(lacks), ids])
  return Buffer.concat([Buffer.of(lacks | HAS_MORE), floor, ids])
}

export function decodeSection(bytes: Buffer): Section {
  const flags = bytes[0] as number
  if ((flags & HAS_MORE) === 0) return { ids: bytes.subarray(1), hasMore: false, lacks: flags }
  return { ids: bytes.subarray(1 + ID_BYTES), hasMore: true, floor: bytes.subarray(1, 1 + ID_BYTES), lacks: flags & LACKS_BOTH }
}

/** Of a cached value, which lacks no store. */
export function isSection(bytes: Buffer): boolean {
  const isWhole = bytes.length % ID_BYTES === 1
  return isWhole && (bytes[0] === 0 || (bytes[0] === HAS_MORE && bytes.length > ID_BYTES))
}

export function encodeInbox({ section, words }: Inbox): Buffer {
  const list = encodeSection(section)
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(list.length)
  return Buffer.concat([length, list, encodeWords(words)])
}

export function decodeInbox(bytes: Buffer): Inbox {
  const end = 4 + bytes.readUInt32BE(0)
  return { section: decodeSection(bytes.subarray(4, end)), words: decodeWords(bytes.subarray(end)) }
}

export function isInbox(bytes: Buffer): boolean {
  if (bytes.length < 4) return false
  const end = 4 + bytes.readUInt32BE(0)
  return end <= bytes.length && isSection(bytes.subarray(4, end)) && decodedOr(undefined, () => decodeInbox(bytes)) !== undefined
}

export function encodeContent(post: Post | undefined, lacks: number): Buffer {
  return post === undefined ? Buffer.of(lacks) : Buffer.concat([Buffer.of(lacks), encodePost(post)])
}

export function decodeContent(id: PostId, bytes: Buffer): { post: Post | undefined; lacks: number } {
  const lacks = bytes[0] as number
  return { post: bytes.length === 1 ? undefined : decodePost(id, bytes.subarray(1)), lacks }
}

/** Of a cached value: a post, and no store is lacking. */
export function isContent(id: PostId, bytes: Buffer): boolean {
  if (bytes[0] !== 0) return false
  const post = decodedOr(undefined, () => decodeContent(id, bytes).post)
  return post !== undefined && post.author !== '' && (post.audience !== undefined) === isRestrictedId(id)
}

function decodedOr<T>(otherwise: T, decode: () => T): T {
  try {
    return decode()
  } catch {
    return otherwise
  }
}
