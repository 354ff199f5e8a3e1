/**
 * The persist step of the feed: read the dirty posts and filter words, repeat their effects, write them to the record store, and clear the
 * dirty marks that have not moved. Jobs run it for log messages, the sweeper for keys that no flush carried, and the service while the log
 * is down. It is idempotent.
 *
 * The order of the stages carries the guarantees.
 * 1. Effects outside the author's region come first: inboxes of the audience and counters. The process that published or deleted the post
 *    may have died before them. While the mark is dirty, this step runs again.
 * 2. The record store takes posts with their versions, so a late older step changes nothing there.
 * 3. Marks are cleared at the version that was read. A crash before this stage leaves the mark.
 *
 * A hot store in parts may lack some regions. Posts and words that need them stay dirty for the sweeper, and the others are persisted.
 */
import type { BusinessNumber, FlushedKey, ViewerId } from '../../../core/domain.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import { PartOutage } from '../../../core/outage/part-outage.ts'
import { distinctKeys } from '../../../core/progress-key.ts'
import { dirtyKeyOf, type DirtyKey } from '../model/dirty-keys.ts'
import type { CountEvent } from '../model/counts.ts'
import { recipientsOf, type FilterWords, type Post } from '../model/post.ts'
import type { FeedHotStore, FeedStoreOptions } from '../stores/hot-store.ts'
import type { FeedRecords, WordsRow } from '../stores/record-store.ts'
import { countedEvents } from './counted-events.ts'
import { chunkedByWeight } from '../../../stores/chunks.ts'

export type FeedPersistStores = {
  hot: Pick<FeedHotStore, 'readDirty' | 'addToInboxes' | 'removeFromInboxes' | 'clearDirty' | 'dropDirty'>
  records: Pick<FeedRecords, 'putPosts' | 'putWords'>
  /** As in `CounterService`: an outcome or an error for each event. */
  adjust(events: readonly CountEvent[]): Promise<readonly unknown[]>
}

/** `business`: of the posts. */
export type FeedPersistOptions = FeedStoreOptions & { business: BusinessNumber }

export type FeedPersistReport = {
  /** Distinct keys. */
  keys: number
  posts: number
  words: number
  /** Keys without contents in the hot store: lost before they were persisted. */
  missing: number
  /** Keys that stay dirty, because a store did not answer for them. */
  left: number
}

/** Rows of a transaction, with those of inboxes. One post has a thousand at most. */
const TRANSACTION_ROWS_MAX = 5_000
/** Restricted posts whose inboxes are changed at once. */
const INBOXES_AT_ONCE = 16

/** `onLate` gets the outages that concern some keys only. Rejects with the code of the store that failed. A repetition is safe and complete. */
export async function persistFeed(
  stores: FeedPersistStores,
  keys: Iterable<FlushedKey>,
  options: FeedPersistOptions,
  onLate: (error: unknown) => void,
): Promise<FeedPersistReport> {
  const distinct = distinctKeys(keys).map(dirtyKeyOf)
  const report: FeedPersistReport = { keys: distinct.length, posts: 0, words: 0, missing: 0, left: 0 }
  if (distinct.length === 0) return report

  /** Runs the stage for the items whose parts of the hot store answer, and returns these items. */
  async function answering<T>(items: readonly T[], viewersOf: (item: T) => ViewerId[], stage: (some: readonly T[]) => Promise<void>) {
    let some = items
    while (some.length > 0) {
      try {
        await stage(some)
        break
      } catch (error) {
        const rest =
          isTidemarkError(error) && error instanceof PartOutage ? some.filter((item) => !viewersOf(item).some(error.concerns)) : some
        if (rest.length === some.length) throw error
        report.left += some.length - rest.length
        onLate(error)
        some = rest
      }
    }
    return some
  }

  const contents = new Map<DirtyKey, Post | FilterWords | undefined>()
  const read = await answering(distinct, viewerOf, async (some) => {
    const found = await stores.hot.readDirty(some)
    some.forEach((key, at) => contents.set(key, found[at]))
  })
  const posts: Post[] = []
  const words: WordsRow[] = []
  const missing: DirtyKey[] = []
  for (const key of read) {
    const content = contents.get(key)
    if (content === undefined) missing.push(key)
    else if ('id' in content) posts.push(content)
    else words.push({ viewer: key.viewer, words: content })
  }

  const placed = await answering(posts, recipientsOf, (some) => repeatInboxes(stores.hot, some, options))
  const effective = await repeatCounts(stores, placed, options, onLate)
  report.left += placed.length - effective.length
  for (const chunk of chunkedByWeight(effective, TRANSACTION_ROWS_MAX, rowsOf)) await stores.records.putPosts(chunk)
  if (words.length > 0) await stores.records.putWords(words)
  const persisted = [
    ...effective.map(({ author, id, version }) => ({ key: { viewer: author, post: id }, version })),
    ...words.map(({ viewer, words: { version } }) => ({ key: { viewer, post: undefined }, version })),
  ]
  await answering(
    persisted,
    ({ key }) => viewerOf(key),
    (some) => stores.hot.clearDirty(some),
  )
  await answering(missing, viewerOf, (some) => stores.hot.dropDirty(some))
  return { ...report, posts: effective.length, words: words.length, missing: missing.length }
}

function viewerOf({ viewer }: DirtyKey): ViewerId[] {
  return [viewer]
}

/** Repeats the changes of inboxes. The hot store makes each of them once. */
async function repeatInboxes(hot: FeedPersistStores['hot'], posts: readonly Post[], options: FeedPersistOptions): Promise<void> {
  const restricted = posts.filter(({ audience }) => audience !== undefined)
  for (let start = 0; start < restricted.length; start += INBOXES_AT_ONCE) {
    const changes = restricted.slice(start, start + INBOXES_AT_ONCE).map((post) => {
      const viewers = recipientsOf(post)
      return post.deleted ? hot.removeFromInboxes(post.id, viewers, options) : hot.addToInboxes(post.id, viewers, options)
    })
    // Waits for all, so that nothing is under way when a job has stopped.
    for (const change of await Promise.allSettled(changes)) if (change.status === 'rejected') throw change.reason
  }
}

/** Repeats the events of counters, which count once. Returns the posts whose events all have an outcome. */
async function repeatCounts(
  { adjust }: FeedPersistStores,
  posts: readonly Post[],
  { business, now }: FeedPersistOptions,
  onLate: (error: unknown) => void,
): Promise<readonly Post[]> {
  const events = posts.flatMap((post) => countedEvents(post, business, now).map((event) => ({ post, event })))
  if (events.length === 0) return posts
  const outcomes = await adjust(events.map(({ event }) => event))
  const failed = events.filter((_, at) => isTidemarkError(outcomes[at]))
  if (failed.length === 0) return posts
  onLate(outcomes.find(isTidemarkError))
  const uncounted = new Set(failed.map(({ post }) => post))
  return posts.filter((post) => !uncounted.has(post))
}

function rowsOf({ audience }: Post): number {
  return 1 + (audience?.length ?? 0)
}
