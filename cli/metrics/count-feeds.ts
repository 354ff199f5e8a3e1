/**
 * Keeps the caches of a job's process equal to the database, whoever writes there: what the change feed brings goes into the
 * count cache by version. While the feed stalls the service's own events take over (`subgraphs/thumbup/change-feed/feed-switch.ts`).
 */
import { hostname } from 'node:os'
import type { Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../config/config.ts'
import { saysDown } from '../../core/outage/degraded.ts'
import { makeFeedSwitch, type FeedSwitch } from '../../subgraphs/thumbup/change-feed/feed-switch.ts'
import type { CountChanges } from '../../subgraphs/thumbup/change-feed/count-feed.ts'
import { openCountFeeds, type OpenFeed } from '../stores/change-feeds.ts'
import type { OpenStores } from '../stores/history.ts'
import type { ThumbupSubgraph } from '../../subgraphs/thumbup/index.ts'
import { addCounters, addGauges } from './write-back-metrics.ts'

/** Where no feed is configured, it is nothing and costs nothing. A server that does not answer is tried again. */
export async function startCountFeeds(
  config: Config,
  stores: OpenStores,
  thumbup: ThumbupSubgraph,
  registry: Registry,
  log: Logger,
): Promise<{ stop(): Promise<void> }> {
  const name =
    config.thumbup.changes.name ??
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
        log.warn({ err: error, business }, 'a cache was down while counts changed; the reconciler finds what is old in it'),
      ),
    {
      onSwitch: (active, reason) => log.warn({ ...fields, active, reason }, 'another source of changes of counts is followed now'),
      onReload: (reason) => log.warn({ ...fields, reason }, 'changes of counts may have been missed; the reconciler finds what is old'),
    },
    { staleAfterMs: changes.staleAfterMs, backAfterMs: changes.backAfterMs },
  )
}

/**
 * A database may hold several businesses, each with a cache of its own. Where the cache of one is down, the others' changes
 * must not wait behind its own, so the common feed goes on without it; its service refreshes it from its outbox all the same.
 * A feed of one business waits: nothing is behind it but its own. `tenant`: that business.
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
    tidemark_changes_freshness_ms: ['Milliseconds the followed changes of counts are behind.', worst((feed) => feed.figures().freshnessMs)],
    tidemark_changes_feed_lag_ms: [
      'Milliseconds the change feed is behind, followed or not.',
      worst((feed) => feed.figures().primaryLagMs),
    ],
    tidemark_changes_on_events: [
      'Change feeds in whose place events are followed.',
      sum((feed) => Number(feed.figures().active === 'fallback')),
    ],
  })
  addCounters(registry, {
    tidemark_changes_applied_total: ['Changes of counts that were followed.', sum((feed) => feed.figures().applied)],
    tidemark_changes_repeated_total: ['Changes that came again and were dropped.', sum((feed) => feed.figures().repeated)],
    tidemark_changes_switches_total: ['Changes between the feed and events.', sum((feed) => feed.figures().switches)],
  })
}
