/** Figures of the reads behind pages, from `/metrics`: lookups, hits and time of each class of cached values. */
import type { Measure } from '../support/report.ts'

type Series = ReadonlyMap<string, number>

const CLASSES = ['head', 'outbox', 'inbox', 'content']
const HITS = ['l1', 'main', 'backup', 'absent']
const MISSES = ['joined', 'loaded']
const HIT_RATIO_MIN = 0.99
const REQUEST_MAX_MS = 5

/**
 * `before` and `after` some pages. `cachesCounters`: the hot store keeps counters that were read. On the embedded shape it does not, because
 * the record store is in the same process.
 */
export function lookupMeasures(name: string, before: Series, after: Series, pages: number, cachesCounters: boolean): Measure[] {
  const grown = (series: string): number => (after.get(series) ?? 0) - (before.get(series) ?? 0)
  const tiers = (metric: string, of: string, all: readonly string[]): number =>
    all.reduce((sum, tier) => sum + grown(`${metric}{class="${of}",tier="${tier}"}`), 0)
  const classes = CLASSES.map((of) => ({
    of,
    hits: tiers('tidemark_feed_cache_hits_total', of, HITS),
    misses: tiers('tidemark_feed_cache_misses_total', of, MISSES),
  }))
  classes.unshift({ of: 'newest id', hits: grown('tidemark_feed_newest_hits_total'), misses: grown('tidemark_feed_newest_misses_total') })
  if (cachesCounters) {
    classes.push({ of: 'counters', hits: grown('tidemark_feed_counter_hits_total'), misses: grown('tidemark_feed_counter_misses_total') })
  }
  const [filters, loads] = [grown('tidemark_filter_reads_total'), grown('tidemark_filter_loads_total')]
  classes.push({ of: 'existence', hits: filters - loads, misses: loads })
  classes.push({ of: 'graph', hits: grown('tidemark_feed_longset_hits_total'), misses: grown('tidemark_feed_longset_misses_total') })
  const lookups = classes.reduce((sum, { hits, misses }) => sum + hits + misses, 0)
  const used = classes.filter(({ hits, misses }) => hits + misses > 0)
  return [
    { metric: `${name}: lookups of cached values`, value: lookups / pages, unit: 'per page' },
    ...used.map(({ of, hits, misses }): Measure => {
      return { metric: `${name}: hits, class ${of}`, value: hits / (hits + misses), unit: `of ${hits + misses}`, target: HIT_RATIO_MIN }
    }),
    ...requestMeasures(name, grown, pages),
  ]
}

function requestMeasures(name: string, grown: (series: string) => number, pages: number): Measure[] {
  const hotCalls = grown('tidemark_feed_hot_store_calls_total')
  const hotMs = grown('tidemark_feed_hot_store_seconds_total') * 1_000
  const classes = CLASSES.map((of) => ({
    of,
    calls: grown(`tidemark_feed_cache_calls_total{class="${of}"}`),
    ms: grown(`tidemark_feed_cache_seconds_total{class="${of}"}`) * 1_000,
  })).filter(({ calls }) => calls > 0)
  const allCalls = classes.reduce((sum, { calls }) => sum + calls, hotCalls)
  const allMs = classes.reduce((sum, { ms }) => sum + ms, hotMs)
  return [
    { metric: `${name}: questions for changes`, value: grown('tidemark_feed_questions_total') / pages, unit: 'per page' },
    { metric: `${name}: calls of the hot store by the feed`, value: hotCalls / pages, unit: 'per page' },
    { metric: `${name}: average data request`, value: allMs / allCalls, unit: 'ms', target: REQUEST_MAX_MS, atMost: true },
    {
      metric: `${name}: average call of the hot store by the feed`,
      value: hotMs / hotCalls,
      unit: 'ms',
      target: REQUEST_MAX_MS,
      atMost: true,
    },
    ...classes.map(({ of, calls, ms }): Measure => ({
      metric: `${name}: average read of class ${of}`,
      value: ms / calls,
      unit: 'ms',
      target: REQUEST_MAX_MS,
      atMost: true,
    })),
  ]
}
