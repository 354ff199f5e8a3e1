/** Metrics of the feed. Each scrape reads the figures of the parts. Hits and misses are per class of cached values, by the tier that had them. */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import type { ClassFigures } from '../../cache/tiered-cache.ts'
import type { FeedSubgraph } from '../../subgraphs/feed/index.ts'
import type { FeedJob } from '../../subgraphs/feed/persist/job.ts'
import type { FeedWriteStores } from '../../subgraphs/feed/write/write-path.ts'
import { addRecordReadMetrics } from './record-read-metrics.ts'
import { addCounters, addGauges, unknown } from './write-back-metrics.ts'

/** The classes of cached values by the first letter of their keys (`model/cache-keys.ts`). */
const CLASSES: Readonly<Record<string, string>> = { h: 'head', o: 'outbox', i: 'inbox', c: 'content' }

/** Metrics of a process that serves requests. */
export function addFeedMetrics(registry: Registry, { figures }: FeedSubgraph): void {
  addCounters(registry, {
    tidemark_feed_published_total: ['Published posts.', () => figures().service.published],
    tidemark_feed_publications_repeated_total: ['Repeated publications of a post.', () => figures().service.repeated],
    tidemark_feed_deleted_total: ['Deleted posts, repetitions included.', () => figures().service.deleted],
    tidemark_feed_filter_words_set_total: ['Changes of filter words.', () => figures().service.wordsSet],
    tidemark_feed_counted_total: ['Counter events of services that were counted.', () => figures().service.counted],
    tidemark_feed_aggregator_added_keys_total: ['Keys of the feed added to the aggregator.', () => figures().aggregator.added],
    tidemark_feed_aggregator_dropped_keys_total: [
      'Keys of the feed that the full aggregator left to the sweeper.',
      () => figures().aggregator.dropped,
    ],
    tidemark_feed_flush_messages_total: ['Flush messages of the feed written to the log.', () => figures().flushes.messages],
    tidemark_feed_flushes_direct_total: [
      'Flushes of the feed that were persisted directly, because the log was down.',
      () => figures().flushes.direct,
    ],
    tidemark_feed_flushes_left_total: [
      'Flushes of the feed that were left to the sweeper, because the log was down.',
      () => figures().flushes.left,
    ],
    tidemark_feed_longset_hits_total: ['Reads of follow lists that the hot store had.', () => figures().graph.hits],
    tidemark_feed_longset_misses_total: ['Reads of follow lists that were built from marks.', () => figures().graph.misses],
    tidemark_feed_longset_bytes_total: ['Bytes of follow lists that were read whole.', () => figures().graph.bytes],
    tidemark_feed_newest_hits_total: ['Newest post ids of authors that the process knew.', () => figures().newest.hits],
    tidemark_feed_newest_misses_total: [
      'Newest post ids of authors that it did not know well enough, so that their heads were read.',
      () => figures().newest.misses,
    ],
    tidemark_feed_counter_hits_total: [
      'Subjects whose counters the hot store had, or that are remembered as uncounted.',
      () => figures().counters.hits,
    ],
    tidemark_feed_counter_misses_total: ['Subjects whose counters were read from the record store.', () => figures().counters.misses],
    tidemark_feed_hot_store_calls_total: ['Calls of the hot store by the feed.', () => figures().hotCalls.calls],
    tidemark_feed_hot_store_seconds_total: ['Time of these calls, retries included.', () => figures().hotCalls.ms / 1_000],
    tidemark_feed_questions_total: ['Questions for changed values.', () => figures().freshness.questions],
  })
  addClassCounter(
    registry,
    'tidemark_feed_cache_hits_total',
    'Values that a tier of the cache had, by class.',
    ['l1', 'main', 'backup', 'absent'],
    figures,
  )
  addClassCounter(
    registry,
    'tidemark_feed_cache_misses_total',
    'Values that no tier of the cache had, by class.',
    ['joined', 'loaded'],
    figures,
  )
  addClassCounter(registry, 'tidemark_feed_cache_stale_total', 'Cached values that were too old, by class.', ['stale'], figures)
  addClassCounter(registry, 'tidemark_feed_cache_damaged_total', 'Cached values that could not be decoded, by class.', ['damaged'], figures)
  addClassCounter(registry, 'tidemark_feed_cache_bytes_total', 'Bytes that the cache returned, by class.', ['bytes'], figures)
  addClassCounter(registry, 'tidemark_feed_cache_calls_total', 'Reads of the cache, each of many values, by class.', ['calls'], figures)
  addClassCounter(registry, 'tidemark_feed_cache_seconds_total', 'Time of these reads, loads included, by class.', ['ms'], figures, 1_000)
  addRecordReadMetrics(registry, 'tidemark_feed', 'the feed', () => [figures().recordReads])
  new Gauge({
    name: 'tidemark_feed_store_down',
    help: '1 while the breaker of this store of the feed is open.',
    labelNames: ['store'],
    registers: [registry],
    collect() {
      for (const [store, { isDown }] of Object.entries(figures().outages)) this.set({ store }, isDown ? 1 : 0)
    },
  })
  new Gauge({
    name: 'tidemark_feed_cache_node_down',
    help: '1 while a node of the cache is not asked, because it failed.',
    labelNames: ['pool', 'node'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { pool, address, isDown } of figures().cache.nodes) this.set({ pool, node: address }, isDown ? 1 : 0)
    },
  })
  new Gauge({
    name: 'tidemark_feed_cache_node_share',
    help: 'The part of the reads of its pool that this process sent to a node of the cache, 0 to 1, since the last change of the layout.',
    labelNames: ['pool', 'node'],
    aggregator: 'average',
    registers: [registry],
    collect() {
      this.reset()
      for (const { pool, address, share } of figures().cache.nodes) this.set({ pool, node: address }, share)
    },
  })
  addGauges(registry, {
    tidemark_feed_noted_changes: ['Noted changes of cached values.', () => figures().freshness.notes],
    tidemark_feed_aggregator_held_keys: ['Keys of the feed in the aggregator.', () => figures().aggregator.held],
  })
}

/** Metrics of a process that runs the job. */
export function addFeedJobMetrics(
  registry: Registry,
  job: FeedJob,
  { hot, log, counters }: Pick<FeedWriteStores, 'hot' | 'log' | 'counters'>,
): void {
  addCounters(registry, {
    tidemark_feed_persist_steps_total: ['Persist steps of the feed.', () => job.figures().steps],
    tidemark_feed_persisted_posts_total: ['Posts sent to the record store.', () => job.figures().posts],
    tidemark_feed_persisted_words_total: ['Filter words of viewers sent to the record store.', () => job.figures().words],
    tidemark_feed_persisted_counters_total: ['Subjects whose counters were sent to the record store.', () => job.figures().counted],
    tidemark_feed_missing_total: [
      'Keys of the feed without content in the hot store when they were persisted.',
      () => job.figures().missing,
    ],
    tidemark_feed_swept_total: ['Keys of the feed that the sweeper persisted, because no flush carried them.', () => job.figures().swept],
    tidemark_feed_parked_messages_total: [
      'Flushes of the feed that were parked, because they could not be decoded.',
      () => job.figures().parked,
    ],
    tidemark_feed_forgotten_total: ['Old changes that the hot store forgot.', () => job.figures().forgotten],
    tidemark_feed_removed_tombstones_total: ['Tombstones that were removed from the record store.', () => job.figures().removed],
  })
  addGauges(registry, {
    tidemark_feed_dirty_keys: [
      'Posts and filter words that are newer in the hot store than in the record store.',
      () => hot.countDirty().catch(unknown),
    ],
    tidemark_feed_dirty_counters: [
      'Subjects with counters that are newer in the hot store than in the record store.',
      () => counters.hot.countDirty().catch(unknown),
    ],
    tidemark_feed_log_lag_messages: ['Flush messages of the feed that are not persisted yet.', () => log.lag().catch(unknown)],
  })
}

/** `unit`: how many of the figure are 1 of the metric. */
function addClassCounter(
  registry: Registry,
  name: string,
  help: string,
  parts: readonly (keyof ClassFigures)[],
  figures: FeedSubgraph['figures'],
  unit = 1,
): void {
  const hasTiers = parts.length > 1
  new Counter({
    name,
    help,
    labelNames: hasTiers ? ['class', 'tier'] : ['class'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [letter, of] of Object.entries(figures().cache.classes)) {
        const named = CLASSES[letter] ?? letter
        for (const tier of parts) this.inc({ class: named, ...(hasTiers && { tier }) }, of[tier] / unit)
      }
    },
  })
}
