/** Alerts about stored data and the cache. */
import type { Alert } from './alert.ts'

export const DATA_ALERTS: readonly Alert[] = [
  {
    name: 'TidemarkCountsDrift',
    severity: 'ticket',
    afterMinutes: 0,
    summary: 'Counts of likes differed from their rows: {{ $value }} in the last hour.',
    expr: ({ range }) => `sum(increase(tidemark_marks_drift_total[${range(60)}])) > 0`,
  },
  {
    name: 'TidemarkCountsNotRecounted',
    severity: 'ticket',
    afterMinutes: 0,
    summary: 'Subjects could not be recounted: they have too many rows, or damaged ones.',
    expr: ({ range }) => `sum(increase(tidemark_marks_not_recounted_subjects_total[${range(60)}])) > 0`,
  },
  {
    name: 'TidemarkFilterDamaged',
    severity: 'ticket',
    afterMinutes: 0,
    summary: '{{ $labels.instance }} found a damaged filter of plays.',
    expr: ({ range }) =>
      `sum by (instance) (increase(tidemark_filters_unreadable_total[${range(60)}])) > 0 or sum by (instance) (increase(tidemark_folds_filters_repaired_total[${range(60)}])) > 0`,
  },
  {
    name: 'TidemarkCacheNodeDown',
    severity: 'ticket',
    afterMinutes: 10,
    summary: '{{ $labels.instance }} does not reach the node {{ $labels.node }} of the cache.',
    expr: () => 'tidemark_feed_cache_node_down == 1',
  },
]
