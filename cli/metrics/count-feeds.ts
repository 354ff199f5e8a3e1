/**
 * Refreshes the caches of counts from the change feed, so that writes of other programs reach them too. Changes enter the count cache by
 * version. While the feed stalls, Tidemark's own events take over (`subgraphs/thumbup/change-feed/feed-switch.ts`).
 */
import { hostname } from 'node:os'
import type { Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { saysDown } from '../../core/outage/degraded.ts'
import { makeFeedSwitch, type FeedSwitch } from '../../subgraphs/thumbup/change-feed/feed-switch.ts'
import type { CountChanges } from '../../subgraphs/thumbup/change-feed/count-feed.ts'
import type { OpenFeed } from '../stores/change-feeds.ts'
import type { OpenStores } from '../stores/history.ts'
import type { ThumbupSubgraph } from '../../subgraphs/thumbup/index.ts'
import { addCounters, addGauges } from './write-back-metrics.ts'

/** Does nothing if no feed is configured. A server that does not answer is tried again. */
export async function startCountFeeds(
  config: Config,
  stores: OpenStores,
  thumbup: ThumbupSubgraph,
  registry: Registry,
  log: Logger,
): Promise<{ stop(): Promise<void> }> {
  const {
    stores: servers,
    thumbup: { changes },
  } = config
  if (servers.redis === undefined || changes.feed === 'events') return { stop: () => Promise.resolve() }
  const { openCountFeeds } = await import('../stores/change-feeds.ts')
  const name =
    changes.name ??
    `${hostname()
      .replaceAll(/[^A-Za-z0-9._-]/g, '-')
      .slice(0, 50)}-${config.server.port}`
  const opened = openCountFeeds(config, systemClock, log, name, stores.marks.events)
  const running = await Promise.all(opened.map((feed) => startFeed(config, stores, thumbup, feed, log)))
  if (running.length > 0) addFeedMetrics(registry, running)
  return {
    async stop() {
      await Promise.all(running.map((feed) => feed.stop()))
      await Promise.all(opened.map((feed) => feed.close()))
    },
  }
}

function startFeed(
  { thumbup: { changes } }: Config,
  stores: OpenStores,
  thumbup: ThumbupSubgraph,
  { tenant, primary, fallback }: OpenFeed,
  log: Logger,
): Promise<FeedSwitch> {
  const fields = tenant === undefined ? {} : { business: tenant }
  return makeFeedSwitch(
    systemClock,
    primary,
    fallback,
    (some) =>
      refreshCaches(stores, thumbup, some, tenant, (business, error) =>
        log.warn({ err: error, business }, 'a cache was down while counts changed; the reconciler finds its old counts'),
      ),
    {
      onSwitch: (active, reason) => log.warn({ ...fields, active, reason }, 'changes of counts are now followed from another source'),
      onReload: (reason) => log.warn({ ...fields, reason }, 'changes of counts may have been missed; the reconciler finds old counts'),
    },
    { staleAfterMs: changes.staleAfterMs, backAfterMs: changes.backAfterMs },
  )
}

/**
 * A database may hold several businesses, each with its own cache. If one cache is down, the common feed goes on without it, so that the
 * other businesses do not wait. The outbox refreshes that cache later. A feed of one business (`tenant`) waits, because nothing else waits
 * behind it.
 */
export async function refreshCaches(
  stores: Pick<OpenStores, 'marks' | 'tenants'>,
  thumbup: Pick<ThumbupSubgraph, 'refreshOf'>,
  { counts, owners }: CountChanges,
  tenant: string | undefined,
  onLeft: (business: number, error: unknown) => void,
): Promise<void> {
  const countsOf = Map.groupBy(counts, ({ business }) => business)
  const ownersOf = Map.groupBy(owners, ({ business }) => business)
  const businesses = new Set([...countsOf.keys(), ...ownersOf.keys()])
  const done = await Promise.allSettled(
    Array.from(businesses, async (business) => {
      const own = stores.tenants.get(business)
      try {
        await thumbup.refreshOf(business).apply(countsOf.get(business) ?? [])
        const sums = ownersOf.get(business) ?? []
        if (sums.length > 0) await (own ?? stores.marks).cache.putOwnerSums(sums)
      } catch (error) {
        if (tenant !== undefined || own === undefined || !saysDown(error, 'hotStore')) throw error
        onLeft(business, error)
      }
    }),
  )
  for (const each of done) if (each.status === 'rejected') throw each.reason
}

function addFeedMetrics(registry: Registry, feeds: readonly FeedSwitch[]): void {
  const worst = (read: (feed: FeedSwitch) => number) => () => Math.max(...feeds.map(read))
  const sum = (read: (feed: FeedSwitch) => number) => () => feeds.reduce((total, feed) => total + read(feed), 0)
  addGauges(registry, {
    tidemark_changes_freshness_ms: [
      'Delay of the followed changes of counts, in milliseconds.',
      worst((feed) => feed.figures().freshnessMs),
    ],
    tidemark_changes_feed_lag_ms: [
      'Delay of the change feed in milliseconds, even if events are followed.',
      worst((feed) => feed.figures().primaryLagMs),
    ],
    tidemark_changes_on_events: [
      'Change feeds that are behind, so that events replace them.',
      sum((feed) => Number(feed.figures().active === 'fallback')),
    ],
  })
  addCounters(registry, {
    tidemark_changes_applied_total: ['Changes of counts that were applied.', sum((feed) => feed.figures().applied)],
    tidemark_changes_repeated_total: ['Repeated changes that were dropped.', sum((feed) => feed.figures().repeated)],
    tidemark_changes_switches_total: ['Switches between the feed and events.', sum((feed) => feed.figures().switches)],
  })
}
