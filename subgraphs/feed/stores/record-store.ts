/**
 * Port: the record store of the feed. It has every persisted post by id, the public posts of each author in order of id, the inboxes, and
 * the filter words. The job writes it in large batches. Reads fill caches and continue lists beyond them.
 *
 * Every adapter passes `test/contracts/feed/record-store.ts`. Failures surface as `RECORD_STORE_UNAVAILABLE` (retryable) or `STORE_FULL`. A
 * failed call was executed completely or not at all, and may be repeated.
 */
import type { ViewerId } from '../../../core/domain.ts'
import type { FilterWords, Post } from '../model/post.ts'
import type { PostId } from '../packed/post-id.ts'

export type WordsRow = { viewer: ViewerId; words: FilterWords }

/** Part of a list, for one author or viewer: packed ids (`packed/vector.ts`). */
export type ListPart = {
  ids: Buffer
  /** True if the list may go on below the first of `ids`. */
  hasMore: boolean
}

export interface FeedRecords {
  /** The most concurrent reads of this process: its connections. Absent if the store is in this process and needs no limit. */
  readonly readsAtOnceMax?: number
  /**
   * Writes posts, and the inbox rows of restricted ones, in one transaction. A stored post with a higher version stays. A tombstone removes
   * the post from lists and inboxes. Ids are distinct. Every repetition and order ends in the same rows.
   */
  putPosts(posts: readonly Post[]): Promise<void>
  /** Replaces words whose version is not newer. Viewers are distinct. */
  putWords(rows: readonly WordsRow[]): Promise<void>

  /** Multi-get in key order, tombstones included. */
  getPostMany(ids: readonly PostId[]): Promise<(Post | undefined)[]>
  /** In order; undefined if none were ever set. */
  getWordsMany(viewers: readonly ViewerId[]): Promise<(FilterWords | undefined)[]>
  /** The newest public posts of each author, below `before` (undefined: from the newest), at most `limit` of each. In order of authors. */
  listOutboxMany(authors: readonly ViewerId[], before: PostId | undefined, limit: number): Promise<ListPart[]>
  /** The newest ids of each inbox, as `listOutboxMany`. */
  listInboxMany(viewers: readonly ViewerId[], before: PostId | undefined, limit: number): Promise<ListPart[]>

  /**
   * Posts that are not deleted, in an order of the store, after the post `after`, at most `limit`; none = done. With an author: only theirs,
   * restricted ones included. For operators; may be slow.
   */
  listPosts(after: PostId | undefined, limit: number, author?: ViewerId): Promise<Post[]>
  /** Filter words of all viewers, after the viewer `after`, at most `limit`; none = done. A list of words may be empty. */
  listWords(after: ViewerId | undefined, limit: number): Promise<WordsRow[]>
  /** Removes up to `limit` tombstones with a version below this tick. Returns the number removed; 0 = done. */
  purgeDeleted(versionBelow: number, limit: number): Promise<number>
  /** Posts that are not deleted. For operators and tests; may be slow. */
  countPosts(): Promise<number>
  check(): Promise<void>
  close(): Promise<void>
}
