/**
 * Port: the hot store of the feed. A post in it is readable at once. It holds the recent changes only: posts published, deleted or
 * taken from a viewer in the last days (`keepMs`), and all that are not persisted yet. The record store has the others. A reader therefore
 * merges both (`read/`): first the hot store, then the record store, and a change in the hot store wins.
 *
 * A post belongs to the region of its author, an inbox and filter words to the region of their viewer. One atomic step can change
 * everything in a region. Each region has a clock of ticks (`packed/post-id.ts`), which gives posts their ids and changes their versions.
 *
 * Each change is noted in its region's list of changes under the key of the cached value that it makes old (`model/cache-keys.ts`). A
 * reader asks for the changes since its last question before it uses cached values (`read/freshness.ts`).
 *
 * Every adapter passes `test/contracts/feed/hot-store.ts`. Failures of the store surface as `TidemarkError` with code
 * `HOT_STORE_UNAVAILABLE` (retryable, as a `PartOutage` for a store in parts) or `STORE_FULL`. A failed call may have been executed. Every
 * call may be repeated.
 */
import type { DirtyWalk, ViewerId } from '../../../core/domain.ts'
import type { DirtyKey } from '../model/dirty-keys.ts'
import type { FilterWords, Post, PostDraft } from '../model/post.ts'
import type { PostId } from '../packed/post-id.ts'

export type PublishOutcome =
  /** Stored, readable and marked dirty. */
  | { status: 'published'; post: Post }
  /** The author's client key already has this post, with the same contents. Nothing changed. */
  | { status: 'repeated'; post: Post }
  /** The author's client key already has this post, with other contents. Nothing changed. */
  | { status: 'conflict'; id: PostId }
  /** The client key has no post, and only a repetition was asked for. Nothing changed. */
  | { status: 'unknown' }

/** Part of the ids that were added to a list: the newest ones below `before` (undefined: of all), at most `limit`. Minimum 1. */
export type ListAsked = { before: PostId | undefined; limit: number }

/** The recent changes of a list of posts. */
export type ListChanges = {
  /** Ids that were added lately, or the asked part of them: packed vector (`packed/vector.ts`). */
  added: Buffer
  /** True if there are added ids below the first of `added`. */
  hasMore: boolean
  /** Ids that were removed lately: packed vector. */
  removed: Buffer
  /** The newest noted change under the key of the list's head or inbox. 0 if none is remembered. */
  version: number
}

/** A changed key with the tick of its newest change. */
export type ChangedKey = { key: string; version: number }

export type RegionChanges = {
  region: number
  /** All changes above the asked tick. A key occurs once. */
  changed: ChangedKey[]
  /** The region's newest tick. */
  version: number
  /**
   * True if changes above the asked tick were forgotten: it is older than what is remembered, or the store was lost and came back empty. The
   * changes of a new region count as forgotten, too.
   */
  isPartial: boolean
}

export type FeedStoreOptions = {
  /** The server's clock, ms since the epoch. */
  now: number
  /** Changes and client keys are remembered for this long. */
  keepMs: number
}

export type PublishOptions = FeedStoreOptions & {
  /** Publishes nothing new. Default false. */
  repeatsOnly?: boolean
}

export interface FeedHotStore {
  /**
   * Assigns id and version, stores the post, adds the id to the outbox of its author if everybody may see it, remembers the client key, and
   * marks the post dirty. Atomic. Contents are equal if text, media, source and audience are.
   */
  publish(draft: PostDraft, options: PublishOptions): Promise<PublishOutcome>
  /**
   * Adds the post to the inboxes of these viewers, unless it was removed there: a removal is final. An inbox that changes forgets its entries
   * of posts and removals that are older than `keepMs` and than a change that `purgeOld` forgot. All of them are persisted. Atomic per viewer.
   */
  addToInboxes(id: PostId, viewers: readonly ViewerId[], options: FeedStoreOptions): Promise<void>
  /** Removes the post from the inboxes of these viewers, as `addToInboxes`. */
  removeFromInboxes(id: PostId, viewers: readonly ViewerId[], options: FeedStoreOptions): Promise<void>
  /**
   * Replaces the post by its tombstone, removes it from the outbox and marks it dirty. Atomic. Returns the tombstone; a second deletion
   * returns the first tombstone. A tombstone has no text and media. Its audience and source stay, so that inboxes and the counter of the
   * source can be corrected.
   */
  delete(post: Post, options: FeedStoreOptions): Promise<Post>
  /**
   * Removes a viewer from the audience of a restricted post and marks it dirty. Atomic. The store's own post counts, if it has the post.
   * Returns the post as stored. A tombstone, and a post without this viewer, stay as they are. The inbox is the caller's.
   */
  removeFromAudience(post: Post, viewer: ViewerId, options: FeedStoreOptions): Promise<Post>

  /** Replaces the viewer's filter words and marks them dirty. Atomic. Returns them as stored. */
  setWords(viewer: ViewerId, words: readonly string[], options: FeedStoreOptions): Promise<FilterWords>
  /** Undefined: the store has none, and the record store may have some. */
  getWords(viewer: ViewerId): Promise<FilterWords | undefined>

  /** Multi-get in key order. Tombstones are answers; undefined: the store does not have the post. */
  getPostMany(ids: readonly PostId[]): Promise<(Post | undefined)[]>
  /** In order. Without a part: all ids that were added. Outboxes never have restricted posts. */
  getOutboxMany(authors: readonly ViewerId[], part?: ListAsked): Promise<ListChanges[]>
  /** Alike. */
  getInboxMany(viewers: readonly ViewerId[], part?: ListAsked): Promise<ListChanges[]>
  /** The changes of regions above a tick each, in one round trip per server. Regions without a change are left out. */
  listChanges(since: ReadonlyMap<number, number>): Promise<RegionChanges[]>
  /** Notes a change of another store's data in the region of this viewer, under this key. Returns its version. */
  noteChange(viewer: ViewerId, key: string, options: FeedStoreOptions): Promise<number>

  /** For the persist step: in key order; undefined if the contents are missing. */
  readDirty(keys: readonly DirtyKey[]): Promise<(Post | FilterWords | undefined)[]>
  /** Removes each key's dirty mark if its version has not moved. Contents stay until `purgeOld`. */
  clearDirty(keys: readonly { key: DirtyKey; version: number }[]): Promise<void>
  /** Removes dirty marks without contents. */
  dropDirty(keys: readonly DirtyKey[]): Promise<void>
  /** As `listDirtyMarks` of thumbup's hot store. */
  listDirty(regions: readonly number[], dirtyBefore: number, limit: number, walk?: DirtyWalk): Promise<DirtyKey[]>
  /** The number of dirty keys in all regions. */
  countDirty(): Promise<number>

  /**
   * Forgets what was last changed in these regions before this moment, at most about `limit` posts and noted changes: clean posts with
   * their client keys and places in outboxes, and noted changes. An inbox and clean filter words go with the noted change of their key. An
   * inbox does not know which posts are persisted, so ask for no later moment than that of the oldest dirty mark of all regions. Returns the
   * number forgotten; 0 = done.
   */
  purgeOld(regions: readonly number[], changedBefore: number, limit: number): Promise<number>

  /** Resolves if the store answers and accepts writes. Rejects with the failure. With a part: checks that part only. */
  check(part?: number): Promise<void>
  /** As in the hot store of history. */
  partOf?(viewer: ViewerId): number
  close(): Promise<void>
}
