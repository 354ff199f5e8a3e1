/** Alerts about processes: missing, restarted, busy. */
import { anyOf, labelled, type Alert } from './alert.ts'

/** Per subgraph: a counter of writes by requests, and a metric that only its job has. */
const JOBS = [
  { subgraph: 'history', writes: 'tidemark_reports_total', job: 'tidemark_persist_steps_total' },
  { subgraph: 'thumbup', writes: 'tidemark_marks_total', job: 'tidemark_mark_windows_total' },
  { subgraph: 'feed-existence', writes: 'tidemark_played_total', job: 'tidemark_folds_viewers_total' },
  { subgraph: 'feed', writes: 'tidemark_feed_published_total', job: 'tidemark_feed_persist_steps_total' },
] as const

export const PROCESS_ALERTS: readonly Alert[] = [
  {
    name: 'TidemarkProcessDown',
    severity: 'page',
    afterMinutes: 1,
    summary: 'Prometheus gets no metrics of {{ $labels.instance }}.',
    expr: () => 'up{job="tidemark"} == 0',
  },
  {
    name: 'TidemarkJobMissing',
    severity: 'page',
    afterMinutes: 5,
    summary: 'Requests write to {{ $labels.subgraph }}, and no job of it runs.',
    expr: ({ range }) =>
      anyOf(
        JOBS.map(({ subgraph, writes, job }) =>
          labelled(`sum(rate(${writes}[${range(30)}])) > 0 unless count(${job})`, 'subgraph', subgraph),
        ),
      ),
  },
  {
    name: 'TidemarkProcessRestarts',
    severity: 'ticket',
    afterMinutes: 0,
    summary: '{{ $labels.instance }} started more than twice in half an hour.',
    expr: ({ range }) => `changes(process_start_time_seconds{job="tidemark"}[${range(30)}]) > 2`,
  },
  {
    name: 'TidemarkProcessBusy',
    severity: 'ticket',
    afterMinutes: 10,
    summary: 'The event loop of {{ $labels.instance }} is late: a timer of 250 ms took {{ $value | humanizeDuration }}.',
    // The mean, because a busy process misses scrapes. A missed scrape must not start the wait again.
    expr: ({ range }) => `avg_over_time(nodejs_eventloop_lag_p99_seconds{job="tidemark"}[${range(5)}]) > 0.65`,
  },
]
