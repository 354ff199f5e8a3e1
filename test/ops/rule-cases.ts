/**
 * One or more cases per alert: series of its fault, and series of a deployment that is well, often just below the limit. Values are written as
 * promtool reads them: `0+10x60` begins at 0 and grows by 10 in each of 60 minutes.
 */
export type RuleCase = {
  name: string
  severity: 'page' | 'ticket'
  fault: Readonly<Record<string, string>>
  healthy: Readonly<Record<string, string>>
  /** Minutes at which the alert of the fault must not fire yet. */
  silentAt?: number
  firesAt: number
}

const requests = 'tidemark_gateway_requests_total{kind="query", name="Page", outcome="ok", instance="a"}'
const failed = 'tidemark_gateway_failed_total{kind="query", instance="a"}'
const fast = 'tidemark_gateway_request_seconds_bucket{kind="query", le="0.25", instance="a"}'
const answered = 'tidemark_gateway_request_seconds_count{kind="query", instance="a"}'
const calls = (operation: string, outcome: string, store = 'hot') =>
  `tidemark_store_call_seconds_count{subgraph="history", store="${store}", business="", operation="${operation}", outcome="${outcome}", instance="a"}`
const bucket = (operation: string, le: string, store = 'hot') =>
  `tidemark_store_call_seconds_bucket{subgraph="history", store="${store}", business="", operation="${operation}", outcome="ok", instance="a", le="${le}"}`

/** `slow`: of 100 calls a minute, those that take between 250 ms and 1 s. */
const latency = (operation: string, slow: number) => ({
  [bucket(operation, '0.25')]: `0+${100 - slow}x60`,
  [bucket(operation, '1')]: '0+100x60',
  [bucket(operation, '+Inf')]: '0+100x60',
})

export const CASES: readonly RuleCase[] = [
  {
    ...{ name: 'TidemarkErrorBudgetBurn', severity: 'page', silentAt: 1, firesAt: 10 },
    fault: { [requests]: '0+1000x30', [failed]: '0+20x30' },
    healthy: { [requests]: '0+1000x30', [failed]: '0+10x30' },
  },
  {
    ...{ name: 'TidemarkErrorBudgetBurn', severity: 'ticket', silentAt: 1, firesAt: 60 },
    fault: { [requests]: '0+1000x90', [failed]: '0+7x90' },
    healthy: { [requests]: '0+1000x90', [failed]: '0+5x90' },
  },
  {
    ...{ name: 'TidemarkLatencyBudgetBurn', severity: 'page', silentAt: 1, firesAt: 10 },
    fault: { [answered]: '0+1000x30', [fast]: '0+800x30' },
    healthy: { [answered]: '0+1000x30', [fast]: '0+900x30' },
  },
  {
    ...{ name: 'TidemarkLatencyBudgetBurn', severity: 'ticket', silentAt: 1, firesAt: 60 },
    fault: { [answered]: '0+1000x90', [fast]: '0+930x90' },
    healthy: { [answered]: '0+1000x90', [fast]: '0+950x90' },
  },
  {
    ...{ name: 'TidemarkProcessDown', severity: 'page', silentAt: 3, firesAt: 7 },
    fault: { 'up{job="tidemark", instance="a"}': '1 1 1 0x20' },
    healthy: { 'up{job="tidemark", instance="a"}': '1x20', 'up{job="other", instance="b"}': '0x20' },
  },
  {
    ...{ name: 'TidemarkJobMissing', severity: 'page', silentAt: 4, firesAt: 12 },
    fault: {
      'tidemark_reports_total{outcome="ACCEPTED", instance="a"}': '0+10x30',
      'tidemark_marks_total{outcome="ACCEPTED", instance="a"}': '0+10x30',
      'tidemark_mark_windows_total{instance="b"}': '0+1x30',
    },
    healthy: {
      'tidemark_reports_total{outcome="ACCEPTED", instance="a"}': '0+10x30',
      'tidemark_persist_steps_total{instance="b"}': '0x30',
      'tidemark_feed_published_total{instance="a"}': '5x30',
    },
  },
  {
    ...{ name: 'TidemarkProcessRestarts', severity: 'ticket', silentAt: 4, firesAt: 9 },
    fault: { 'process_start_time_seconds{job="tidemark", instance="a"}': '1x2 2x2 3x2 4x2' },
    healthy: { 'process_start_time_seconds{job="tidemark", instance="a"}': '1x2 2x2 3x9' },
  },
  {
    ...{ name: 'TidemarkProcessBusy', severity: 'ticket', silentAt: 9, firesAt: 12 },
    fault: { 'nodejs_eventloop_lag_p99_seconds{job="tidemark", instance="a"}': '0.8x3 stale 0.8x4 stale 0.8x20' },
    healthy: { 'nodejs_eventloop_lag_p99_seconds{job="tidemark", instance="a"}': '0.25x5 0.8x3 0.25x30' },
  },
  {
    ...{ name: 'TidemarkStoreDown', severity: 'page', silentAt: 3, firesAt: 5 },
    fault: { 'tidemark_feed_store_down{store="hotStore", instance="a"}': '0 0 0 1x20' },
    healthy: {
      'tidemark_store_down{store="log", instance="a"}': '0x20',
      'tidemark_marks_store_down{store="log", business="", instance="a"}': '0x20',
    },
  },
  {
    ...{ name: 'TidemarkStoreCallsFail', severity: 'page', silentAt: 5, firesAt: 8 },
    fault: { [calls('putProgress', 'ok')]: '0+90x20', [calls('putProgress', 'unavailable')]: '0+10x20' },
    healthy: { [calls('putProgress', 'ok')]: '0+96x20', [calls('putProgress', 'failed')]: '0+4x20' },
  },
  {
    ...{ name: 'TidemarkStoreSlow', severity: 'ticket', silentAt: 10, firesAt: 13 },
    fault: latency('putProgress', 20),
    healthy: { ...latency('putProgress', 2), ...latency('check', 80) },
  },
  {
    ...{ name: 'TidemarkStoreFull', severity: 'page', silentAt: 1, firesAt: 4 },
    fault: { [calls('putMarks', 'full')]: '0+1x20' },
    healthy: { [calls('putMarks', 'full')]: '7x20', [calls('putMarks', 'ok')]: '0+100x20' },
  },
  {
    ...{ name: 'TidemarkStoreFindings', severity: 'ticket', silentAt: 4, firesAt: 6 },
    fault: { 'tidemark_store_findings{store="hotStore", business="", finding="redis-eviction", level="wrong", instance="a"}': '1x20' },
    healthy: { 'tidemark_store_findings{store="log", business="", finding="kafka-one-copy", level="allowed", instance="a"}': '1x20' },
  },
  {
    ...{ name: 'TidemarkReadsRefused', severity: 'ticket', silentAt: 5, firesAt: 8 },
    fault: { 'tidemark_marks_record_reads_refused_total{instance="a"}': '0+1x20' },
    healthy: { 'tidemark_record_reads_refused_total{instance="a"}': '9x20' },
  },
  {
    ...{ name: 'TidemarkLogBehind', severity: 'page', silentAt: 5, firesAt: 20 },
    fault: { 'tidemark_log_lag_messages{instance="a"}': '0+50x40', 'tidemark_flush_messages_total{instance="b"}': '0+60x40' },
    healthy: { 'tidemark_log_lag_messages{instance="a"}': '200x40', 'tidemark_flush_messages_total{instance="b"}': '0+60x40' },
  },
  {
    // The job stages half of the plays that arrive.
    ...{ name: 'TidemarkLogBehind', severity: 'page', silentAt: 5, firesAt: 20 },
    fault: { 'tidemark_plays_log_lag_messages{instance="a"}': '0+60x40', 'tidemark_plays_staged_total{instance="a"}': '0+60x40' },
    healthy: { 'tidemark_plays_log_lag_messages{instance="a"}': '200x40', 'tidemark_plays_staged_total{instance="a"}': '0+60x40' },
  },
  {
    // One of seven partitions is stuck. At 28 minutes, the wait is below the limit of the first condition.
    ...{ name: 'TidemarkLogBehind', severity: 'page', silentAt: 15, firesAt: 28 },
    fault: { 'tidemark_plays_log_lag_messages{instance="a"}': '0+10x40', 'tidemark_plays_staged_total{instance="a"}': '0+60x40' },
    healthy: { 'tidemark_plays_log_lag_messages{instance="a"}': '0+1x40', 'tidemark_plays_staged_total{instance="a"}': '0+60x40' },
  },
  {
    // No play is staged.
    ...{ name: 'TidemarkLogBehind', severity: 'page', silentAt: 4, firesAt: 20 },
    fault: { 'tidemark_plays_log_lag_messages{instance="a"}': '3x40', 'tidemark_plays_staged_total{instance="a"}': '9x40' },
    healthy: { 'tidemark_plays_log_lag_messages{instance="a"}': '0x40', 'tidemark_plays_staged_total{instance="a"}': '9x40' },
  },
  {
    ...{ name: 'TidemarkWritesNotPersisted', severity: 'page', silentAt: 5, firesAt: 20 },
    fault: { 'tidemark_dirty_marks{business="", instance="a"}': '2000x40', 'tidemark_marks_persisted_rows_total{instance="a"}': '0+60x40' },
    healthy: {
      'tidemark_dirty_marks{business="", instance="a"}': '600x40',
      'tidemark_marks_persisted_rows_total{instance="a"}': '0+60x40',
      'tidemark_dirty_keys{instance="a"}': '0x40',
      'tidemark_persisted_rows_total{instance="a"}': '0x40',
    },
  },
  {
    // Counters: 20 minutes at this rate, and 14 in the healthy deployment. Posts are persisted in both.
    ...{ name: 'TidemarkWritesNotPersisted', severity: 'page', silentAt: 5, firesAt: 20 },
    fault: {
      'tidemark_feed_dirty_counters{instance="a"}': '1200x40',
      'tidemark_feed_persisted_counters_total{instance="a"}': '0+60x40',
      'tidemark_feed_dirty_keys{instance="a"}': '1x40',
      'tidemark_feed_persisted_posts_total{instance="a"}': '0+60x40',
    },
    healthy: {
      'tidemark_feed_dirty_counters{instance="a"}': '840x40',
      'tidemark_feed_persisted_counters_total{instance="a"}': '0+60x40',
    },
  },
  {
    // No counter is persisted.
    ...{ name: 'TidemarkWritesNotPersisted', severity: 'page', silentAt: 4, firesAt: 20 },
    fault: { 'tidemark_feed_dirty_counters{instance="a"}': '3x40', 'tidemark_feed_persisted_counters_total{instance="a"}': '9x40' },
    healthy: { 'tidemark_feed_dirty_counters{instance="a"}': '0x40', 'tidemark_feed_persisted_counters_total{instance="a"}': '9x40' },
  },
  {
    ...{ name: 'TidemarkJournalWaiting', severity: 'ticket', silentAt: 4, firesAt: 6 },
    fault: {
      'tidemark_marks_journal_waiting_entries{instance="a"}': '3x20',
      'tidemark_marks_store_down{store="hotStore", business="", instance="a"}': '0x20',
    },
    healthy: {
      'tidemark_journal_waiting_entries{instance="a"}': '3x20',
      'tidemark_store_down{store="hotStore", instance="a"}': '1x20',
    },
  },
  {
    ...{ name: 'TidemarkMessagesParked', severity: 'ticket', silentAt: 2, firesAt: 5 },
    fault: { 'tidemark_plays_parked_total{instance="a"}': '0 0 0 1x20' },
    healthy: { 'tidemark_parked_messages_total{instance="a"}': '4x20' },
  },
  {
    ...{ name: 'TidemarkFoldsBehind', severity: 'ticket', silentAt: 180, firesAt: 190 },
    fault: { 'tidemark_folds_hour_timestamp_seconds{instance="a"}': '1x200' },
    healthy: {
      'tidemark_folds_hour_timestamp_seconds{instance="a"}': '3600x200',
      'tidemark_folds_hour_timestamp_seconds{instance="b"}': '0x200',
      'process_start_time_seconds{instance="b"}': '3600x200',
    },
  },
  {
    ...{ name: 'TidemarkCountsDrift', severity: 'ticket', silentAt: 2, firesAt: 5 },
    fault: { 'tidemark_marks_drift_total{instance="a"}': '0 0 0 1x20' },
    healthy: { 'tidemark_marks_drift_total{instance="a"}': '2x20' },
  },
  {
    ...{ name: 'TidemarkCountsNotRecounted', severity: 'ticket', silentAt: 2, firesAt: 5 },
    fault: { 'tidemark_marks_not_recounted_subjects_total{instance="a"}': '0 0 0 1x20' },
    healthy: { 'tidemark_marks_not_recounted_subjects_total{instance="a"}': '0x20' },
  },
  {
    ...{ name: 'TidemarkFilterDamaged', severity: 'ticket', silentAt: 2, firesAt: 5 },
    fault: { 'tidemark_folds_filters_repaired_total{instance="a"}': '0 0 0 1x20' },
    healthy: { 'tidemark_filters_unreadable_total{instance="a"}': '1x20' },
  },
  {
    ...{ name: 'TidemarkCacheNodeDown', severity: 'ticket', silentAt: 9, firesAt: 12 },
    fault: { 'tidemark_feed_cache_node_down{pool="main", node="c:11211", instance="a"}': '1x30' },
    healthy: { 'tidemark_feed_cache_node_down{pool="main", node="c:11211", instance="a"}': '0x5 1x5 0x30' },
  },
  {
    ...{ name: 'TidemarkGraphNotReloaded', severity: 'ticket', silentAt: 2, firesAt: 5 },
    fault: { 'tidemark_supergraph_reloads_total{result="failed", instance="a"}': '0x3 1x20' },
    healthy: {
      'tidemark_supergraph_reloads_total{result="failed", instance="a"}': '0x20',
      'tidemark_supergraph_reloads_total{result="swapped", instance="a"}': '0+1x20',
    },
  },
  {
    ...{ name: 'TidemarkConfigRefused', severity: 'ticket', silentAt: 0, firesAt: 3 },
    fault: { 'tidemark_config_refused{instance="a"}': '1x20' },
    healthy: { 'tidemark_config_refused{instance="a"}': '0x20' },
  },
  {
    ...{ name: 'TidemarkManifestsBroken', severity: 'ticket', silentAt: 4, firesAt: 6 },
    fault: { 'tidemark_persisted_broken_manifests{instance="a"}': '1x20' },
    healthy: { 'tidemark_persisted_broken_manifests{instance="a"}': '0x20', 'tidemark_persisted_failing_operations{instance="a"}': '0x20' },
  },
  {
    ...{ name: 'TidemarkSubgraphFailing', severity: 'page', silentAt: 5, firesAt: 8 },
    fault: {
      'tidemark_subgraph_fetch_seconds_count{subgraph="partner", kind="query", outcome="ok", instance="a"}': '0+90x20',
      'tidemark_subgraph_fetch_seconds_count{subgraph="partner", kind="query", outcome="failed", instance="a"}': '0+10x20',
    },
    healthy: {
      'tidemark_subgraph_fetch_seconds_count{subgraph="partner", kind="query", outcome="ok", instance="a"}': '0+99x20',
      'tidemark_subgraph_fetch_seconds_count{subgraph="partner", kind="query", outcome="failed", instance="a"}': '0+1x20',
    },
  },
]
