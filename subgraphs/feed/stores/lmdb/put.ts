/** The viewer's writes, inside the call's transaction: posts, deletions, inboxes and filter words. */
import type { ViewerId } from '../../../../core/domain.ts'
import { contentKey, headKey, inboxKey } from '../../model/cache-keys.ts'
import { contentsHash, tombstoneOf } from '../../model/post-codec.ts'
import { names, withoutViewer, type FilterWords, type Post, type PostDraft } from '../../model/post.ts'
import { POST_EPOCH_MS, TICKS_PER_MS, postIdOf, postTick, type PostId } from '../../packed/post-id.ts'
import { hasId, insertId, packOne, placeOf, removeId } from '../../packed/vector.ts'
import type { FeedStoreOptions, PublishOptions, PublishOutcome } from '../hot-store.ts'
import { INBOX, OUTBOX, clientKeyKey } from './keys.ts'
import { decodeKnownKey, encodeKnownKey } from './values.ts'
import {
  clockOf,
  nextTick,
  note,
  putList,
  readList,
  readPost,
  readWords,
  regionOfViewer,
  replacePost,
  replaceWords,
  type FeedWork,
} from './work.ts'

export function publish(work: FeedWork, draft: PostDraft, { now, repeatsOnly = false }: PublishOptions): PublishOutcome {
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
  if (repeatsOnly) return { status: 'unknown' }
  const region = regionOfViewer(work, author)
  const version = postTick(nextTick(work, region, now), audience !== undefined)
  clockOf(work, region).last = version
  const id = postIdOf(version, region)
  const post: Post = { ...draft, id, version, deleted: false }
  replacePost(work, id, undefined, { dirtySince: now, content: post })
  void viewers.put(clientKeyKey(author, clientKey), encodeKnownKey({ id, hash }))
  if (audience === undefined) {
    const { added, removed } = readList(work, OUTBOX, author)
    putList(work, OUTBOX, author, { added: insertId(added, id), removed })
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
    const { added, removed } = readList(work, OUTBOX, author)
    putList(work, OUTBOX, author, { added: removeId(added, id), removed: [...removed, { id, tick: tombstone.version }] })
    note(work, region, headKey(author), tombstone.version)
  }
  note(work, region, contentKey(id), tombstone.version)
  return tombstone
}

export function removeFromAudience(work: FeedWork, post: Post, viewer: ViewerId, { now }: FeedStoreOptions): Post {
  const { id, author } = post
  const held = readPost(work, id)
  const stored = held?.content ?? post
  if (!names(stored, viewer)) return stored
  const region = regionOfViewer(work, author)
  const content = { ...withoutViewer(stored, viewer), version: nextTick(work, region, now, stored.version) }
  replacePost(work, id, held, { dirtySince: held?.dirtySince || now, content })
  note(work, region, contentKey(id), content.version)
  return content
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
  for (const viewer of new Set(viewers)) {
    const { added, removed } = readList(work, INBOX, viewer)
    if (removed.some((removal) => removal.id === id) || (!isRemoval && hasId(added, id))) continue
    const region = regionOfViewer(work, viewer)
    const tick = ticks.get(region) ?? nextTick(work, region, now)
    ticks.set(region, tick)
    // What is newer than all forgotten changes may not be persisted.
    const oldTick = Math.max(0, Math.min((now - keepMs - POST_EPOCH_MS) * TICKS_PER_MS, clockOf(work, region).forgotten))
    const oldId = packOne(postIdOf(oldTick, 0))
    const kept = { added: added.subarray(placeOf(added, oldId)), removed: removed.filter((removal) => removal.tick >= oldTick) }
    if (isRemoval) putList(work, INBOX, viewer, { added: removeId(kept.added, id), removed: [...kept.removed, { id, tick }] })
    else putList(work, INBOX, viewer, { added: insertId(kept.added, id), removed: kept.removed })
    note(work, region, inboxKey(viewer), tick)
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
