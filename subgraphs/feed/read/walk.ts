/**
 * The walk: posts of many lists, newest first, until enough of them are shown. The merge gives ids, their contents are read in batches, and
 * posts that are not shown are replaced by the next ones.
 *
 * The merge asks for a further section of a list when the list could have a newer id than all that are known. Ids that the merge has
 * already given are looked at before, because they may be enough.
 *
 * While a store is down, the readable part of a list may end early. The walk gives the posts of the other lists down to there, and stops.
 * Below, posts of that list would be missing among the others, and a cursor would skip them for good. If both stores are down, such a list is left out instead: all
 * lists are only as long as the cache has them.
 */
import type { ViewerId } from '../../../core/domain.ts'
import { compareIds } from '../../../core/keys.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { Post } from '../model/post.ts'
import { makeMerge, type Continuation, type Merge, type MergeStep } from '../packed/merge.ts'
import type { PostId } from '../packed/post-id.ts'
import { LACKS_BOTH, encodeSection, type Section } from '../packed/section.ts'
import { packOne } from '../packed/vector.ts'
import type { Contents } from './contents.ts'
import type { VersionFloor } from './freshness.ts'
import type { NewestIdsOrHeads, Sections } from './sections.ts'

/** A walk that drops this many posts ends, so that its work is bounded. The caller continues below the last one. */
const DROPPED_MAX = 2_000
/** Contents that are read at a time after many were dropped. */
const BATCH_MAX = 200

/** The lists to walk: the posts of authors, and the inbox of a viewer as the bytes of its section. */
export type WalkedLists = { authors: readonly ViewerId[]; newest: NewestIdsOrHeads; inbox?: { viewer: ViewerId; section: Buffer } }

export type WalkAsked = {
  /** Only posts below this one. */
  before: PostId | undefined
  /** Only posts above this one. */
  above?: PostId | undefined
  /** False for a post of an author that the walk must leave out. Default: all are in it. */
  isReached?: ((id: PostId) => boolean) | undefined
  /** Posts to show at most. */
  wanted: number
  isShown: (post: Post) => boolean
}

export type Walked = {
  /** Newest first. */
  posts: Post[]
  /**
   * Why it ended: it has the `wanted` number, the `lists` have ended, the rest is in a store that is down (`outage`), or too many posts were
   * dropped. In the last case the caller continues below this post.
   */
  end: 'wanted' | 'lists' | 'outage' | { droppedTo: PostId }
}

export function makeWalk(sections: Sections, contents: Contents) {
  return async (
    lists: WalkedLists,
    { wanted, isShown, ...range }: WalkAsked,
    floorOf: VersionFloor,
    degraded: Degraded,
  ): Promise<Walked> => {
    const ids = makeIds(sections, lists, range, floorOf, degraded)
    const posts: Post[] = []
    let dropped = 0
    for (;;) {
      const batch = await ids.take(Math.max(wanted - posts.length, Math.min(dropped, BATCH_MAX)))
      if (typeof batch === 'string') return { posts, end: batch }
      const found = await contents.getMany(batch, floorOf, degraded)
      for (const post of found) {
        if (post === undefined || !isShown(post)) dropped++
        else if (posts.push(post) === wanted) return { posts, end: 'wanted' }
      }
      if (dropped >= DROPPED_MAX) return { posts, end: { droppedTo: batch.at(-1) as PostId } }
    }
  }
}

function makeIds(
  sections: Sections,
  lists: WalkedLists,
  { before, above, isReached = () => true }: Omit<WalkAsked, 'wanted' | 'isShown'>,
  floorOf: VersionFloor,
  degraded: Degraded,
) {
  const { authors, newest, inbox } = lists
  const { heads } = newest
  const merge: Merge = makeMerge(inbox === undefined ? heads : [...heads, inbox.section], newest, before)
  /** The deepest section that was read of each author. At first the head, or only the newest id. */
  const known = heads.map((head): 'newest id' | 'head' | 'outbox' => (head === undefined ? 'newest id' : 'head'))
  const afterAbove = above === undefined ? undefined : String(BigInt(above) + 1n)
  let pending: readonly Continuation[] = []
  let end: 'lists' | 'outage' | undefined
  /** The highest bound of a list that cannot be continued. */
  let stuckAt: PostId | undefined

  async function continueLists(asked: readonly Continuation[]): Promise<void> {
    const isInbox = ({ source }: Continuation): boolean => source === authors.length
    const those = (wanted: (typeof known)[number]) => asked.filter(({ source }) => known[source] === wanted)
    const deeper = asked.filter((each) => isInbox(each) || known[each.source] === 'outbox')
    const authorsOf = (some: readonly Continuation[]) => some.map(({ source }) => authors[source] as ViewerId)
    const readSections = async (some: readonly Continuation[], next: 'head' | 'outbox'): Promise<void> => {
      if (some.length === 0) return
      const read = await sections[next === 'head' ? 'heads' : 'outboxes'](authorsOf(some), floorOf, degraded)
      some.forEach(({ source }, at) => {
        known[source] = next
        merge.replace(source, read[at] as Buffer)
      })
    }
    const readRest = async (bound: PostId, some: readonly Continuation[]): Promise<void> => {
      const ofAuthors = some.filter((each) => !isInbox(each))
      if (ofAuthors.length > 0) {
        const rests = await sections.restOfOutboxes(authorsOf(ofAuthors), bound, degraded)
        ofAuthors.forEach(({ source }, at) => replaceByRest(source, bound, rests[at] as Section))
      }
      if (ofAuthors.length === some.length || inbox === undefined) return
      replaceByRest(authors.length, bound, await sections.restOfInbox(inbox.viewer, bound, degraded))
    }
    const byBound = Map.groupBy(deeper, ({ below }) => below)
    await Promise.all([
      readSections(those('newest id'), 'head'),
      readSections(those('head'), 'outbox'),
      ...Array.from(byBound, ([bound, some]) => readRest(bound, some)),
    ])
  }

  function replaceByRest(source: number, bound: PostId, section: Section): void {
    const isStuck = section.hasMore && section.ids.length === 0 && Buffer.compare(section.floor as Buffer, packOne(bound)) >= 0
    if (!isStuck) merge.replace(source, encodeSection(section))
    else if (section.lacks !== LACKS_BOTH && (stuckAt === undefined || compareIds(bound, stuckAt) > 0)) stuckAt = bound
  }

  /** True if a list that cannot be continued may have a newer post than all that come with this step. */
  function isBelowStuck(step: MergeStep): boolean {
    if (stuckAt === undefined || step.kind === 'end') return stuckAt !== undefined
    if (step.kind === 'id') return compareIds(step.id, stuckAt) < 0
    return step.sources.every(({ below }) => compareIds(below, stuckAt as PostId) <= 0)
  }

  /** True if none of these lists can have a post above `above`. The merge asks for the highest first. */
  function isBelowAll(sources: readonly Continuation[]): boolean {
    return afterAbove !== undefined && sources.every(({ below }) => compareIds(below, afterAbove) <= 0)
  }

  /** The next ids, at most so many and at least one, or why there is none. */
  async function take(count: number): Promise<PostId[] | 'lists' | 'outage'> {
    const ids: PostId[] = []
    while (end === undefined && ids.length < count) {
      if (pending.length > 0) {
        if (ids.length > 0) return ids
        const asked = pending
        pending = []
        await continueLists(asked)
        continue
      }
      const step = merge.next()
      if (isBelowStuck(step)) end = 'outage'
      else if (step.kind === 'id' && step.source !== authors.length && !isReached(step.id)) continue
      else if (step.kind === 'id' && (above === undefined || compareIds(step.id, above) > 0)) ids.push(step.id)
      else if (step.kind === 'needs' && !isBelowAll(step.sources)) pending = step.sources
      else end = 'lists'
    }
    return ids.length > 0 ? ids : (end ?? 'lists')
  }

  return { take }
}
