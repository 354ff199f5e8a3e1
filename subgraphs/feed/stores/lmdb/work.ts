/**
 * The work of one call to the feed's hot store: its tables, and the clocks of the regions it touches, read once. It lives as long as the
 * call's transaction. `settleFeed` writes back the clocks.
 */
import type { ViewerId } from '../../../../core/domain.ts'
import { regionOf } from '../../../../core/regions.ts'
import { dirtyMark } from '../../../../stores/lmdb/dirty-marks.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import { flushedKeyOf, type DirtyKey } from '../../model/dirty-keys.ts'
import type { FilterWords, Post } from '../../model/post.ts'
import { tickAfter, type PostId } from '../../packed/post-id.ts'
import { EMPTY_VECTOR } from '../../packed/vector.ts'
import { WORDS, clockKey, heldPostKey, newestKey, notedKey, plainKey, postKey, type ListKind } from './keys.ts'
import {
  decodeClock,
  decodeHeldPost,
  decodeHeldWords,
  decodeList,
  decodeTick,
  encodeClock,
  encodeHeldPost,
  encodeHeldWords,
  encodeList,
  encodeTick,
} from './values.ts'
import type { Held, HeldList, RegionClock } from './values.ts'

/** `keys.ts` describes them. */
export type FeedTables = {
  posts: Bytes
  viewers: Bytes
  changes: Bytes
  /** Keys that wait to be persisted, by the time of their first change (`dirty-marks.ts`). */
  dirty: Bytes
  counters: Bytes
}

export type FeedWork = { tables: FeedTables; regions: number; clocks: Map<number, RegionClock & { changed: boolean }> }

const NOTHING = Buffer.allocUnsafeSlow(0)
const NO_LIST: HeldList = { added: EMPTY_VECTOR, removed: [] }

export function openFeedTables(environment: Environment): FeedTables {
  return {
    posts: environment.table('hot-feed-posts'),
    viewers: environment.table('hot-feed-viewers'),
    changes: environment.table('hot-feed-changes'),
    dirty: environment.table('hot-feed-dirty'),
    counters: environment.table('hot-feed-counters'),
  }
}

export function beginFeed(tables: FeedTables, regions: number): FeedWork {
  return { tables, regions, clocks: new Map() }
}

export function regionOfViewer(work: FeedWork, viewer: ViewerId): number {
  return regionOf(viewer, work.regions)
}

export function clockOf(work: FeedWork, region: number): RegionClock & { changed: boolean } {
  const known = work.clocks.get(region)
  if (known !== undefined) return known
  const value = work.tables.counters.getBinaryFast(clockKey(region))
  const clock = { ...(value === undefined ? { last: 0, forgotten: 0 } : decodeClock(value)), changed: false }
  work.clocks.set(region, clock)
  return clock
}

/** The region's next tick, also above `above`: a version from before the store was lost. */
export function nextTick(work: FeedWork, region: number, now: number, above = 0): number {
  const clock = clockOf(work, region)
  clock.last = Math.max(tickAfter(clock.last, now), above + 1)
  clock.changed = true
  return clock.last
}

/** Notes a change under the key, in place of the key's older one. */
export function note(work: FeedWork, region: number, key: string, tick: number): void {
  const { changes } = work.tables
  forgetNote(work, region, key)
  void changes.put(notedKey(region, tick, key), NOTHING)
  void changes.put(newestKey(region, key), encodeTick(tick))
}

/** The tick of the key's noted change; 0 if there is none. */
export function notedTick(work: FeedWork, region: number, key: string): number {
  const value = work.tables.changes.getBinaryFast(newestKey(region, key))
  return value === undefined ? 0 : decodeTick(value)
}

export function forgetNote(work: FeedWork, region: number, key: string): void {
  const tick = notedTick(work, region, key)
  if (tick === 0) return
  void work.tables.changes.remove(notedKey(region, tick, key))
  void work.tables.changes.remove(newestKey(region, key))
}

export function readPost(work: FeedWork, id: PostId): Held<Post> | undefined {
  const value = work.tables.posts.getBinaryFast(postKey(id))
  return value === undefined ? undefined : decodeHeldPost(id, value, value.length)
}

/** Stores `next` in place of `held` (undefined: none), and updates the dirty mark and the place by version. */
export function replacePost(work: FeedWork, id: PostId, held: Held<Post> | undefined, next: Held<Post> | undefined): void {
  const { posts, changes } = work.tables
  const author = (next ?? held)?.content.author
  if (author === undefined) return
  const region = regionOfViewer(work, author)
  if (next === undefined) void posts.remove(postKey(id))
  else void posts.put(postKey(id), encodeHeldPost(next))
  const [before, after] = [held?.content.version, next?.content.version]
  if (before !== after) {
    if (before !== undefined) void changes.remove(heldPostKey(region, before, id))
    if (after !== undefined) void changes.put(heldPostKey(region, after, id), NOTHING)
  }
  moveDirtyMark(work, region, { viewer: author, post: id }, held?.dirtySince, next?.dirtySince)
}

export function readWords(work: FeedWork, viewer: ViewerId): Held<FilterWords> | undefined {
  const value = work.tables.viewers.getBinaryFast(plainKey(WORDS, viewer))
  return value === undefined ? undefined : decodeHeldWords(value, value.length)
}

/** The same for filter words. */
export function replaceWords(
  work: FeedWork,
  viewer: ViewerId,
  held: Held<FilterWords> | undefined,
  next: Held<FilterWords> | undefined,
): void {
  if (next === undefined) void work.tables.viewers.remove(plainKey(WORDS, viewer))
  else void work.tables.viewers.put(plainKey(WORDS, viewer), encodeHeldWords(next))
  moveDirtyMark(work, regionOfViewer(work, viewer), { viewer, post: undefined }, held?.dirtySince, next?.dirtySince)
}

export function readList(work: FeedWork, kind: ListKind, viewer: ViewerId): HeldList {
  const value = work.tables.viewers.getBinaryFast(plainKey(kind, viewer))
  return value === undefined ? NO_LIST : decodeList(value, value.length)
}

export function putList(work: FeedWork, kind: ListKind, viewer: ViewerId, list: HeldList): void {
  const { viewers } = work.tables
  if (list.added.length === 0 && list.removed.length === 0) void viewers.remove(plainKey(kind, viewer))
  else void viewers.put(plainKey(kind, viewer), encodeList(list))
}

function moveDirtyMark(work: FeedWork, region: number, key: DirtyKey, from = 0, to = 0): void {
  if (from === to) return
  if (from > 0) void work.tables.dirty.remove(dirtyMark(from, region, flushedKeyOf(key)))
  if (to > 0) void work.tables.dirty.put(dirtyMark(to, region, flushedKeyOf(key)), NOTHING)
}

/** Writes back the clocks. A writing call does this last in its transaction. */
export function settleFeed(work: FeedWork): void {
  for (const [region, clock] of work.clocks) {
    if (clock.changed) void work.tables.counters.put(clockKey(region), encodeClock(clock))
  }
}
