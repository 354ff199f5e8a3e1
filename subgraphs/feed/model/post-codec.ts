/**
 * The bytes in stores and caches: posts and filter words as the messages of `schema/records.proto`. The id of a post is the key of its
 * bytes. Equal posts have equal bytes.
 *
 * A hot store that assigns versions by itself appends the version to bytes without one: protobuf reads joined messages as one, and the last
 * value of a field wins.
 */
import { createHash } from 'node:crypto'
import { tidemark } from '../../../schema/records.js'
import type { PostId } from '../packed/post-id.ts'
import type { FilterWords, Post, PostDraft } from './post.ts'

export const CONTENTS_HASH_BYTES = 8

export function encodePost({ author, clientKey, text, media, source, audience, deleted, version }: Omit<Post, 'id'>): Uint8Array {
  const restricted = audience !== undefined
  return tidemark.Post.encode({
    author,
    clientKey,
    ...(text === '' ? {} : { text }),
    media: [...media],
    ...(source === undefined ? {} : { source }),
    ...(restricted ? { restricted, audience: [...audience] } : {}),
    ...(deleted ? { deleted } : {}),
    ...(version === 0 ? {} : { version }),
  }).finish()
}

export function decodePost(id: PostId, bytes: Uint8Array): Post {
  const { author, clientKey, text, media, source, restricted, audience, deleted, version } = tidemark.Post.decode(bytes)
  return {
    id,
    author,
    text,
    media,
    source: source === '' ? undefined : source,
    audience: restricted ? audience : undefined,
    clientKey,
    version,
    deleted,
  }
}

export function encodeWords({ words, version }: FilterWords): Uint8Array {
  return tidemark.FilterWords.encode({ words: [...words], ...(version === 0 ? {} : { version }) }).finish()
}

export function decodeWords(bytes: Uint8Array): FilterWords {
  const { words, version } = tidemark.FilterWords.decode(bytes)
  return { words, version }
}

/** Identifies text, media, source and audience: the first bytes of their SHA-256. */
export function contentsHash({ text, media, source, audience }: PostDraft): Buffer {
  const bytes = encodePost({ author: '', clientKey: '', text, media, source, audience, deleted: false, version: 0 })
  return createHash('sha256').update(bytes).digest().subarray(0, CONTENTS_HASH_BYTES)
}

/** A post after its deletion. The audience and the source stay, so that inboxes and the counter of the source can be corrected. */
export function tombstoneOf(post: Post, version: number): Post {
  return { ...post, text: '', media: [], version, deleted: true }
}
