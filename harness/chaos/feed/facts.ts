/**
 * The model: what readers may see and must see, derived from the acknowledged changes of a history. It has no stores, caches or processes.
 *
 * A change under way may be seen or not. A follow that only the journal has may be unseen until a later firm change of the same pair.
 */
import type { ViewerId } from '../../../core/domain.ts'
import { compareIds } from '../../../core/keys.ts'
import type { PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import { followText, type Counter, type CountedEvent, type FeedHistory, type Follow, type Interval, type Publication } from './history.ts'

/** Times of performance.now(); Infinity: not yet. */
export type PostFact = {
  id: PostId
  author: ViewerId
  text: string
  source: PostId | undefined
  audience: readonly ViewerId[] | undefined
  /** It cannot be seen before `begun`, and must be seen from `acked` on. */
  begun: number
  acked: number
  /** It may be gone from `deleting` on, and must be gone from `deleted` on. */
  deleting: number
  deleted: number
}

export type Facts = ReturnType<typeof makeFacts>

export function makeFacts(history: FeedHistory) {
  const posts = postsOf(history)
  const outboxes = Map.groupBy(sorted([...posts.values()].filter(({ audience }) => audience === undefined)), ({ author }) => author)
  const inboxes = new Map<ViewerId, PostFact[]>()
  for (const post of sorted([...posts.values()]))
    for (const viewer of new Set(post.audience)) {
      if (viewer === post.author) continue
      const inbox = inboxes.get(viewer)
      if (inbox === undefined) inboxes.set(viewer, [post])
      else inbox.push(post)
    }
  const follows = Map.groupBy(history.follows, ({ viewer, user }) => followText(viewer, user))
  const events = Map.groupBy(history.events, ({ id }) => id)

  return {
    users: history.users,
    posts,
    /** The public posts of an author, ascending by id. */
    outbox: (author: ViewerId): readonly PostFact[] => outboxes.get(author) ?? [],
    /** The restricted posts for this viewer, ascending by id. */
    inbox: (viewer: ViewerId): readonly PostFact[] => inboxes.get(viewer) ?? [],
    /** Each value of the follow that a read in this interval may show. */
    followed: (viewer: ViewerId, user: ViewerId, at: Interval): Set<boolean> => valuesIn(follows.get(followText(viewer, user)) ?? [], at),
    /** The last acknowledged value. */
    followedAtEnd: (viewer: ViewerId, user: ViewerId): boolean => follows.get(followText(viewer, user))?.at(-1)?.follows ?? false,
    /** The least and the greatest value of a counter that a read in this interval may show. */
    countBounds: (id: PostId, counter: Counter, at: Interval) => boundsOf(events.get(id) ?? [], counter, at),
  }
}

/** The author is not of the audience of the home feed, but may read the post. */
export function maySee({ author, audience }: PostFact, viewer: ViewerId): boolean {
  return audience === undefined || author === viewer || audience.includes(viewer)
}

/** True if every reader of this interval must see the post, if it may. */
export function stands({ acked, deleting }: PostFact, { begun, ended }: Interval): boolean {
  return acked <= begun && deleting > ended
}

export function isCounted({ answer }: CountedEvent): boolean {
  return answer === 'COUNTED' || answer === 'REPEATED'
}

/** The part of a sorted list with ids from `downTo` on and below `before`. */
export function rangeOf(list: readonly PostFact[], downTo: PostId | undefined, before: PostId | undefined): readonly PostFact[] {
  return list.slice(downTo === undefined ? 0 : placeOf(list, downTo), before === undefined ? undefined : placeOf(list, before))
}

function postsOf({ publications, deletions }: FeedHistory): Map<PostId, PostFact> {
  const posts = new Map<PostId, PostFact>()
  for (const publication of publications) {
    const { id } = publication
    if (id === undefined) continue
    const known = posts.get(id)
    if (known === undefined) posts.set(id, factOf(id, publication))
    else {
      known.begun = Math.min(known.begun, publication.begun)
      known.acked = Math.min(known.acked, publication.ended)
    }
  }
  for (const { viewer, id, code, begun, ended } of deletions) {
    const post = posts.get(id)
    if (post === undefined || post.author !== viewer || code !== undefined) continue
    post.deleting = Math.min(post.deleting, begun)
    post.deleted = Math.min(post.deleted, ended)
  }
  return posts
}

function factOf(id: PostId, { author, text, source, audience, begun, ended }: Publication): PostFact {
  return { id, author, text, source, audience, begun, acked: ended, deleting: Infinity, deleted: Infinity }
}

/** Changes of one viewer are sent one after the other. */
function valuesIn(changes: readonly Follow[], { begun, ended }: Interval): Set<boolean> {
  const last = changes.findLastIndex((change) => change.isFirm && change.ended <= begun)
  const later = changes.slice(last + 1).filter((change) => change.begun <= ended)
  return new Set([changes[last]?.follows ?? false, ...later.map(({ follows }) => follows)])
}

function boundsOf(events: readonly CountedEvent[], counter: Counter, { begun, ended }: Interval): [min: number, max: number] {
  let [min, max] = [0, 0]
  const counted = new Set<string>()
  for (const event of events) {
    if (event.counter !== counter || !isCounted(event) || counted.has(event.key)) continue
    counted.add(event.key)
    if (event.begun > ended) continue
    if (event.ended <= begun || event.delta < 0) min += event.delta
    if (event.ended <= begun || event.delta > 0) max += event.delta
  }
  return [min, max]
}

function sorted(posts: PostFact[]): PostFact[] {
  return posts.sort((a, b) => compareIds(a.id, b.id))
}

/** The number of posts with a lower id. */
function placeOf(list: readonly PostFact[], id: PostId): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareIds((list[middle] as PostFact).id, id) < 0) low = middle + 1
    else high = middle
  }
  return low
}
