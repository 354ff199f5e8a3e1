/**
 * The record store of the feed on LMDB (`records/keys.ts`). A call of `putPosts` is one transaction of the environment. It runs alone, on
 * the newest state, so comparing versions needs no other guard. Inboxes change by the difference between the stored audience and the new
 * one; a tombstone has none.
 */
import { setImmediate } from 'node:timers/promises'
import type { ViewerId } from '../../../../core/domain.ts'
import { unpackId } from '../../../../core/keys.ts'
import { countEntries } from '../../../../stores/lmdb/scan.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { decodePost, decodeWords, encodePost, encodeWords } from '../../model/post-codec.ts'
import type { FilterWords, Post } from '../../model/post.ts'
import type { PostId } from '../../packed/post-id.ts'
import type { FeedRecords, ListPart, WordsRow } from '../record-store.ts'
import { inboxesOf, isListed } from '../listing.ts'
import {
  ID_BYTES,
  PRESENT,
  deletedKey,
  deletedRange,
  idOfDeleted,
  listKey,
  listRange,
  openFeedRecordTables,
  postKey,
  wordsKey,
  type FeedRecordTables,
} from './records/keys.ts'

const REMOVED_PER_WRITE = 2_000
/** Lists that a call reads before it yields to the event loop: about a millisecond. */
const LISTS_PER_TURN = 64
/** Posts that an operator's listing decodes before it yields to the event loop. */
const POSTS_PER_TURN = 1_000

/** The environment stays open when the store is closed, since others may use it. */
export function openLmdbFeedRecords(environment: Environment): FeedRecords {
  const tables = openFeedRecordTables(environment)
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('RECORD_STORE_UNAVAILABLE', environment.folder, task)
  const reading = <T>(action: () => T): Promise<T> => calling(() => environment.read(action))

  async function listMany(table: Bytes, owners: readonly ViewerId[], before: PostId | undefined, limit: number): Promise<ListPart[]> {
    const parts: ListPart[] = []
    for (let at = 0; at < owners.length; at += LISTS_PER_TURN) {
      if (at > 0) await setImmediate()
      const some = owners.slice(at, at + LISTS_PER_TURN)
      parts.push(...environment.read(() => some.map((owner) => listPart(table, owner, before, limit))))
    }
    return parts
  }

  return {
    putPosts: (posts) => calling(() => environment.write(() => posts.forEach((post) => putPost(tables, post)))),
    putWords: (rows) => calling(() => environment.write(() => rows.forEach((row) => putWordsRow(tables, row)))),
    getPostMany: (ids) => reading(() => ids.map((id) => readPost(tables, id))),
    getWordsMany: (viewers) => reading(() => viewers.map((viewer) => readWords(tables, viewer))),
    listOutboxMany: (authors, before, limit) => calling(() => listMany(tables.outboxes, authors, before, limit)),
    listInboxMany: (viewers, before, limit) => calling(() => listMany(tables.inboxes, viewers, before, limit)),
    listPosts: (after, limit, author) =>
      calling(async () => {
        const found: Post[] = []
        for (let last = after; found.length < limit; await setImmediate()) {
          const some = environment.read(() => postsAfter(tables, last))
          if (some.length === 0) break
          last = some.at(-1)?.id
          found.push(...some.filter((post) => !post.deleted && (author === undefined || post.author === author)))
        }
        return found.slice(0, limit)
      }),
    listWords: (after, limit) =>
      reading(() =>
        Array.from(tables.words.getRange({ ...keysAfter(after === undefined ? undefined : wordsKey(after)), limit }), wordsRow),
      ),
    purgeDeleted: (versionBelow, limit) =>
      calling(() => environment.writeToFree(() => purgeDeleted(tables, versionBelow, Math.min(limit, REMOVED_PER_WRITE)))),
    countPosts: () => reading(() => countEntries(tables.posts) - countEntries(tables.deleted)),
    check: () => reading(() => undefined),
    close: () => Promise.resolve(),
  }
}

function readPost(tables: FeedRecordTables, id: PostId): Post | undefined {
  const value = tables.posts.getBinaryFast(postKey(id))
  return value === undefined ? undefined : decodePost(id, value.subarray(0, value.length))
}

function readWords(tables: FeedRecordTables, viewer: ViewerId): FilterWords | undefined {
  const value = tables.words.getBinaryFast(wordsKey(viewer))
  return value === undefined ? undefined : decodeWords(value.subarray(0, value.length))
}

/** Some posts with higher ids, tombstones included. */
function postsAfter(tables: FeedRecordTables, after: PostId | undefined): Post[] {
  const range = { ...keysAfter(after === undefined ? undefined : postKey(after)), limit: POSTS_PER_TURN }
  return Array.from(tables.posts.getRange(range), ({ key, value }) => decodePost(unpackId(key, 0), value))
}

function keysAfter(start: Buffer | undefined) {
  return start === undefined ? {} : { start, exclusiveStart: true }
}

function wordsRow({ key, value }: { key: Buffer; value: Buffer }): WordsRow {
  return { viewer: unpackId(key, 0), words: decodeWords(value) }
}

function putPost(tables: FeedRecordTables, post: Post): void {
  const stored = readPost(tables, post.id)
  if (stored !== undefined && stored.version >= post.version) return
  void tables.posts.put(postKey(post.id), Buffer.from(encodePost(post)))
  if (isListed(post)) void tables.outboxes.put(listKey(post.author, post.id), PRESENT)
  else if (isListed(stored)) void tables.outboxes.remove(listKey(post.author, post.id))
  const { added, removed } = inboxesOf(stored, post)
  for (const viewer of added) void tables.inboxes.put(listKey(viewer, post.id), PRESENT)
  for (const viewer of removed) void tables.inboxes.remove(listKey(viewer, post.id))
  if (stored?.deleted === true) void tables.deleted.remove(deletedKey(stored.version, post.id))
  if (post.deleted) void tables.deleted.put(deletedKey(post.version, post.id), PRESENT)
}

function putWordsRow(tables: FeedRecordTables, { viewer, words }: WordsRow): void {
  const stored = readWords(tables, viewer)
  if (stored === undefined || stored.version < words.version) void tables.words.put(wordsKey(viewer), Buffer.from(encodeWords(words)))
}

/** Reads one entry more than the limit, to find out whether the list goes on. */
function listPart(table: Bytes, owner: ViewerId, before: PostId | undefined, limit: number): ListPart {
  const keys = [...table.getKeys({ ...listRange(owner, before), limit: limit + 1 })]
  const hasMore = keys.length > limit
  if (hasMore) keys.pop()
  const ids = Buffer.allocUnsafe(keys.length * ID_BYTES)
  let end = ids.length
  for (const key of keys) {
    key.copy(ids, end - ID_BYTES, key.length - ID_BYTES)
    end -= ID_BYTES
  }
  return { ids, hasMore }
}

function purgeDeleted(tables: FeedRecordTables, versionBelow: number, limit: number): number {
  if (limit <= 0) return 0
  const keys = [...tables.deleted.getKeys({ ...deletedRange(versionBelow), limit })]
  for (const key of keys) {
    void tables.posts.remove(postKey(idOfDeleted(key)))
    void tables.deleted.remove(key)
  }
  return keys.length
}
