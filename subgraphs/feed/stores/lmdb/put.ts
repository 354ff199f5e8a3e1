/** The viewer's writes, inside the call's transaction: posts, deletions, inboxes and filter words. */
import type { ViewerId } from '../../../../core/domain.ts'
import { contentKey, headKey, inboxKey } from '../../model/cache-keys.ts'
import { contentsHash, tombstoneOf } from '../../model/post-codec.ts'
import type { FilterWords, Post, PostDraft } from '../../model/post.ts'
import { POST_EPOCH_MS, TICKS_PER_MS, postIdOf, type PostId } from '../../packed/post-id.ts'
import type { FeedStoreOptions, PublishOutcome } from '../hot-store.ts'
import { INBOX, OUTBOX, clientKeyKey, listKey, listRange } from './keys.ts'
import { decodeKnownKey, decodeTick, encodeKnownKey, encodeTick } from './values.ts'
import { nextTick, note, readPost, readWords, regionOfViewer, replacePost, replaceWords, type FeedWork } from './work.ts'

const ADDED = 0

export function publish(work: FeedWork, draft: PostDraft, { now }: FeedStoreOptions): PublishOutcome {
  const { author, clientKey, audience } = draft
  const { viewers } = work.tables
  const hash = contentsHash(draft)
  const value = viewers.getBinaryFast(clientKeyKey(author, clientKey))
  if (value !== undefined) {
    const known = decodeKnownKey(value)
    if (!known.hash.equals(hash)) return { status: 'conflict', id: known.id }
    const held = readPost(work, known.id)
    // A key is forgotten together with its post.
    if (held !== undefined) return { status: 'repeated', post: held.content }
  }
  const region = regionOfViewer(work, author)
  const version = nextTick(work, region, now)
  const id = postIdOf(version, region)
  const post: Post = { ...draft, id, version, deleted: false }
  replacePost(work, id, undefined, { dirtySince: now, content: post })
  void viewers.put(clientKeyKey(author, clientKey), encodeKnownKey({ id, hash }))
  if (audience === undefined) {
    void viewers.put(listKey(OUTBOX, author, id), encodeTick(ADDED))
    note(work, region, headKey(author), version)
  }
  return { status: 'published', post }
}

export function deletePost(work: FeedWork, post: Post, { now }: FeedStoreOptions): Post {
  const { id, author } = post
  const held = readPost(work, id)
  if (held?.content.deleted === true) return held.content
  const region = regionOfViewer(work, author)
  const tombstone = tombstoneOf(post, nextTick(work, region, now, post.version))
  replacePost(work, id, held, { dirtySince: held?.dirtySince || now, content: tombstone })
  if (post.audience === undefined) {
    void work.tables.viewers.put(listKey(OUTBOX, author, id), encodeTick(tombstone.version))
    note(work, region, headKey(author), tombstone.version)
  }
  note(work, region, contentKey(id), tombstone.version)
  return tombstone
}

/** A removal is final: a late repetition of the addition changes nothing. */
export function changeInboxes(
  work: FeedWork,
  id: PostId,
  viewers: readonly ViewerId[],
  isRemoval: boolean,
  { now, keepMs }: FeedStoreOptions,
): void {
  const ticks = new Map<number, number>()
  const oldTick = (now - keepMs - POST_EPOCH_MS) * TICKS_PER_MS
  for (const viewer of new Set(viewers)) {
    const value = work.tables.viewers.getBinaryFast(listKey(INBOX, viewer, id))
    if (value !== undefined && (!isRemoval || decodeTick(value) > ADDED)) continue
    const region = regionOfViewer(work, viewer)
    const tick = ticks.get(region) ?? nextTick(work, region, now)
    ticks.set(region, tick)
    trimInbox(work, viewer, oldTick)
    void work.tables.viewers.put(listKey(INBOX, viewer, id), encodeTick(isRemoval ? tick : ADDED))
    note(work, region, inboxKey(viewer), tick)
  }
}

/** No entry is older than its post, so only entries of old posts are examined. */
function trimInbox(work: FeedWork, viewer: ViewerId, oldTick: number): void {
  const { viewers } = work.tables
  for (const { key, value } of [...viewers.getRange(listRange(INBOX, viewer, oldTick))]) {
    if (decodeTick(value) < oldTick) void viewers.remove(key)
  }
}

export function setWords(work: FeedWork, viewer: ViewerId, words: readonly string[], { now }: FeedStoreOptions): FilterWords {
  const region = regionOfViewer(work, viewer)
  const held = readWords(work, viewer)
  const content = { words: [...words], version: nextTick(work, region, now, held?.content.version) }
  replaceWords(work, viewer, held, { dirtySince: held?.dirtySince || now, content })
  note(work, region, inboxKey(viewer), content.version)
  return content
}

export function noteChange(work: FeedWork, viewer: ViewerId, key: string, { now }: FeedStoreOptions): number {
  const region = regionOfViewer(work, viewer)
  const tick = nextTick(work, region, now)
  note(work, region, key, tick)
  return tick
}
