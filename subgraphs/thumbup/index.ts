/** The thumbup subgraph, wired from the ports: schema object, write path, and what its job and its metrics need. */
import { buildSubgraphSchema } from '@apollo/subgraph'
import { parse, type GraphQLSchema } from 'graphql'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import type { Degraded, StoreName } from '../../core/outage/degraded.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import type { GuardedMarkStores } from './stores/guarded.ts'
import { markStream } from './model/streams.ts'
import { makeOutageNotices, noticeReplays, noticesOf, type Notices } from '../../writeback/notices.ts'
import { systemRandom, type Random } from '../../core/random.ts'
import { makeThumbupLoaders, type ThumbupLoaders } from '../../loaders/thumbup.ts'
import { makeThumbupBusinesses } from './businesses.ts'
import { makeCountFollowers, type CountFollowers } from './read/count-followers.ts'
import type { ThumbupJob, ThumbupJobFigures } from './persist/job.ts'
import { makeLikersRead } from './read/likers.ts'
import { readLikes } from './read/likes.ts'
import { makePipeline, type Pipeline, type PipelineFigures, type ThumbupStores } from './write/pipeline.ts'
import { startQuotas } from './write/quotas.ts'
import { makeCountRefresh, type CountRefresh } from './read/refresh.ts'
import { makeThumbupResolvers } from './resolvers.ts'
import { thumbupSdl } from './schema.ts'
import { makeThumbupService, type ThumbupFigures, type ThumbupService } from './write/service.ts'
import type { GuardOptions } from '../../core/outage/guard.ts'

export type { ThumbupStores } from './write/pipeline.ts'

export type ThumbupSubgraph = {
  name: 'thumbup'
  sdl: string
  schema: GraphQLSchema
  service: ThumbupService
  /** The loaders of one request. What they had to do without goes into its collector. */
  makeLoaders(degraded: Degraded, lasting?: boolean): ThumbupLoaders
  /** Asks the stores of businesses that have their own, so that one that is down is told of before anybody needs it. */
  lookAtTenants(): Promise<void>
  /** Starts a job on the same stores; a process may serve, persist, or both. */
  startJob(): Promise<ThumbupJob>
  /** What a tail of changes is applied to, of the stores of this business. */
  refreshOf(business: BusinessNumber): CountRefresh
  /** Applies what is journaled, if the hot store answers, sends everything aggregated to the log and waits until it is there. */
  drain(): Promise<void>
  figures(): ThumbupSubgraphFigures
  /** Subscriptions of counts in this process, and their subjects, each counted once. */
  following(): { streams: number; subjects: number }
}

export type ThumbupSubgraphFigures = PipelineFigures & {
  marks: ThumbupFigures
  /** Per store: is it down as far as the service knows, and how often was it? */
  outages: Record<StoreName, { isDown: boolean; count: number }>
  /** Of businesses with stores of their own, by name. */
  tenants: Readonly<Record<string, PipelineFigures & Pick<ThumbupSubgraphFigures, 'outages'>>>
}

export type ThumbupOptions = {
  guard?: GuardOptions
  random?: Random
  /** Businesses that have stores of their own. */
  tenants?: ReadonlyMap<BusinessNumber, ThumbupStores>
}

type Part = {
  pipeline: Pipeline
  refresh: CountRefresh
  likers: ReturnType<typeof makeLikersRead>
  followers: CountFollowers
  name: string | undefined
  notices: Notices
}

/** The service works on guarded stores, the job on the stores as they are: it may wait, and retries without limit. */
export function makeThumbupSubgraph(
  clock: Clock,
  stores: ThumbupStores,
  config: Config,
  report: Notices | ((error: unknown) => void),
  { guard = {}, random = systemRandom, tenants = new Map() }: ThumbupOptions = {},
): ThumbupSubgraph {
  const notices = noticesOf(report)
  const { thumbup } = config
  const businesses = makeThumbupBusinesses(config.businesses)
  const common = makePart(stores, undefined)
  const own = new Map(
    config.businesses.flatMap(({ number, name }) => {
      const ownStores = tenants.get(number)
      return ownStores === undefined ? [] : [[number, makePart(ownStores, { number, name })] as const]
    }),
  )
  const partOf = (business: BusinessNumber): Part => own.get(business) ?? common
  const all = [common, ...own.values()]

  function makePart(partStores: ThumbupStores, tenant: { number: BusinessNumber; name: string } | undefined): Part {
    const ours = tenant === undefined ? notices : (notices.ofBusiness?.(tenant.name) ?? notices)
    const outages = makeOutageNotices(clock, ours)
    const journals = partStores.journals === undefined ? undefined : noticeReplays(clock, partStores.journals, ours)
    const isOurs = (number: BusinessNumber): boolean => (tenant === undefined ? !tenants.has(number) : number === tenant.number)
    const pipeline = makePipeline(
      clock,
      random,
      { ...partStores, journals },
      {
        regions: config.stores.regions,
        stream: markStream(config.stores.kafka?.topicPrefix ?? 'tidemark', tenant?.name),
        businesses: config.businesses.filter(({ number }) => isOurs(number)),
        targetOf: (number) => partOf(number).pipeline.replayTarget,
        ...{ isOurs, isTenant: tenant !== undefined, thumbup, guard },
      },
      outages.failed,
      outages.opened,
    )
    const { guarded, fills, counts } = pipeline
    outages.follow({ breakers: breakersOf(guarded) })
    return {
      pipeline,
      refresh: makeCountRefresh(partStores.cache, guarded.records, counts),
      likers: makeLikersRead(clock, { ...guarded, fills, counts, mayLack: pipeline.writes.mayLack }),
      followers: makeCountFollowers(clock, guarded.cache, counts, thumbup.countsWindowMs),
      name: tenant?.name,
      notices: { ...ours, failed: outages.failed },
    }
  }

  const quotas = startQuotas(
    clock,
    businesses.all,
    (business) => partOf(business).pipeline.guarded.records,
    (business, error) => partOf(business).notices.failed(error),
  )
  const service = makeThumbupService(clock, businesses, (business) => partOf(business).pipeline, quotas)
  const resolvers = makeThumbupResolvers(businesses, service, {
    likers: (business, asked, degraded) => partOf(business).likers(asked, degraded),
    likes(viewer, business, before, first, degraded) {
      const { guarded, fills, writes } = partOf(business).pipeline
      return readLikes({ ...guarded, fills, mayLack: writes.mayLack }, viewer, business, before, first, degraded)
    },
    countsChanged(subjects, degraded) {
      return partOf(subjects[0]?.business ?? 0).followers.open(subjects, degraded)
    },
    mayBeOld: (subject) => partOf(subject.business).pipeline.counts.mayBeOld(subject),
    isLogDown: (business) => partOf(business).pipeline.guarded.breakers.log.isOpen(),
  })
  const sdl = thumbupSdl(config.businesses)
  const sources = new Map(
    all.map((part) => {
      const { guarded, fills, counts, owners, writes } = part.pipeline
      return [part, { ...guarded, fills, counts, owners, mayLack: writes.mayLack }]
    }),
  )

  return {
    name: 'thumbup',
    sdl,
    schema: buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers }]),
    service,
    makeLoaders: makeThumbupLoaders((business) => sources.get(partOf(business)) as NonNullable<ReturnType<typeof sources.get>>),
    async lookAtTenants() {
      await Promise.all([...own.values()].map(({ pipeline }) => pipeline.guarded.look()))
    },
    async startJob() {
      const jobs = await Promise.all(all.map((part) => part.pipeline.startJob(part.notices.parked)))
      return {
        figures: () => jobs.map((job) => job.figures()).reduce(summed),
        async stop() {
          await Promise.all(jobs.map((job) => job.stop()))
        },
      }
    },
    refreshOf: (business) => partOf(business).refresh,
    async drain() {
      await quotas.stop()
      // What is replayed from one's journal may be for another: all have what they get before any flushes the last of it.
      await Promise.all(all.map(({ pipeline }) => pipeline.stopReplay()))
      await Promise.all(all.map(({ pipeline }) => pipeline.drain()))
    },
    following: () =>
      all
        .map(({ followers }) => followers.figures())
        .reduce((a, b) => ({ streams: a.streams + b.streams, subjects: a.subjects + b.subjects })),
    figures: () => ({
      ...common.pipeline.figures(),
      marks: service.figures(),
      outages: outagesOf(common.pipeline.guarded),
      tenants: Object.fromEntries(
        [...own.values()].map(({ name, pipeline }) => [name, { ...pipeline.figures(), outages: outagesOf(pipeline.guarded) }]),
      ),
    }),
  }
}

function summed(a: ThumbupJobFigures, b: ThumbupJobFigures): ThumbupJobFigures {
  const sum = { ...a }
  for (const name of Object.keys(sum) as (keyof ThumbupJobFigures)[]) sum[name] += b[name]
  return sum
}

/** Hot store and count cache are one store to whoever asks. */
function breakersOf({ breakers: { hotStore, countCache, log, recordStore } }: GuardedMarkStores) {
  return {
    hotStore: {
      isOpen: () => hotStore.isOpen() || countCache.isOpen(),
      onClose(listener: () => void) {
        hotStore.onClose(listener)
        countCache.onClose(listener)
      },
    },
    log,
    recordStore,
  }
}

function outagesOf(guarded: GuardedMarkStores): ThumbupSubgraphFigures['outages'] {
  const { hotStore, log, recordStore } = breakersOf(guarded)
  const { breakers } = guarded
  return {
    hotStore: { isDown: hotStore.isOpen(), count: breakers.hotStore.opened() + breakers.countCache.opened() },
    log: { isDown: log.isOpen(), count: breakers.log.opened() },
    recordStore: { isDown: recordStore.isOpen(), count: breakers.recordStore.opened() },
  }
}
