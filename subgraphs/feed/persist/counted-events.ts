/**
 * The events that the persist step counts again: the process that published or deleted the post may have died before it counted them.
 *
 * Counters remember the ids of events for an hour at least. An event of an older change is left out, because it could be counted a second
 * time. Keys are flushed within seconds, so an old change was counted by its process, or by a first run of this step. Its event is lost only
 * if both failed for all that time, as when the base of a counter is in a record store that is down. `tidemark reconcile` names such counters.
 */
import type { BusinessNumber } from '../../../core/domain.ts'
import type { CountEvent } from '../model/counts.ts'
import { eventsOfPost } from '../model/post-events.ts'
import type { Post } from '../model/post.ts'
import { REMEMBER_MS } from '../stores/counter-store.ts'
import { POST_EPOCH_MS, TICKS_PER_MS, createdAtOf } from '../packed/post-id.ts'

/** Shorter than the memory of counters, because clocks differ. */
const COUNTED_AGAIN_MS = REMEMBER_MS - 600_000

/** In order: what a post adds comes before what its deletion takes back. `business`: of the posts. */
export function countedEvents(post: Post, business: BusinessNumber, now: number): CountEvent[] {
  const since = now - COUNTED_AGAIN_MS
  const published = createdAtOf(post.id) >= since ? eventsOfPost({ ...post, deleted: false }, business) : []
  return post.deleted && changedAtOf(post) >= since ? [...published, ...eventsOfPost(post, business)] : published
}

function changedAtOf({ version }: Post): number {
  return POST_EPOCH_MS + version / TICKS_PER_MS
}
