/**
 * Port: the traces that `write/erasure.ts` leaves in the stores of the feed. It deletes posts, empties filter words and ends follows in the
 * usual way, so that other processes and caches learn of it. Then the tombstones and the empty values go.
 *
 * The notes of changes stay until `feed.keepMs`: other processes need them to drop what they have cached.
 */
import type { ViewerId } from '../../../core/domain.ts'
import type { Traces } from '../../../core/erasure/traces.ts'
import type { PostId } from '../packed/post-id.ts'

export interface FeedHotTraces {
  /** Removes tombstones with these ids, lists, client keys, filter words and follow lists of the viewer. */
  erase(viewer: ViewerId, ids: readonly PostId[]): Promise<number>
  /** `ids`: the posts of the viewer in the record store. */
  count(viewer: ViewerId, ids: readonly PostId[]): Promise<number>
}

export type FeedRecordTraces = Traces & {
  /** All posts of this author, tombstones included. */
  listPostIds(author: ViewerId): Promise<PostId[]>
}

/** `counters`: the totals of the viewer as a subject, in both stores. A total that is not 0 stays. */
export type FeedTraces = { hot: FeedHotTraces; records: FeedRecordTraces; counters: { hot: Traces; records: Traces } }

/** The hot store learns the ids from the record store, and so goes first. */
export function hotTracesOf({ hot, records }: Pick<FeedTraces, 'hot' | 'records'>): Traces {
  return {
    erase: async (viewer) => hot.erase(viewer, await records.listPostIds(viewer)),
    count: async (viewer) => hot.count(viewer, await records.listPostIds(viewer)),
  }
}
