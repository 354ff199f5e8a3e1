/** One dashboard per subgraph: its requests, its job, and its stores. */
import { RATE, type Dashboard } from './dashboard.ts'
import { panel, perSecond, processPanels, storePanels } from './panels.ts'

export const HISTORY: Dashboard = {
  id: 'history',
  title: 'history',
  about: 'Reports of progress, their way into the record store, and the job of history.',
  sections: [
    {
      title: 'Requests',
      panels: [
        panel('Reports', 'Answered reports per second, by outcome.', 'wps', perSecond('tidemark_reports_total', '{{outcome}}', 'outcome')),
        panel(
          'Aggregation',
          'Keys added, flushed and dropped per second. Added per flushed key is the gain of the aggregator.',
          'wps',
          perSecond('tidemark_aggregator_added_keys_total', 'added'),
          perSecond('tidemark_aggregator_flushed_keys_total', 'flushed'),
          perSecond('tidemark_aggregator_dropped_keys_total', 'dropped'),
        ),
        panel(
          'Reads of the record store',
          'Reads per second, and refused ones.',
          'reqps',
          perSecond('tidemark_record_reads_total', 'reads'),
          perSecond('tidemark_record_reads_refused_total', 'refused'),
        ),
      ],
    },
    {
      title: 'Job',
      panels: [
        panel(
          'Rows',
          'Rows that the job wrote per second, and keys that only the sweeper persisted.',
          'wps',
          perSecond('tidemark_persisted_rows_total', 'rows'),
          perSecond('tidemark_swept_keys_total', 'swept'),
          perSecond('tidemark_persisted_missing_total', 'missing'),
        ),
        panel(
          'Waiting',
          'Messages in the log, and keys that are newer in the hot store.',
          'short',
          { expr: 'max(tidemark_log_lag_messages)', legend: 'messages' },
          { expr: 'max(tidemark_dirty_keys)', legend: 'dirty keys' },
        ),
        panel('Time until persisted', 'Dirty keys divided by the rate of rows.', 's', {
          expr: `max(tidemark_dirty_keys) / sum(rate(tidemark_persisted_rows_total[10m]))`,
          legend: 'waits',
        }),
        panel(
          'Flushes',
          'Messages per second. Direct flushes, and keys left to the sweeper, occur while the log is down.',
          'wps',
          perSecond('tidemark_flush_messages_total', 'messages'),
          perSecond('tidemark_flushes_direct_total', 'direct'),
          perSecond('tidemark_flushes_left_total', 'left to the sweeper'),
        ),
        panel(
          'Journal',
          'Writes taken while the hot store was down, and applied later.',
          'wps',
          perSecond('tidemark_journaled_entries_total', 'journaled'),
          perSecond('tidemark_replayed_entries_total', 'applied'),
        ),
        panel(
          'Parked',
          'Messages and journaled writes that cannot be applied.',
          'short',
          { expr: 'sum(tidemark_parked_messages_total)', legend: 'messages' },
          { expr: 'sum(tidemark_journal_parked_total)', legend: 'journaled' },
        ),
      ],
    },
    { title: 'Stores', panels: storePanels('history') },
    { title: 'Processes of the job', panels: processPanels('tidemark_persist_steps_total') },
  ],
}

export const LIKES: Dashboard = {
  id: 'likes',
  title: 'likes',
  about: 'Marks, counts, drift, and the job of likes.',
  sections: [
    {
      title: 'Requests',
      panels: [
        panel('Marks', 'Answered marks per second, by outcome.', 'wps', perSecond('tidemark_marks_total', '{{outcome}}', 'outcome')),
        panel(
          'Lookups of counts',
          'Counts per second, and where they came from.',
          'reqps',
          perSecond('tidemark_count_lookups_total', 'all'),
          perSecond('tidemark_count_lookups_local_total', 'memory of the process'),
          perSecond('tidemark_count_lookups_records_total', 'record store'),
          perSecond('tidemark_count_lookups_last_known_total', 'last known'),
        ),
        panel('Hot subjects', 'Subjects that processes answer from their own memory.', 'short', {
          expr: 'sum(tidemark_hot_subjects)',
          legend: 'subjects',
        }),
      ],
    },
    {
      title: 'Job',
      panels: [
        panel(
          'Rows and counts',
          'Written per second.',
          'wps',
          perSecond('tidemark_marks_persisted_rows_total', 'marks'),
          perSecond('tidemark_mark_transitions_total', 'changes'),
          perSecond('tidemark_count_updates_total', 'updates of counts'),
        ),
        panel(
          'Waiting',
          'Messages in the log, dirty marks, and changes whose events wait.',
          'short',
          { expr: 'max(tidemark_marks_log_lag_messages)', legend: 'messages' },
          { expr: 'max(tidemark_dirty_marks)', legend: 'dirty marks' },
          { expr: 'max(tidemark_marks_outbox)', legend: 'outbox' },
        ),
        panel(
          'Recounts',
          'Recounted subjects per second. Drift must stay 0.',
          'reqps',
          perSecond('tidemark_marks_recounted_subjects_total', 'recounted'),
          perSecond('tidemark_marks_not_recounted_subjects_total', 'too large'),
          perSecond('tidemark_marks_drift_total', 'drift'),
        ),
      ],
    },
    { title: 'Stores', panels: storePanels('thumbup') },
    { title: 'Processes of the job', panels: processPanels('tidemark_mark_windows_total') },
  ],
}

export const EXISTENCE: Dashboard = {
  id: 'feed-existence',
  title: 'feed existence',
  about: 'Issued and played subjects, candidates, filters, and the folds of the job.',
  sections: [
    {
      title: 'Requests',
      panels: [
        panel(
          'Records',
          'Subjects per second.',
          'wps',
          perSecond('tidemark_issued_total', 'issued'),
          perSecond('tidemark_played_total', 'played'),
          perSecond('tidemark_history_plays_at_once_total', 'from reports'),
        ),
        panel(
          'Candidates',
          'Candidates of unseen per second, and why some were dropped.',
          'reqps',
          perSecond('tidemark_candidates_total', 'candidates'),
          perSecond('tidemark_dropped_issued_total', 'issued'),
          perSecond('tidemark_dropped_staged_total', 'staged'),
          perSecond('tidemark_dropped_filtered_total', 'in a filter'),
        ),
        panel('False positives', 'The share of never played subjects that filters hide, measured.', 'percentunit', {
          expr: 'sum(rate(tidemark_filter_false_positives_total[1h])) / sum(rate(tidemark_filter_probes_total[1h]))',
          legend: 'share',
          mayBeEmpty: true,
        }),
      ],
    },
    {
      title: 'Job',
      panels: [
        panel(
          'Staged and folded',
          'Plays per second.',
          'wps',
          perSecond('tidemark_plays_staged_total', 'staged from the log'),
          perSecond('tidemark_folded_plays_total', 'folded'),
          perSecond('tidemark_folds_failed_total', 'failed folds'),
        ),
        panel(
          'Waiting',
          'Messages in the log, and shards of the current run.',
          'short',
          { expr: 'max(tidemark_plays_log_lag_messages)', legend: 'messages' },
          { expr: 'sum(tidemark_folds_shards_left)', legend: 'shards' },
        ),
        panel('Folded until', 'The newest hour in the filters, per job. 0 until the first complete run.', 'dateTimeFromNow', {
          expr: 'tidemark_folds_hour_timestamp_seconds * 1000',
          legend: '{{instance}}',
        }),
        panel(
          'Filters',
          'Written per second; damaged ones must stay 0.',
          'wps',
          perSecond('tidemark_filter_writes_total', 'written'),
          perSecond('tidemark_filters_unreadable_total', 'damaged'),
          perSecond('tidemark_filters_purged_total', 'expired'),
        ),
        panel(
          'Loads of filters',
          'Reads of filters per second, and loads from the record store.',
          'reqps',
          perSecond('tidemark_filter_reads_total', 'reads'),
          perSecond('tidemark_filter_loads_total', 'loads'),
        ),
        panel(
          'Parked or refused',
          'Plays and messages that no filter can hold.',
          'short',
          { expr: 'sum(tidemark_plays_parked_total)', legend: 'parked' },
          { expr: 'sum(tidemark_plays_refused_total)', legend: 'refused' },
        ),
      ],
    },
    { title: 'Stores', panels: storePanels('feed-existence') },
    { title: 'Processes of the job', panels: processPanels('tidemark_folds_viewers_total') },
  ],
}

export const FEED: Dashboard = {
  id: 'feed',
  title: 'feed',
  about: 'Posts, home feeds, the tiers of the cache, and the job of the feed.',
  sections: [
    {
      title: 'Requests',
      panels: [
        panel(
          'Posts and counters',
          'Written per second.',
          'wps',
          perSecond('tidemark_feed_published_total', 'published'),
          perSecond('tidemark_feed_deleted_total', 'deleted'),
          perSecond('tidemark_feed_counted_total', 'counter events'),
        ),
        panel('Hits of the cache', 'The share of values that a tier had, by class.', 'percentunit', {
          expr: `sum by (class) (rate(tidemark_feed_cache_hits_total[${RATE}])) / (sum by (class) (rate(tidemark_feed_cache_hits_total[${RATE}])) + sum by (class) (rate(tidemark_feed_cache_misses_total[${RATE}])))`,
          legend: '{{class}}',
        }),
        panel('Time of a read of the cache', 'Loads included, by class.', 's', {
          expr: `sum by (class) (rate(tidemark_feed_cache_seconds_total[${RATE}])) / sum by (class) (rate(tidemark_feed_cache_calls_total[${RATE}]))`,
          legend: '{{class}}',
        }),
        panel('Hits by tier', 'Values per second.', 'reqps', perSecond('tidemark_feed_cache_hits_total', '{{tier}}', 'tier')),
        panel('Nodes', 'Nodes of the cache that processes do not ask, because they failed.', 'short', {
          expr: 'sum by (pool, node) (tidemark_feed_cache_node_down)',
          legend: '{{pool}} {{node}}',
          mayBeEmpty: true,
        }),
        panel(
          'Follow lists',
          'Reads per second.',
          'reqps',
          perSecond('tidemark_feed_longset_hits_total', 'from the hot store'),
          perSecond('tidemark_feed_longset_misses_total', 'built from marks'),
        ),
      ],
    },
    {
      title: 'Job',
      panels: [
        panel(
          'Posts',
          'Persisted per second.',
          'wps',
          perSecond('tidemark_feed_persisted_posts_total', 'posts'),
          perSecond('tidemark_feed_persisted_words_total', 'filter words'),
          perSecond('tidemark_feed_persisted_counters_total', 'counters'),
          perSecond('tidemark_feed_swept_total', 'swept'),
        ),
        panel(
          'Waiting',
          'Messages in the log, and keys that are newer in the hot store.',
          'short',
          { expr: 'max(tidemark_feed_log_lag_messages)', legend: 'messages' },
          { expr: 'max(tidemark_feed_dirty_keys)', legend: 'posts and words' },
          { expr: 'max(tidemark_feed_dirty_counters)', legend: 'counters' },
        ),
        panel(
          'Missing and parked',
          'Keys without content, and messages that cannot be decoded.',
          'short',
          { expr: 'sum(tidemark_feed_missing_total)', legend: 'missing' },
          { expr: 'sum(tidemark_feed_parked_messages_total)', legend: 'parked' },
        ),
      ],
    },
    { title: 'Stores', panels: storePanels('feed') },
    { title: 'Processes of the job', panels: processPanels('tidemark_feed_persist_steps_total') },
  ],
}
