/**
 * New posts that wait for a viewer, as a stream for one subscriber. The stream follows the changes that this process reads anyway
 * (`freshness.ts`). A change of a followed author, of the inbox or of the follow list makes it count again, at most once per `everyMs`. It
 * counts the posts that a page would show, so deleted and filtered posts do not wait.
 *
 * One publication may concern thousands of streams. A few of them count at once, and each begins in its own turn of the event loop, so
 * requests are answered between them. The others wait for their turn, and count all changes until then at once.
 *
 * Following begins before the first read: a post published in between is seen twice, and never missed.
 *
 * While a store is down, the stream is silent and tries again. It sends complete counts only.
 */
import type { Clock, Timer } from '../../../core/clock.ts'
import { makeSlots } from '../../../core/concurrency-limit.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { makeTurns } from '../../../core/event-loop-yield.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import { graphKey, headKey, inboxKey } from '../model/cache-keys.ts'
import { buildLongset, longsetHas } from '../packed/longset.ts'
import type { PostId } from '../packed/post-id.ts'
import type { RegionChanges } from '../stores/hot-store.ts'
import type { Freshness } from './freshness.ts'
import { openLatestStream } from './latest-stream.ts'
import type { FollowList, Pages } from './page.ts'

export const WAITING_MAX = 100
/** Counts of open streams that run at once. */
const COUNTS_MAX = 4
const HEAD = headKey('')

/** `waiting`: 0 to 100. `newest`: the newest of them; null if none waits. */
export type FeedChange = { waiting: number; newest: PostId | null }

/**
 * `since`: the newest post that the viewer has. Undefined: the newest one of the page at this moment. Ends when the subscriber returns it.
 */
export type OpenWaiting = (viewer: ViewerId, since: PostId | undefined, degraded: Degraded) => Promise<AsyncIterableIterator<FeedChange>>

/** `everyMs`: milliseconds between two events of a stream. `onError` gets failures of a count; the next change counts again. */
export function makeWaiting(
  graph: FollowList,
  freshness: Pick<Freshness, 'follow'>,
  pages: Pick<Pages, 'newest'>,
  clock: Clock,
  everyMs: number,
  onError: (error: unknown) => void,
): OpenWaiting {
  const inSlot = makeSlots(COUNTS_MAX)
  const nextTurn = makeTurns()
  const inTurn = (task: () => Promise<void>): Promise<void> => inSlot(() => nextTurn().then(task))

  return async (viewer, asked, degraded) => {
    let since = asked
    let hasSince = asked !== undefined
    let last: FeedChange = { waiting: 0, newest: null }
    let followed: Buffer | undefined
    let mustReadFollowed = true
    let timer: Timer | undefined
    let isCounting = false
    let isWanted = false

    const stream = openLatestStream<FeedChange>(() => {
      hasEnded = true
      unfollow()
      timer?.cancel()
    })
    let hasEnded = false
    const unfollow = freshness.follow((answers) => {
      if (answers.some(({ changed }) => changed.some(({ key }) => key === graphKey(viewer)))) mustReadFollowed = true
      if (mustReadFollowed || answers.some((answer) => concerns(answer, viewer, followed))) plan()
    })

    function plan(): void {
      isWanted = true
      if (!isCounting && !hasEnded) timer ??= clock.after(everyMs, () => void run())
    }

    async function run(): Promise<void> {
      timer = undefined
      isCounting = true
      const notes: Degraded = new Set()
      await inTurn(async () => {
        isWanted = false
        if (!hasEnded) await count(notes)
      }).catch(onError)
      isCounting = false
      if (isWanted || notes.size > 0) plan()
    }

    async function count(notes: Degraded): Promise<void> {
      if (mustReadFollowed) await readFollowed(notes)
      const posts = await pages.newest(viewer, since, hasSince ? WAITING_MAX : 1, notes)
      if (posts === null || notes.size > 0) return
      const newest = posts[0]?.id ?? null
      if (!hasSince) {
        hasSince = true
        since = newest ?? undefined
      } else if (posts.length !== last.waiting || newest !== last.newest) {
        last = { waiting: posts.length, newest }
        stream.push(last)
      }
    }

    async function readFollowed(notes: Degraded): Promise<void> {
      // A change that comes while the list is read is not in it.
      mustReadFollowed = false
      const authors = await graph.following(viewer, notes).catch((error: unknown) => {
        mustReadFollowed = true
        throw error
      })
      if (authors === null) mustReadFollowed = true
      else followed = buildLongset(authors)
    }

    isCounting = true
    const notes: Degraded = new Set()
    try {
      await count(notes)
    } catch (error) {
      await stream.iterator.return?.()
      throw error
    }
    isCounting = false
    for (const store of notes) degraded.add(store)
    if (isWanted || notes.size > 0) plan()
    return stream.iterator
  }
}

/** `followed`: 16 bytes per author. Undefined: not known, so each author concerns the viewer. */
function concerns({ changed, isPartial }: RegionChanges, viewer: ViewerId, followed: Buffer | undefined): boolean {
  if (isPartial) return true
  return changed.some(({ key }) => {
    if (!key.startsWith(HEAD)) return key === inboxKey(viewer)
    return followed === undefined || longsetHas(followed, key.slice(HEAD.length))
  })
}
