/** Alerts about the stores as the processes see them. */
import { anyOf, type Alert } from './alert.ts'

const CALLS = 'tidemark_store_call_seconds'
const STORE_DOWN = [
  'tidemark_store_down',
  'tidemark_marks_store_down',
  'tidemark_existence_store_down',
  'tidemark_feed_store_down',
] as const
const READS_REFUSED = [
  'tidemark_record_reads_refused_total',
  'tidemark_marks_record_reads_refused_total',
  'tidemark_existence_record_reads_refused_total',
  'tidemark_feed_record_reads_refused_total',
] as const

/**
 * Probes do not count, and neither does joining a consumer group, which takes seconds. Record stores and logs write large batches, so their
 * calls may take longer than those of hot stores.
 */
const MEASURED = 'operation!~"check|consume.*"'
const HOT = 'store=~"hot|cache|longsets|counters"'
const OTHERS = 'store!~"hot|cache|longsets|counters|legacy"'

export const STORE_ALERTS: readonly Alert[] = [
  {
    name: 'TidemarkStoreDown',
    severity: 'page',
    afterMinutes: 1,
    summary: '{{ $labels.instance }} works without the store {{ $labels.store }}.',
    expr: () => anyOf(STORE_DOWN.map((metric) => `max by (instance, store) (${metric}) == 1`)),
  },
  {
    name: 'TidemarkStoreCallsFail',
    severity: 'page',
    afterMinutes: 5,
    summary: '{{ $value | humanizePercentage }} of the calls of the store {{ $labels.store }} of {{ $labels.subgraph }} fail.',
    expr: ({ range }) =>
      `sum by (subgraph, store) (rate(${CALLS}_count{outcome!="ok"}[${range(5)}]))\n  / sum by (subgraph, store) (rate(${CALLS}_count[${range(5)}])) > 0.05`,
  },
  {
    name: 'TidemarkStoreSlow',
    severity: 'ticket',
    afterMinutes: 10,
    summary: 'The slowest calls of the store {{ $labels.store }} of {{ $labels.subgraph }} take {{ $value | humanizeDuration }}.',
    expr: ({ range }) =>
      anyOf([
        `histogram_quantile(0.95, sum by (subgraph, store, le) (rate(${CALLS}_bucket{${HOT}, ${MEASURED}}[${range(5)}]))) > 0.25`,
        `histogram_quantile(0.95, sum by (subgraph, store, le) (rate(${CALLS}_bucket{${OTHERS}, ${MEASURED}}[${range(5)}]))) > 1`,
      ]),
  },
  {
    name: 'TidemarkStoreFull',
    severity: 'page',
    afterMinutes: 1,
    summary: 'The store {{ $labels.store }} of {{ $labels.subgraph }} refuses writes, because it is full.',
    expr: ({ range }) => `sum by (subgraph, store) (rate(${CALLS}_count{outcome="full"}[${range(5)}])) > 0`,
  },
  {
    name: 'TidemarkStoreFindings',
    severity: 'ticket',
    afterMinutes: 5,
    summary: 'A server of {{ $labels.store }} may lose data or fail: {{ $labels.finding }}.',
    expr: () => 'max by (store, business, finding, level) (tidemark_store_findings{level!="allowed"}) > 0',
  },
  {
    name: 'TidemarkReadsRefused',
    severity: 'ticket',
    afterMinutes: 5,
    summary: '{{ $labels.instance }} refuses reads of the record store that waited too long.',
    expr: ({ range }) => anyOf(READS_REFUSED.map((metric) => `sum by (instance) (rate(${metric}[${range(5)}])) > 0`)),
  },
]
