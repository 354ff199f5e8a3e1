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

/**
 * Messages wait longer than `limit`, and the lag was above its earlier maximum for ten minutes. It finds a stuck partition among others that
 * move, and messages of many plays: plays are counted, and messages wait.
 */
function grows(subgraph: string, waiting: string, moved: string, { range, seconds }: Span, limit: number): string {
  const wait = `max(${waiting}) / sum(rate(${moved}[${range(10)}])) > ${seconds(limit)}`
  // The windows share no sample.
  const grown = `min(min_over_time(${waiting}[${range(10)}])) > max(max_over_time(${waiting}[${range(10)}] offset ${range(11)}))`
  return labelled(`${wait} and ${grown}`, 'subgraph', subgraph)
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
        waits('feed-existence', 'tidemark_plays_log_lag_messages', 'tidemark_plays_staged_total', span, 300),
        grows('feed-existence', 'tidemark_plays_log_lag_messages', 'tidemark_plays_staged_total', span, 60),
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
        waits('feed', 'tidemark_feed_dirty_counters', 'tidemark_feed_persisted_counters_total', span, 900),
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
