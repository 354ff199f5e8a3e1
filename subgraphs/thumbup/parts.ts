/**
 * The parts of the subgraph: one for the common stores, and one for each business with stores of its own. A part has the pipeline and the
 * reads of its stores.
 */
import type { Clock } from '../../core/clock.ts'
import { followed } from '../../config/businesses.ts'
import { liveView } from '../../config/live/live-view.ts'
import type { Config } from '../../config/config.ts'
import { hasFeed } from '../../config/feed.ts'
import type { BusinessNumber } from '../../core/domain.ts'
import type { StoreName } from '../../core/outage/degraded.ts'
import type { GuardOptions } from '../../core/outage/guard.ts'
import type { Random } from '../../core/random.ts'
import { makeOutageNotices, noticeReplays, type Notices } from '../../writeback/notices.ts'
import type { Audience } from '../audience.ts'
import { FOLLOWS } from './businesses.ts'
import { markStream } from './model/streams.ts'
import { breakersOf } from './outages.ts'
import { makeCountFollowers, type CountFollowers } from './read/count-followers.ts'
import { makeLikersRead } from './read/likers.ts'
import { makeCountRefresh, type CountRefresh } from './read/refresh.ts'
import { makePipeline, type Pipeline, type ThumbupStores } from './write/pipeline.ts'

export type Part = {
  pipeline: Pipeline
  refresh: CountRefresh
  likers: ReturnType<typeof makeLikersRead>
  followers: CountFollowers
  name: string | undefined
  notices: Notices
  /** Milliseconds for which each store was down. */
  downMs(): Record<StoreName, number>
}

export type Parts = {
  common: Part
  /** Parts of businesses with stores of their own. */
  own: readonly Part[]
  all: readonly Part[]
  partOf(business: BusinessNumber): Part
}

export type ThumbupOptions = {
  guard?: GuardOptions
  random?: Random
  /** The stores of businesses that have their own. */
  tenants?: ReadonlyMap<BusinessNumber, ThumbupStores>
  /** The subjects that only chosen viewers may see. Default: none. */
  audience?: Audience
}

export function makeParts(
  clock: Clock,
  stores: ThumbupStores,
  config: Config,
  notices: Notices,
  { guard, random, tenants }: Required<Omit<ThumbupOptions, 'audience'>>,
): Parts {
  const common = makePart(stores, undefined)
  const own = new Map(
    config.businesses.flatMap(({ number, name }) => {
      const ownStores = tenants.get(number)
      return ownStores === undefined ? [] : [[number, makePart(ownStores, { number, name })] as const]
    }),
  )
  const partOf = (business: BusinessNumber): Part => own.get(business) ?? common
  return { common, own: [...own.values()], all: [common, ...own.values()], partOf }

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
        businesses: followed(
          () => config.businesses,
          (all) => [...all.filter(({ number }) => isOurs(number)), ...(tenant === undefined && hasFeed(config) ? [FOLLOWS] : [])],
        ),
        targetOf: (number) => partOf(number).pipeline.replayTarget,
        ...{ isOurs, isTenant: tenant !== undefined, thumbup: liveView(() => config.thumbup), guard },
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
      followers: makeCountFollowers(clock, guarded.cache, counts, config.thumbup.countsWindowMs),
      name: tenant?.name,
      notices: { ...ours, failed: outages.failed },
      downMs: outages.downMs,
    }
  }
}
