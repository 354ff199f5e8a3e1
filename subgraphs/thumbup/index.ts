/** The thumbup subgraph, wired from the ports: schema object, write path, and the parts for its job and its metrics. */
import type { GraphQLSchema } from 'graphql'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { noteOrThrow, type Degraded } from '../../core/outage/degraded.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import { noticesOf, type Notices } from '../../writeback/notices.ts'
import { systemRandom } from '../../core/random.ts'
import type { FollowMarks } from '../follow-marks.ts'
import { makeLiveSchema } from '../live-schema.ts'
import { makeThumbupLoaders, type ThumbupLoaders } from '../../loaders/thumbup.ts'
import { FOR_EVERYBODY } from '../audience.ts'
import { makeThumbupBusinesses } from './businesses.ts'
import { makeFollowMarks } from './follow-marks.ts'
import { outagesOf, type ThumbupOutages } from './outages.ts'
import { makeParts, type ThumbupOptions } from './parts.ts'
import type { ThumbupJob, ThumbupJobFigures } from './persist/job.ts'
import { readLikes } from './read/likes.ts'
import type { PipelineFigures, ThumbupStores } from './write/pipeline.ts'
import { startQuotas } from './write/quotas.ts'
import type { ReadTenants } from '../tenant-statistics.ts'
import type { CountRefresh } from './read/refresh.ts'
import { makeThumbupResolvers } from './resolvers.ts'
import { thumbupSdl } from './schema.ts'
import { makeThumbupService, type ThumbupService } from './write/service.ts'
import type { ThumbupFigures } from './write/mark-figures.ts'

export type { ThumbupStores } from './write/pipeline.ts'

export type ThumbupSubgraph = {
  name: 'thumbup'
  sdl: string
  schema: GraphQLSchema
  service: ThumbupService
  /** Follows, for the feed. */
  follows: FollowMarks
  /** Makes the loaders of one request. They note each store that is down in the request's collector. */
  makeLoaders(degraded: Degraded, lasting?: boolean): ThumbupLoaders
  /** Asks the stores of each tenant, so that an outage is reported before the first request. */
  lookAtTenants(): Promise<void>
  /** Starts a job on the same stores; a process may serve, persist, or both. */
  startJob(): Promise<ThumbupJob>
  /** The refresh of this business's stores, for a tail of changes. */
  refreshOf(business: BusinessNumber): CountRefresh
  /** Applies the journal if the hot store answers, sends everything aggregated to the log and waits until it is there. */
  drain(): Promise<void>
  figures(): ThumbupSubgraphFigures
  tenants: ReadTenants
  /** The subscriptions of counts in this process, and their distinct subjects. */
  following(): { streams: number; subjects: number }
}

export type ThumbupSubgraphFigures = PipelineFigures & {
  marks: ThumbupFigures
  outages: ThumbupOutages
  /** Figures of businesses with stores of their own, by name. */
  tenants: Readonly<Record<string, PipelineFigures & Pick<ThumbupSubgraphFigures, 'outages'>>>
}

/** The service works on guarded stores. The job works on the bare stores: it may wait, and retries without limit. */
export function makeThumbupSubgraph(
  clock: Clock,
  stores: ThumbupStores,
  config: Config,
  report: Notices | ((error: unknown) => void),
  { guard = {}, random = systemRandom, tenants = new Map(), audience = FOR_EVERYBODY }: ThumbupOptions = {},
): ThumbupSubgraph {
  const businesses = makeThumbupBusinesses(() => config.businesses)
  const { common, own, all, partOf } = makeParts(clock, stores, config, noticesOf(report), { guard, random, tenants })
  const quotas = startQuotas(
    clock,
    businesses,
    (business) => partOf(business).pipeline.guarded.records,
    (business, error) => partOf(business).notices.failed(error),
  )
  const service = makeThumbupService(clock, businesses, (business) => partOf(business).pipeline, quotas, audience)
  const statistics: ReadTenants = (measure) =>
    businesses.all.map(({ name, number }) => ({
      ...{ business: name, stored: quotas.storedOf(number, measure), downMs: partOf(number).downMs() },
      ...service.writes.of(number),
    }))
  const makeResolvers = () =>
    makeThumbupResolvers(businesses, service, {
      tenants: statistics,
      likers: (business, asked, degraded) => partOf(business).likers(asked, degraded),
      likes(viewer, business, before, first, degraded) {
        const { guarded, fills, writes } = partOf(business).pipeline
        return readLikes({ ...guarded, fills, mayLack: writes.mayLack }, viewer, business, before, first, degraded)
      },
      async heldMarks(viewer, subjects, degraded) {
        const { hot } = partOf(subjects[0]?.business ?? 0).pipeline.guarded
        try {
          return await hot.getMarkMany(subjects.map(({ business, oid }) => ({ viewer, business, oid })))
        } catch (error) {
          noteOrThrow(error, 'hotStore', degraded)
          return []
        }
      },
      countsChanged(subjects, degraded) {
        return partOf(subjects[0]?.business ?? 0).followers.open(subjects, degraded)
      },
      isRestricted: audience.isRestricted,
      mayBeOld: (subject) => partOf(subject.business).pipeline.counts.mayBeOld(subject),
      isLogDown: (business) => partOf(business).pipeline.guarded.breakers.log.isOpen(),
    })
  const live = makeLiveSchema(() => config.businesses, thumbupSdl, makeResolvers)
  const sources = new Map(
    all.map((part) => {
      const { guarded, fills, counts, owners, writes } = part.pipeline
      return [part, { ...guarded, fills, counts, owners, mayLack: writes.mayLack }]
    }),
  )
  const sourcesOf = (business: BusinessNumber) => sources.get(partOf(business)) as NonNullable<ReturnType<typeof sources.get>>
  const makeLoaders = makeThumbupLoaders(sourcesOf, audience.maySeeMany)

  return {
    name: 'thumbup',
    get sdl() {
      return live.sdl
    },
    get schema() {
      return live.schema
    },
    service,
    follows: makeFollowMarks(clock, common, makeLoaders, config.stores.regions),
    makeLoaders,
    async lookAtTenants() {
      await Promise.all(own.map(({ pipeline }) => pipeline.guarded.look()))
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
    tenants: statistics,
    refreshOf: (business) => partOf(business).refresh,
    async drain() {
      await quotas.stop()
      // A journal may hold marks for another part: every part replays its journal before any part flushes its last keys.
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
      tenants: Object.fromEntries(own.map(({ name, pipeline }) => [name, { ...pipeline.figures(), outages: outagesOf(pipeline.guarded) }])),
    }),
  }
}

function summed(a: ThumbupJobFigures, b: ThumbupJobFigures): ThumbupJobFigures {
  const sum = { ...a }
  for (const name of Object.keys(sum) as (keyof ThumbupJobFigures)[]) sum[name] += b[name]
  return sum
}
