/**
 * Follows as marks. A viewer who follows a user likes that user in an internal business. Follows therefore have the journal, the persist
 * step, the lists and the exact counts of likes. The business is in no schema and has no name in the API. Its marks are in the common
 * stores.
 */
import { makeBusinesses } from '../../config/businesses.ts'
import type { Clock } from '../../core/clock.ts'
import type { DirtyWalk, MarkKey, MarkPlace, ViewerId } from '../../core/domain.ts'
import type { FollowMarks, FollowPage, FollowPageAsked } from '../follow-marks.ts'
import type { Degraded } from '../../core/outage/degraded.ts'
import type { ThumbupLoaders } from '../../loaders/thumbup.ts'
import { FOR_EVERYBODY } from '../audience.ts'
import { FOLLOWS } from './businesses.ts'
import { checkAfter } from './inputs.ts'
import { encodeMarkCursor, type MarkList } from './model/places.ts'
import type { Part } from './parts.ts'
import { readLikes, type MarkPage } from './read/likes.ts'
import { makeShownCounts } from './read/shown-counts.ts'
import { makeThumbupService } from './write/service.ts'

/** Entries of one read while a whole list is read. */
const READ_MAX = 1_000
/** Dirty marks have the time of their process, whose clock may be ahead. */
const AHEAD_MS = 3_600_000

const NO_FILLS = { bring: () => Promise.resolve() }

/** `part`: the common stores. */
export function makeFollowMarks(
  clock: Clock,
  { pipeline, likers }: Pick<Part, 'pipeline' | 'likers'>,
  makeLoaders: (degraded: Degraded) => ThumbupLoaders,
  regions: number,
): FollowMarks {
  const business = FOLLOWS.number
  const { guarded, fills, writes, counts } = pipeline
  const configured = makeBusinesses([FOLLOWS])
  const service = makeThumbupService(
    clock,
    { ...configured, configured, requireServed: () => undefined, deleted: new Set() },
    () => pipeline,
    { admit: () => undefined, fullFor: () => undefined },
    FOR_EVERYBODY,
  )
  const everyRegion = [...Array(regions).keys()]
  const { shownCount } = makeShownCounts(counts)
  const sources = { ...guarded, fills, mayLack: writes.mayLack }
  const likes = (user: ViewerId, before: MarkPlace | undefined, first: number, degraded: Degraded, isKept = true) =>
    readLikes(isKept ? sources : { ...sources, fills: NO_FILLS }, user, business, before, first, degraded)

  /** Followers whose follow has not ended in the hot store. */
  async function notEnded(keys: readonly MarkKey[]): Promise<ViewerId[]> {
    const marks = keys.length === 0 ? [] : await guarded.hot.getMarkMany(keys)
    return keys.flatMap(({ viewer }, at) => (marks[at]?.undone === true ? [] : [viewer]))
  }

  return {
    async put(viewer, users, follows, degraded) {
      const inputs = users.map((id) => ({ business: FOLLOWS.name, id, mark: follows ? 'LIKE' : 'NONE' }))
      const answers = await service.mark({ id: viewer, scopes: [] }, inputs, degraded)
      return answers.map((answer) => {
        if (answer.outcome === 'REJECTED') return answer
        return { changed: answer.outcome === 'ACCEPTED' && answer.old !== answer.mark }
      })
    },
    async all(user, degraded, isKept) {
      const found: ViewerId[] = []
      for (let before: MarkPlace | undefined; ;) {
        const page = await likes(user, before, READ_MAX, degraded, isKept)
        if (page === null) return null
        found.push(...page.entries.map(({ id }) => id))
        before = page.entries.at(-1)
        if (!page.hasNextPage || before === undefined) return [...new Set(found)]
      }
    },
    async *allFollowers(user) {
      const walk: DirtyWalk = {}
      for (let keys: MarkKey[] | undefined; keys === undefined || keys.length > 0;) {
        keys = await guarded.hot.listDirtyMarks(everyRegion, clock.now() + AHEAD_MS, READ_MAX, walk)
        yield notEnded(keys.filter((key) => key.business === business && key.oid === user))
      }
      // After the waiting marks: a mark is in the record store before it waits no more.
      for (let before: MarkPlace | undefined; ;) {
        const page = await guarded.records.listLikers({ business, oid: user }, before, READ_MAX)
        before = page.at(-1)
        if (before === undefined) return
        yield notEnded(page.map(({ id: viewer }) => ({ viewer, business, oid: user })))
      }
    },
    async persist(pairs) {
      await pipeline.persist(pairs.map(({ viewer, user }) => ({ viewer, business, oid: user })))
    },
    async following(user, asked, degraded) {
      const list: MarkList = { kind: 'likes', business, id: user }
      return pageOf(list, await likes(user, checkAfter(list, asked.after), asked.first, degraded))
    },
    async followers(user, viewer, { first, after }: FollowPageAsked, degraded) {
      const list: MarkList = { kind: 'likers', business, id: user }
      const asked = { subject: { business, oid: user }, viewer, before: checkAfter(list, after), first }
      const [page = null] = await likers([asked], degraded)
      if (page instanceof Error) throw page
      return pageOf(list, page)
    },
    followerCounts(users, viewer, degraded) {
      const loaders = makeLoaders(degraded)
      return Promise.all(users.map(async (oid) => shownCount(loaders, { business, oid }, viewer, 'likes')))
    },
  }
}

function pageOf(list: MarkList, page: MarkPage | null): FollowPage | null {
  if (page === null) return null
  const edges = page.entries.map((place) => ({ cursor: encodeMarkCursor(list, place), id: place.id, followedAt: place.markedAt }))
  return { edges, hasNextPage: page.hasNextPage }
}
