/**
 * Connects the marks of follows to the feed. Each put of such marks, also from a journal, forgets the longsets of their viewers and notes
 * the change, before it resolves. A reader who begins afterwards therefore never uses a list without them.
 *
 * 1. Forget the longset, and void new leases for a while.
 * 2. Put the marks.
 * 3. Forget the longset that an earlier lease may have stored, and allow leases again.
 *
 * A process that dies after step 2 leaves no longset behind. If step 3 fails, the call fails, and its caller repeats it.
 */
import { FOLLOW_BUSINESS } from '../../config/feed.ts'
import type { Clock } from '../../core/clock.ts'
import { graphKey } from '../../subgraphs/feed/model/cache-keys.ts'
import type { FeedHotStore } from '../../subgraphs/feed/stores/hot-store.ts'
import type { LongsetStore } from '../../subgraphs/feed/stores/longset-store.ts'
import type { MarkStore } from '../../subgraphs/thumbup/stores/hot-store.ts'

/** A put takes less. */
const PUT_MAX_MS = 10_000

export function withFollowChanges(
  marks: MarkStore,
  { longsets, hot }: { longsets: Pick<LongsetStore, 'forget'>; hot: Pick<FeedHotStore, 'noteChange'> },
  clock: Clock,
  keepMs: number,
): MarkStore {
  return {
    ...marks,
    async putMarks(writes, options) {
      const viewers = [...new Set(writes.flatMap(({ business, viewer }) => (business === FOLLOW_BUSINESS ? [viewer] : [])))]
      if (viewers.length === 0) return marks.putMarks(writes, options)
      await longsets.forget(viewers, PUT_MAX_MS)
      const outcomes = await marks.putMarks(writes, options)
      await longsets.forget(viewers, 0)
      await Promise.all(viewers.map((viewer) => hot.noteChange(viewer, graphKey(viewer), { now: clock.now(), keepMs })))
      return outcomes
    },
  }
}
