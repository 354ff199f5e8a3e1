/** Alerts about writes on their way to the record store. */
import { anyOf, labelled, type Alert, type Span } from './alert.ts'

const PARKED = [
  'tidemark_parked_messages_total',
  'tidemark_marks_parked_messages_total',
  'tidemark_plays_parked_total',
  'tidemark_feed_parked_messages_total',
  'tidemark_journal_parked_total',
  'tidemark_marks_journal_parked_total',
] as const

/** What waits divided by the rate at which it moves is the time that it waits (Little's law). So the limit fits a site of any size. */
function waits(subgraph: string, waiting: string, moved: string, { range, seconds }: Span, limit: number): string {
  return labelled(`max(${waiting}) / sum(rate(${moved}[${range(10)}])) > ${seconds(limit)}`, 'subgraph', subgraph)
}

export const WRITE_BACK_ALERTS: readonly Alert[] = [
  {
    name: 'TidemarkLogBehind',
    severity: 'page',
    afterMinutes: 5,
    summary: 'Messages of {{ $labels.subgraph }} wait {{ $value | humanizeDuration }} in the log.',
    expr: (span) =>
      anyOf([
        waits('history', 'tidemark_log_lag_messages', 'tidemark_flush_messages_total', span, 300),
        waits('thumbup', 'tidemark_marks_log_lag_messages', 'tidemark_marks_flush_messages_total', span, 300),
        waits('feed', 'tidemark_feed_log_lag_messages', 'tidemark_feed_flush_messages_total', span, 300),
        labelled(
          `min(min_over_time(tidemark_plays_log_lag_messages[${span.range(10)}])) > 0 and sum(rate(tidemark_plays_staged_total[${span.range(10)}])) == 0`,
          'subgraph',
          'feed-existence',
        ),
      ]),
  },
  {
    name: 'TidemarkWritesNotPersisted',
    severity: 'page',
    afterMinutes: 5,
    summary: 'Writes of {{ $labels.subgraph }} need {{ $value | humanizeDuration }} to reach the record store.',
    expr: (span) =>
      anyOf([
        waits('history', 'tidemark_dirty_keys', 'tidemark_persisted_rows_total', span, 900),
        waits('thumbup', 'tidemark_dirty_marks', 'tidemark_marks_persisted_rows_total', span, 900),
        waits('feed', 'tidemark_feed_dirty_keys', 'tidemark_feed_persisted_posts_total', span, 900),
      ]),
  },
  {
    name: 'TidemarkJournalWaiting',
    severity: 'ticket',
    afterMinutes: 5,
    summary: '{{ $value }} journaled writes of {{ $labels.instance }} wait, although the hot store answers.',
    expr: () =>
      anyOf([
        'tidemark_journal_waiting_entries > 0 unless on (instance) tidemark_store_down{store="hotStore"} == 1',
        'tidemark_marks_journal_waiting_entries > 0 unless on (instance) max by (instance) (tidemark_marks_store_down{store="hotStore"}) == 1',
      ]),
  },
  {
    name: 'TidemarkMessagesParked',
    severity: 'ticket',
    afterMinutes: 0,
    summary: '{{ $labels.instance }} parked messages or journaled writes that it cannot apply.',
    expr: ({ range }) => anyOf(PARKED.map((metric) => `sum by (instance) (increase(${metric}[${range(60)}])) > 0`)),
  },
  {
    name: 'TidemarkFoldsBehind',
    severity: 'ticket',
    afterMinutes: 5,
    summary: 'The plays of the last {{ $value | humanizeDuration }} are in no filter yet.',
    expr: () =>
      anyOf([
        '(time() - tidemark_folds_hour_timestamp_seconds) > 3 * 3600 and tidemark_folds_hour_timestamp_seconds > 0',
        '(time() - process_start_time_seconds) > 3 * 3600 and on (instance) tidemark_folds_hour_timestamp_seconds == 0',
      ]),
  },
]
