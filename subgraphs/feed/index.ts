/**
 * The feed subgraph, wired from the ports: schema object, reads, write path, and the parts for its job and its metrics.
 *
 * Follows are marks of thumbup, which this subgraph gets as `FollowMarks`. The other stores are its own.
 */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse, type GraphQLSchema } from 'graphql'
import type { CacheFigures, TieredCache } from '../../cache/tiered-cache.ts'
import { liveView, withLive } from '../../config/live/live-view.ts'
import type { Config } from '../../config/config.ts'
import { postBusinessOf, rememberMsOf } from '../../config/feed.ts'
import type { Clock } from '../../core/clock.ts'
import type { BusinessNumber, ViewerId } from '../../core/domain.ts'
import type { Degraded, StoreName } from '../../core/outage/degraded.ts'
import type { GuardOptions } from '../../core/outage/guard.ts'
import type { WrittenReport } from '../../core/written-reports.ts'
import type { RecordReadsFigures } from '../../core/outage/record-reads.ts'
import { makeFeedLoaders, type FeedLoaders, type PostCounts } from '../../loaders/feed.ts'
import { makeOutageNotices, noticesOf, type Notices } from '../../writeback/notices.ts'
import type { WriteBackFigures } from '../../writeback/write-back.ts'
import type { FollowMarks } from '../follow-marks.ts'
import type { CounterReadFigures } from './counters/reads.ts'
import { makeFollowLists, type GraphFigures } from './graph/follow-lists.ts'
import { makeChangeFollows } from './graph/follows.ts'
import { USERS } from './model/post-events.ts'
import type { PostId } from './packed/post-id.ts'
import { startFeedJob, type FeedJob, type FeedJobOptions } from './persist/job.ts'
import { makeContents } from './read/contents.ts'
import { makeFreshness, type Moment } from './read/freshness.ts'
import type { NewestFigures } from './read/newest-ids.ts'
import { makePages } from './read/page.ts'
import { makeSections } from './read/sections.ts'
import { makeWaiting } from './read/waiting.ts'
import { makeFeedResolvers } from './resolvers.ts'
import { feedSdl } from './schema.ts'
import { guardFeedStores, guardLongsets, type GuardedFeedStores } from './stores/guarded.ts'
import type { LongsetStore } from './stores/longset-store.ts'
import { eraseViewer, type Erased } from './write/erasure.ts'
import type { FeedService, FeedServiceFigures } from './write/service.ts'
import { makeFeedWritePath, type FeedWriteStores } from './write/write-path.ts'

export type FeedParts = FeedWriteStores & {
  longsets: LongsetStore
  /** Heads, outboxes, inboxes and contents. */
  cache: TieredCache
}

export type FeedSubgraph = {
  name: 'feed'
  sdl: string
  schema: GraphQLSchema
  service: FeedService
  /** Makes the loaders of one request. They note each store that is down in the request's collector. */
  makeLoaders(degraded: Degraded, lasting?: boolean): FeedLoaders
  /** For history: counts the reads of posts among these reports. Returns at once, and never throws. */
  countReads(written: readonly WrittenReport[]): void
  /** Erases what the feed has of a viewer (`write/erasure.ts`). For operators. */
  erase(viewer: ViewerId): Promise<Erased>
  /** Starts a job on the same stores; a process may serve, persist, or both. */
  startJob(): Promise<FeedJob>
  /** Sends everything aggregated to the log and waits until it is there. */
  drain(): Promise<void>
  figures(): FeedSubgraphFigures
}

export type FeedSubgraphFigures = Omit<WriteBackFigures, 'journal'> & {
  service: FeedServiceFigures
  graph: GraphFigures
  counters: CounterReadFigures
  newest: NewestFigures
  cache: CacheFigures
  freshness: { questions: number; notes: number; followers: number }
  recordReads: RecordReadsFigures
  hotCalls: { calls: number; ms: number }
  outages: Record<StoreName, { isDown: boolean; count: number }>
}

/** The service uses guarded stores. The job uses the stores without breakers: it may wait, and retries without limit. */
export function makeFeedSubgraph(
  clock: Clock,
  stores: FeedParts,
  marks: FollowMarks,
  config: Config,
  report: Notices | ((error: unknown) => void),
  guard: GuardOptions = {},
): FeedSubgraph {
  const business = postBusinessOf(config)
  if (business === undefined) throw new Error('a configuration without posts has no feed')
  const { feed } = config
  const { regions } = config.stores
  const notices = noticesOf(report)
  const outages = makeOutageNotices(clock, notices)
  const { failed: onError } = outages
  const guarded = guardFeedStores(clock, stores, guard, outages.opened)
  outages.follow(guarded)

  const longsets = guardLongsets(stores.longsets, guarded.breakers.hotStore)
  const lists = makeFollowLists(longsets, marks, config.cache.ttlMs)
  const freshness = makeFreshness(guarded.hot, regions, clock, { rememberMs: rememberMsOf(config) }, onError)
  const contents = makeContents(guarded, stores.cache, clock)
  const sections = makeSections(guarded, stores.cache, clock, feed.keepMs)
  const pages = makePages(lists, freshness, sections, contents)

  const posts = async (ids: readonly PostId[], degraded: Degraded, asOf?: Moment) =>
    contents.getMany(ids, await freshness.look(degraded, asOf), degraded)
  const { service, counters, reads, settled, steps, writeBack } = makeFeedWritePath(clock, stores, guarded, posts, config, guard, onError)

  async function words(viewer: ViewerId, degraded: Degraded, asOf: Moment | undefined) {
    const own: Degraded = new Set()
    const inbox = await sections.inbox(viewer, await freshness.look(own, asOf), own)
    for (const store of own) degraded.add(store)
    return inbox.words.version === 0 && own.has('recordStore') ? null : inbox.words
  }

  const resolvers = makeFeedResolvers(business, regions, service, makeChangeFollows(lists, marks, feed), {
    ...pages,
    words,
    waiting: makeWaiting(lists, freshness, pages, clock, feed.noticeEveryMs, onError),
    follows: marks,
    isLogDown: guarded.breakers.log.isOpen,
  })
  const sdl = feedSdl(config)

  return {
    name: 'feed',
    sdl,
    schema: buildSubgraphSchema([{ typeDefs: parse(sdl, { noLocation: true }), resolvers }]),
    service,
    makeLoaders: makeFeedLoaders(
      {
        async posts(ids, degraded, asOf) {
          const own: Degraded = new Set()
          const found = await posts(ids, own, asOf)
          for (const store of own) degraded.add(store)
          return found.map((post) => post ?? (own.size > 0 ? null : undefined))
        },
        ...countsOf(counters, business.number),
        follows: lists.follows,
        followerCounts: marks.followerCounts,
        followingCounts: lists.followingCounts,
      },
      freshness.moment,
    ),
    countReads: reads.take,
    erase: (viewer) =>
      eraseViewer(
        clock,
        viewer,
        { ...stores, service, follows: marks, persist: steps.persist, persistCounts: steps.counters.persist },
        { regions, keepMs: feed.keepMs },
      ),
    startJob: () => startFeedJob(clock, stores, steps, jobOptionsOf(config), onError, notices.parked),
    async drain() {
      await settled()
      await writeBack.drain()
      await freshness.stop()
      guarded.stop()
    },
    figures: () => ({
      ...writeBack.figures(),
      service: service.figures(),
      graph: lists.figures(),
      counters: counters.figures(),
      newest: sections.figures(),
      cache: stores.cache.figures(),
      freshness: freshness.figures(),
      recordReads: guarded.recordReads(),
      hotCalls: guarded.hotCalls(),
      outages: outagesOf(guarded),
    }),
  }
}

function jobOptionsOf(config: Config): FeedJobOptions {
  return withLive(
    liveView(() => config.feed),
    { regions: config.stores.regions },
  )
}

/** The loads of counts of posts, and of posts of users. */
function countsOf(counters: Pick<ReturnType<typeof makeFeedWritePath>['counters'], 'getMany'>, business: BusinessNumber) {
  return {
    async counts(ids: readonly PostId[], degraded: Degraded) {
      const keys = ids.map((oid) => ({ business, oid }))
      return (await counters.getMany(keys, degraded)) as (PostCounts | null)[]
    },
    async postCounts(users: readonly ViewerId[], degraded: Degraded) {
      const keys = users.map((oid) => ({ business: USERS, oid }))
      return (await counters.getMany(keys, degraded)).map((each) => each?.['post'] ?? null)
    },
  }
}

function outagesOf({ breakers }: GuardedFeedStores): FeedSubgraphFigures['outages'] {
  const outageOf = (store: StoreName) => ({ isDown: breakers[store].isOpen(), count: breakers[store].opened() })
  return { hotStore: outageOf('hotStore'), log: outageOf('log'), recordStore: outageOf('recordStore') }
}
