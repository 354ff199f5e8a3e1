/**
 * Keeps the caches of a job's process equal to the database, whoever writes there: what the change feed brings goes into the
 * count cache by version. While the feed stalls the service's own events take over (`core/feed-switch.ts`).
 */
import { hostname } from 'node:os'
import type { Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { makeFeedSwitch, type FeedSwitch } from '../core/feed-switch.ts'
import type { CountChanges } from '../stores/count-feed.ts'
import { openCountFeeds, type OpenFeed } from '../stores/open-feeds.ts'
import type { OpenStores } from '../stores/open.ts'
import type { ThumbupSubgraph } from '../subgraphs/thumbup/index.ts'
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
    (some) => refresh(stores, thumbup, some),
    {
      onSwitch: (active, reason) => log.warn({ ...fields, active, reason }, 'another source of changes of counts is followed now'),
      onReload: (reason) => log.warn({ ...fields, reason }, 'changes of counts may have been missed; the reconciler finds what is old'),
    },
    { staleAfterMs: changes.staleAfterMs, backAfterMs: changes.backAfterMs },
  )
}

/** A database may hold several businesses, each with a cache of its own. */
async function refresh(stores: OpenStores, thumbup: ThumbupSubgraph, { counts, owners }: CountChanges): Promise<void> {
  const countsOf = Map.groupBy(counts, ({ business }) => business)
  const ownersOf = Map.groupBy(owners, ({ business }) => business)
  await Promise.all([
    ...[...countsOf].map(([business, some]) => thumbup.refreshOf(business).apply(some)),
    ...[...ownersOf].map(([business, some]) => (stores.tenants.get(business) ?? stores.marks).cache.putOwnerSums(some)),
  ])
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
