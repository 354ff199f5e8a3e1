/**
 * The bytes of cached values. A list (classes h and o) is a section (`packed/section.ts`).
 *
 * An inbox (class i) has the length of its list, 4 bytes big endian, the list, and the filter words as protobuf (`post-codec.ts`). A content
 * (class c) has the flags of a section, and the post as protobuf, or nothing if the post is not known.
 *
 * A value that lacks a store has version -1, so the cache does not keep it.
 *
 * A node of the cache may return damaged bytes. The checks of this file accept only bytes that can be decoded. Damage that leaves the form
 * intact passes: there is no checksum.
 */
import type { Degraded } from '../../../core/outage/degraded.ts'
import { decodePost, decodeWords, encodePost, encodeWords } from '../model/post-codec.ts'
import type { FilterWords, Post } from '../model/post.ts'
import { isRestrictedId, type PostId } from '../packed/post-id.ts'
import { LACKS_HOT_STORE, LACKS_RECORD_STORE, isSection } from '../packed/section.ts'

/** Bytes that a node of the cache must accept as one value. The largest are posts with long texts, media and audiences. */
export const VALUE_BYTES_MAX = 98_304

/** `section`: its bytes. */
export type Inbox = { section: Buffer; words: FilterWords }

/** The version under which a value is cached: it includes all changes up to it. */
export function stampOf(lacks: number, ...versions: number[]): number {
  return lacks === 0 ? Math.max(...versions) : -1
}

export function noteLacks(lacks: number, degraded: Degraded): void {
  if ((lacks & LACKS_HOT_STORE) !== 0) degraded.add('hotStore')
  if ((lacks & LACKS_RECORD_STORE) !== 0) degraded.add('recordStore')
}

export function encodeInbox({ section, words }: Inbox): Buffer {
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(section.length)
  return Buffer.concat([length, section, encodeWords(words)])
}

export function decodeInbox(bytes: Buffer): Inbox {
  const end = 4 + bytes.readUInt32BE(0)
  return { section: bytes.subarray(4, end), words: decodeWords(bytes.subarray(end)) }
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
