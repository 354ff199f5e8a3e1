/**
 * A process of the deployment, which runs the real code of the feed: the service, the reads, the tiered cache, the counters and the job, with
 * the marks of follows below them. It is wired as in the subgraph, over ports that lead through the scheduler.
 */
import type { Layouts } from '../../../cache/generations.ts'
import { makeMemoryNode, MEMORY_LAYOUT } from '../../../cache/memory.ts'
import type { TieredCache } from '../../../cache/tiered-cache.ts'
import { makeTieredCache } from '../../../cache/tiers.ts'
import type { Config } from '../../../config/config.ts'
import { FOLLOW_BUSINESS, postBusinessOf } from '../../../config/feed.ts'
import { sleep } from '../../../core/clock.ts'
import type { ViewerId } from '../../../core/domain.ts'
import { fixedValue } from '../../../core/live-value.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { Random } from '../../../core/random.ts'
import type { Viewer } from '../../../core/viewer.ts'
import { makeFeedLoaders } from '../../../loaders/feed.ts'
import { makeThumbupLoaders } from '../../../loaders/thumbup.ts'
import { makeFollowLists, type FollowLists } from '../../../subgraphs/feed/graph/follow-lists.ts'
import { makeChangeFollows, type ChangeFollows } from '../../../subgraphs/feed/graph/follows.ts'
import type { Counts } from '../../../subgraphs/feed/model/counts.ts'
import type { PostId } from '../../../subgraphs/feed/packed/post-id.ts'
import { startFeedJob } from '../../../subgraphs/feed/persist/job.ts'
import { makePostAudience } from '../../../subgraphs/feed/read/audience.ts'
import { makeContents } from '../../../subgraphs/feed/read/contents.ts'
import { makeFreshness } from '../../../subgraphs/feed/read/freshness.ts'
import { makePages, type Pages } from '../../../subgraphs/feed/read/page.ts'
import type { Post } from '../../../subgraphs/feed/model/post.ts'
import { makePostFields } from '../../../subgraphs/feed/post-fields.ts'
import { makeSections } from '../../../subgraphs/feed/read/sections.ts'
import { guardFeedStores, guardLongsets } from '../../../subgraphs/feed/stores/guarded.ts'
import type { FeedService } from '../../../subgraphs/feed/write/service.ts'
import { makeFeedWritePath } from '../../../subgraphs/feed/write/write-path.ts'
import { FOR_EVERYBODY, type Audience } from '../../../subgraphs/audience.ts'
import type { FollowMarks } from '../../../subgraphs/follow-marks.ts'
import { makeFollowMarks } from '../../../subgraphs/thumbup/follow-marks.ts'
import { makeLikersRead } from '../../../subgraphs/thumbup/read/likers.ts'
import { makePipeline } from '../../../subgraphs/thumbup/write/pipeline.ts'
import type { Life } from '../life.ts'
import { openModelJournals, type Machine } from '../model-journals.ts'
import type { Member } from '../model-log.ts'
import type { Role } from '../places.ts'
import { startUntilJoined } from '../processes.ts'
import type { Scheduler } from '../scheduler.ts'
import type { DrawnFeedWorld } from './draws.ts'
import {
  plantInAudience,
  plantInCache,
  plantInContents,
  plantInFreshness,
  plantInPages,
  plantInPersist,
  plantInReads,
  type ProcessFaults,
} from './faults.ts'
import { openFeedPorts, type FeedWorldStores } from './ports.ts'

export type FeedProcess = Role & {
  life: Life
  service: FeedService
  pages: Pages
  /** As the resolvers of a post, in one request: null for a post that this viewer may not see. */
  readPosts(viewer: Viewer, ids: readonly PostId[], degraded: Degraded): Promise<(Post | null)[]>
  /** In order, as thumbup asks before it shows the marks of a post: `subgraphs/audience.ts`. True for a public post. */
  maySee(viewer: Viewer, ids: readonly PostId[], degraded: Degraded): Promise<(boolean | null)[]>
  lists: FollowLists
  /** Whether a page that began at this time or later was read with follows of this viewer that lack a store. */
  lacksFollows(viewer: ViewerId, beganAt: number): boolean
  changeFollows: ChangeFollows
  follows: FollowMarks
  postCounts(id: PostId, degraded: Degraded): Promise<Counts>
  userCounts(id: string, degraded: Degraded): Promise<Counts>
  member(): Member | undefined
  /** Drains and stops the process. All accepted work is done when this resolves. */
  stop(): Promise<void>
}

/** What a process is started with, besides its life and its role. */
export type FeedProcessOptions = {
  drawn: DrawnFeedWorld
  machine: Machine
  faults: ProcessFaults
  onError(error: unknown): void
}

export function startFeedProcess(
  scheduler: Scheduler,
  random: Random,
  stores: FeedWorldStores,
  life: Life,
  role: Role,
  { drawn, machine, faults, onError }: FeedProcessOptions,
): FeedProcess {
  const { pipelineOptions, config } = drawn
  const { regions, guard } = pipelineOptions
  const feed = { ...config.feed, regions }
  const gate = scheduler.gateOf(life)
  const clock = scheduler.clockOf(life)
  const ports = openFeedPorts(stores, gate, clock, feed.keepMs, faults)

  const journals = role.serves ? openModelJournals(machine, gate, life) : undefined
  const marks = makePipeline(clock, random, { ...ports.marks, journals }, pipelineOptions, onError)
  const sources = { ...marks.guarded, fills: marks.fills, mayLack: marks.writes.mayLack, counts: marks.counts, owners: marks.owners }
  const likers = makeLikersRead(clock, sources)
  const follows = makeFollowMarks(
    clock,
    { pipeline: marks, likers },
    makeThumbupLoaders(() => sources, FOR_EVERYBODY.maySeeMany),
    regions,
  )

  const guarded = guardFeedStores(clock, { ...ports, hot: plantInReads(ports.hot, faults) }, guard, onError)
  const longsets = guardLongsets(ports.longsets, guarded.breakers.hotStore)
  const lists = makeFollowLists(longsets, follows, drawn.setTtlMs)
  const freshness = plantInFreshness(
    makeFreshness(guarded.hot, regions, clock, { rememberMs: drawn.rememberMs, notesMax: drawn.notesMax }, onError),
    faults,
  )
  const cache = openCache()
  const contents = plantInContents(makeContents(guarded, cache, clock), faults)
  const sections = makeSections(guarded, cache, clock, feed.keepMs, drawn.sizes)

  const posts = async (ids: readonly PostId[], degraded: Degraded, asOf?: number) =>
    contents.getMany(ids, await freshness.look(degraded, asOf), degraded)
  const bare = { ...ports, hot: plantInPersist(ports.hot, faults) }
  const { service, counters, steps, writeBack } = makeFeedWritePath(clock, bare, guarded, posts, config, guard, onError)
  const job = role.persists ? startUntilJoined(clock, () => startFeedJob(clock, ports, steps, feed, onError), onError) : undefined
  const marksJob = role.persists ? startUntilJoined(clock, () => marks.startJob(), onError) : undefined

  function openCache(): TieredCache {
    const isShared = drawn.layout !== undefined
    const layouts = isShared ? followed(stores.layouts, life) : fixedValue(MEMORY_LAYOUT)
    const connect = isShared ? stores.nodes.connectFor(life) : () => makeMemoryNode(clock, { bytesMax: 65_536 })
    return plantInCache(makeTieredCache(clock, random, layouts, connect, drawn.cacheOptions), faults)
  }

  const { following, lacksFollows } = notingLacks(lists, scheduler.now)
  const business = postBusinessOf(config) as Config['businesses'][number]
  const { load } = makePostFields(business, regions)
  const nothing = <K>(keys: readonly K[]): Promise<null[]> => Promise.resolve(keys.map(() => null))
  const makeLoaders = makeFeedLoaders(
    {
      async posts(ids, degraded, asOf) {
        const own: Degraded = new Set()
        const found = await posts(ids, own, asOf)
        for (const store of own) degraded.add(store)
        return found.map((post) => post ?? (own.size > 0 ? null : undefined))
      },
      ...{ counts: nothing, postCounts: nothing, followerCounts: nothing, followingCounts: nothing },
      follows: lists.follows,
    },
    freshness.moment,
  )
  const countsOf = async (number: number, oid: string, degraded: Degraded): Promise<Counts> =>
    (await counters.getMany([{ business: number, oid }], degraded))[0] ?? {}
  return {
    ...role,
    ...{ life, service, lists, follows, lacksFollows },
    maySee: askAudience(plantInAudience(makePostAudience(clock, guarded, { business: business.number, regions }), faults), business.number),
    pages: plantInPages(makePages({ following }, freshness, sections, contents), faults),
    async readPosts(viewer, ids, degraded) {
      const context = { viewer, degraded, loaders: makeLoaders(degraded) }
      const found: (Post | null)[] = []
      // One after the other, as a post and its source.
      for (const id of ids) found.push(await load(id, context))
      return found
    },
    changeFollows: makeChangeFollows(lists, follows, feed),
    postCounts: (id, degraded) => countsOf(business.number, id, degraded),
    userCounts: (id, degraded) => countsOf(FOLLOW_BUSINESS, id, degraded),
    member: ports.member,
    async stop() {
      await Promise.all([writeBack.drain(), marks.drain()])
      await (await job)?.stop().catch(onError)
      await (await marksJob)?.stop().catch(onError)
      // The last step of the job may have counted events.
      await writeBack.drain()
      await Promise.all([freshness.stop(), cache.stop(), journals?.close(), counters.settled()])
      guarded.stop()
      await ports.settled()
      // Loads stay joinable for a moment.
      await sleep(clock, 3 * drawn.cacheOptions.nodePatienceMs + 1)
    },
  }
}

/** Notes when the follows of a viewer were read without a store. */
function notingLacks(lists: FollowLists, now: () => number): Pick<FollowLists, 'following'> & Pick<FeedProcess, 'lacksFollows'> {
  const lackedAt = new Map<ViewerId, number>()
  return {
    async following(viewer, degraded) {
      const own: Degraded = new Set()
      const authors = await lists.following(viewer, own)
      if (own.size > 0) lackedAt.set(viewer, now())
      for (const store of own) degraded.add(store)
      return authors
    },
    lacksFollows: (viewer, beganAt) => (lackedAt.get(viewer) ?? -Infinity) >= beganAt,
  }
}

function askAudience({ isRestricted, maySeeMany }: Audience, business: number): FeedProcess['maySee'] {
  return async ({ id: viewer }, ids, degraded) => {
    const keys = ids.map((oid) => ({ viewer, business, oid }))
    const restricted = keys.filter(isRestricted)
    const may = await maySeeMany(restricted, degraded)
    return keys.map((key) => (isRestricted(key) ? (may[restricted.indexOf(key)] ?? null) : true))
  }
}

/** A dead process follows nothing. */
function followed(value: Layouts, life: Life): Layouts {
  return { ...value, follow: (listener) => value.follow((now) => void (life.dead || listener(now))) }
}
