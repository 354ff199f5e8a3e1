/** The first page: is Tidemark well, and if not, where to look? */
import { RATE, type Dashboard } from './dashboard.ts'
import { panel, perSecond, quantiles } from './panels.ts'

export const OVERVIEW: Dashboard = {
  id: 'overview',
  title: 'overview',
  about: 'Is Tidemark healthy? Alerts, service levels, traffic, and backlogs.',
  sections: [
    {
      title: 'Service levels',
      panels: [
        panel('Firing alerts', 'Alerts of the shipped rules. Each has a runbook.', 'short', {
          expr: 'count by (alertname, severity) (ALERTS{alertname=~"Tidemark.*", alertstate="firing"})',
          legend: '{{alertname}} ({{severity}})',
          mayBeEmpty: true,
        }),
        panel(
          'Failed operations',
          'The share of operations that failed. The objective is at most 0.1%.',
          'percentunit',
          { expr: 'tidemark:operations_failed:ratio_rate5m', legend: '5 minutes' },
          { expr: 'tidemark:operations_failed:ratio_rate6h', legend: '6 hours' },
        ),
        panel(
          'Slow operations',
          'The share of queries and mutations above 250 ms. The objective is at most 1%.',
          'percentunit',
          { expr: 'tidemark:operations_slow:ratio_rate5m', legend: '5 minutes' },
          { expr: 'tidemark:operations_slow:ratio_rate6h', legend: '6 hours' },
        ),
      ],
    },
    {
      title: 'Traffic',
      panels: [
        panel(
          'Operations',
          'Answered operations per second, by outcome.',
          'reqps',
          perSecond('tidemark_gateway_requests_total', '{{outcome}}', 'outcome'),
        ),
        panel(
          'Time of operations',
          'From a parsed request to its answer.',
          's',
          ...quantiles('tidemark_gateway_request_seconds', 'kind=~"query|mutation"', 'kind'),
        ),
        panel(
          'Writes',
          'Writes that requests made, per second.',
          'wps',
          perSecond('tidemark_reports_total', 'reports'),
          perSecond('tidemark_marks_total', 'marks'),
          perSecond('tidemark_played_total', 'plays'),
          perSecond('tidemark_feed_published_total', 'posts'),
        ),
      ],
    },
    {
      title: 'Stores',
      panels: [
        panel(
          'Stores down',
          'Processes that work without a store.',
          'short',
          { expr: 'sum by (store) (tidemark_store_down)', legend: 'history {{store}}' },
          { expr: 'sum by (store) (tidemark_marks_store_down)', legend: 'likes {{store}}' },
          { expr: 'sum by (store) (tidemark_existence_store_down)', legend: 'feed existence {{store}}' },
          { expr: 'sum by (store) (tidemark_feed_store_down)', legend: 'feed {{store}}' },
        ),
        panel('Slowest calls', 'The 99th percentile of the time of a call, of all subgraphs.', 's', {
          expr: `histogram_quantile(0.99, sum by (store, le) (rate(tidemark_store_call_seconds_bucket{operation!~"check|consume.*"}[${RATE}])))`,
          legend: '{{store}}',
        }),
        panel(
          'Degraded answers',
          'Answers per second that lacked a store and named it.',
          'reqps',
          perSecond('tidemark_gateway_degraded_total', '{{store}}', 'store', true),
        ),
      ],
    },
    {
      title: 'Write-back',
      panels: [
        panel(
          'Waiting in the log',
          'Messages that no job has processed yet.',
          'short',
          { expr: 'max(tidemark_log_lag_messages)', legend: 'history' },
          { expr: 'max(tidemark_marks_log_lag_messages)', legend: 'likes' },
          { expr: 'max(tidemark_plays_log_lag_messages)', legend: 'plays' },
          { expr: 'max(tidemark_feed_log_lag_messages)', legend: 'feed' },
        ),
        panel(
          'Not yet in the record store',
          'Keys that are newer in the hot store.',
          'short',
          { expr: 'max(tidemark_dirty_keys)', legend: 'history' },
          { expr: 'max(tidemark_dirty_marks)', legend: 'likes' },
          { expr: 'max(tidemark_feed_dirty_keys)', legend: 'feed' },
          { expr: 'max(tidemark_feed_dirty_counters)', legend: 'counters' },
        ),
        panel(
          'Waiting in journals',
          'Writes that processes took while the hot store was down.',
          'short',
          { expr: 'sum(tidemark_journal_waiting_entries)', legend: 'history' },
          { expr: 'sum(tidemark_marks_journal_waiting_entries)', legend: 'likes' },
        ),
      ],
    },
    {
      title: 'Processes',
      panels: [
        panel(
          'Up',
          'Processes with metrics.',
          'short',
          { expr: 'sum(up{job="tidemark"})', legend: 'up' },
          { expr: 'count(up{job="tidemark"})', legend: 'known' },
        ),
        panel('CPU', 'Cores in use, per process.', 'short', {
          expr: `rate(process_cpu_seconds_total{job="tidemark"}[${RATE}])`,
          legend: '{{instance}}',
        }),
        panel('Memory', 'Resident memory, per process.', 'bytes', {
          expr: 'process_resident_memory_bytes{job="tidemark"}',
          legend: '{{instance}}',
        }),
      ],
    },
  ],
}
