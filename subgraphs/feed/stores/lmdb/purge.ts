/**
 * Forgets what was last changed before a moment, in the order of the changes: posts with their client keys and places in outboxes, then
 * noted changes. With the noted change of an inbox go the inbox and the filter words. Dirty posts and words stay.
 */
import { inboxKey } from '../../model/cache-keys.ts'
import type { PostId } from '../../packed/post-id.ts'
import { removeId } from '../../packed/vector.ts'
import { INBOX, NOTED, OUTBOX, POST, changeRange, clientKeyKey, idOfHeldPostKey, plainKey, readNotedKey } from './keys.ts'
import { decodeKnownKey } from './values.ts'
import { clockOf, forgetNote, putList, readList, readPost, readWords, replacePost, replaceWords, type FeedWork } from './work.ts'

/** Of these regions, below this tick, at most `limit`. Returns the number forgotten. */
export function purgeOld(work: FeedWork, regions: readonly number[], belowTick: number, limit: number): number {
  let forgotten = 0
  for (const region of regions) {
    if (forgotten < limit) forgotten += purgePosts(work, region, belowTick, limit - forgotten)
    if (forgotten < limit) forgotten += purgeNotes(work, region, belowTick, limit - forgotten)
  }
  return forgotten
}

function purgePosts(work: FeedWork, region: number, belowTick: number, limit: number): number {
  const clean: PostId[] = []
  for (const key of work.tables.changes.getKeys(changeRange(region, POST, 0, belowTick))) {
    const id = idOfHeldPostKey(key)
    if (readPost(work, id)?.dirtySince === 0) clean.push(id)
    if (clean.length === limit) break
  }
  for (const id of clean) forgetPost(work, id)
  return clean.length
}

function forgetPost(work: FeedWork, id: PostId): void {
  const held = readPost(work, id)
  if (held === undefined) return
  const { author, clientKey } = held.content
  const { viewers } = work.tables
  replacePost(work, id, held, undefined)
  const { added, removed } = readList(work, OUTBOX, author)
  putList(work, OUTBOX, author, { added: removeId(added, id), removed: removed.filter((removal) => removal.id !== id) })
  const known = viewers.getBinaryFast(clientKeyKey(author, clientKey))
  if (known !== undefined && decodeKnownKey(known).id === id) void viewers.remove(clientKeyKey(author, clientKey))
}

function purgeNotes(work: FeedWork, region: number, belowTick: number, limit: number): number {
  const notes: { key: string; version: number }[] = []
  for (const noted of work.tables.changes.getKeys(changeRange(region, NOTED, 0, belowTick))) {
    const note = readNotedKey(noted)
    if (!hasDirtyWords(work, note.key)) notes.push(note)
    if (notes.length === limit) break
  }
  const clock = clockOf(work, region)
  for (const { key, version } of notes) {
    forgetNote(work, region, key)
    if (isInboxKey(key)) forgetInbox(work, key.slice(1))
    clock.forgotten = Math.max(clock.forgotten, version)
    clock.changed = true
  }
  return notes.length
}

function isInboxKey(key: string): boolean {
  return key.startsWith(inboxKey(''))
}

function hasDirtyWords(work: FeedWork, key: string): boolean {
  return isInboxKey(key) && (readWords(work, key.slice(1))?.dirtySince ?? 0) > 0
}

function forgetInbox(work: FeedWork, viewer: string): void {
  const held = readWords(work, viewer)
  if (held !== undefined) replaceWords(work, viewer, held, undefined)
  void work.tables.viewers.remove(plainKey(INBOX, viewer))
}
