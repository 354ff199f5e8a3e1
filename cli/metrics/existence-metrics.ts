/** Metrics of feed existence. Each scrape reads the figures of the parts. */
import { Gauge, type Registry } from '@prometheus-io/client'
import type { SeenStores } from '../../subgraphs/feed-existence/stores/guarded.ts'
import type { ExistenceSubgraph, LegacyFigures } from '../../subgraphs/feed-existence/index.ts'
import type { ExistenceJob } from '../../subgraphs/feed-existence/fold/job.ts'
import { addRecordReadMetrics } from './record-read-metrics.ts'
import { addCounters, addGauges, unknown } from './write-back-metrics.ts'

/** Metrics of a process that serves requests. */
export function addExistenceMetrics(registry: Registry, { figures }: ExistenceSubgraph): void {
  addCounters(registry, {
    tidemark_issued_total: ['Served subjects that were recorded.', () => figures().existence.issued],
    tidemark_issued_lost_total: [
      'Served subjects that were not recorded, because the hot store was down.',
      () => figures().existence.issuedLost,
    ],
    tidemark_played_total: ['Plays that were recorded.', () => figures().existence.played],
    tidemark_played_logged_total: [
      'Plays that were written to the log, because the hot store was down or full.',
      () => figures().existence.logged,
    ],
    tidemark_candidates_total: ['Candidates of `unseen`.', () => figures().existence.candidates],
    tidemark_dropped_issued_total: [
      'Candidates that were dropped, because they were served lately.',
      () => figures().existence.droppedIssued,
    ],
    tidemark_dropped_staged_total: [
      'Candidates that were dropped, because they were played in the last hours.',
      () => figures().existence.droppedStaged,
    ],
    tidemark_dropped_filtered_total: ['Candidates that a filter dropped.', () => figures().existence.droppedFiltered],
    tidemark_filter_probes_total: ['Lookups of random ids in filters, to measure false positives.', () => figures().samples.probes],
    tidemark_filter_false_positives_total: ['Lookups of random ids that a filter answered with yes.', () => figures().samples.hits],
    tidemark_filter_drops_sampled_total: [
      'Candidates that a filter dropped, and that were looked up in history as a sample.',
      () => figures().samples.dropped,
    ],
    tidemark_filter_drops_unknown_total: ['Candidates of this sample that history does not know.', () => figures().samples.unknown],
    tidemark_filter_reads_total: ["Reads of a viewer's filters.", () => figures().cache.hits + figures().cache.misses],
    tidemark_filter_loads_total: [
      'Loads of filters from the record store, because the memory of this process had none, or older ones. Waiting reads share a load.',
      () => figures().cache.loads,
    ],
    tidemark_existence_rewards_total: ['First plays and issues of a day that were sent to the log.', () => figures().rewards],
    tidemark_filters_unreadable_total: ['Filters that could not be read.', () => figures().repairs.unreadable],
    tidemark_filters_repaired_total: ['Unreadable filters that this process rebuilt.', () => figures().repairs.repaired],
  })
  addGauges(registry, {
    tidemark_plays_waiting: ['Plays that this process acknowledged and the hot store has not taken yet.', () => figures().staging.waiting],
  })
  addRecordReadMetrics(registry, 'tidemark_existence', 'filters', () => [figures().recordReads])
  new Gauge({
    name: 'tidemark_existence_store_down',
    help: '1 while feed existence works without this store. For the hot store also while it is full.',
    labelNames: ['store'],
    registers: [registry],
    collect() {
      for (const [store, { isDown }] of Object.entries(figures().outages)) this.set({ store }, isDown ? 1 : 0)
    },
  })
}

/** Metrics of the calls between history and feed existence. */
export function addHistoryHelpMetrics(registry: Registry, { figures }: ExistenceSubgraph): void {
  addCounters(registry, {
    tidemark_resume_misses_total: ['Subjects that history did not find in truncated timelines.', () => figures().resumes.missed],
    tidemark_resume_reads_total: [
      'Subjects of truncated timelines that were read from the record store, because a filter has them.',
      () => figures().resumes.probable,
    ],
    tidemark_history_plays_total: [
      'Plays that persist steps of history staged, repetitions included.',
      () => figures().fromHistory.recorded,
    ],
    tidemark_history_plays_at_once_total: [
      'Plays that were staged before their report was acknowledged.',
      () => figures().fromHistory.atOnce,
    ],
    tidemark_history_plays_postponed_total: [
      'Plays that could not be staged before the acknowledgement and were left to the persist step.',
      () => figures().fromHistory.postponed,
    ],
    tidemark_history_plays_logged_total: ['Plays of persist steps that were written to the log.', () => figures().fromHistory.logged],
  })
}

/** Metrics of a process with a legacy store. */
export function addLegacyMetrics(registry: Registry, { figures }: ExistenceSubgraph): void {
  const known = (read: (legacy: LegacyFigures) => number | undefined) => () => {
    const { legacy } = figures()
    return legacy === undefined ? 0 : (read(legacy) ?? 0)
  }
  addCounters(registry, {
    tidemark_legacy_asked_total: ['Requests that read the legacy store.', known(({ reads }) => reads.asked)],
    tidemark_legacy_migrated_total: ['Pairs of viewer and business that were migrated.', known(({ migration }) => migration.migrated)],
    tidemark_legacy_plays_total: ['Plays that were migrated.', known(({ migration }) => migration.plays)],
    tidemark_legacy_outside_total: [
      'Members of legacy sets that were left out, because their time is outside the months of filters.',
      known(({ migration }) => migration.outside),
    ],
    tidemark_legacy_filter_writes_total: ['Filters that the migration wrote.', known(({ migration }) => migration.writes)],
    tidemark_legacy_invalid_total: ['Members that were left out, because they are not ids.', known(({ migration }) => migration.invalid)],
    tidemark_legacy_gone_total: [
      'Sets that had plays at the first migration and were missing when a damaged filter caused another one.',
      known(({ migration }) => migration.gone),
    ],
    tidemark_legacy_written_total: ['Plays that were written back to the legacy store.', known(({ writeBack }) => writeBack?.written)],
    tidemark_legacy_missed_total: [
      'Plays that the legacy store did not take and does not have.',
      known(({ writeBack }) => writeBack?.missed),
    ],
  })
  addGauges(registry, {
    tidemark_legacy_down: ['1 while the legacy store does not answer.', known(({ isDown }) => (isDown ? 1 : 0))],
    tidemark_legacy_waiting: ['Plays that wait to be written back.', known(({ writeBack }) => writeBack?.waiting)],
  })
}

/** Metrics of a process that runs the job. */
export function addExistenceJobMetrics(registry: Registry, { figures }: ExistenceJob, { log }: SeenStores): void {
  addCounters(registry, {
    tidemark_folds_viewers_total: ['Folds of the plays of one viewer and one hour.', () => figures().viewers],
    tidemark_folds_failed_total: ['Folds that failed. They are repeated.', () => figures().viewersFailed],
    tidemark_folded_plays_total: ['Plays that were folded into a filter.', () => figures().plays],
    tidemark_filter_writes_total: [
      'Filters that folds of an hour wrote. tidemark_legacy_filter_writes_total counts those of the migration.',
      () => figures().writes,
    ],
    tidemark_filter_writes_refused_total: [
      'Filter writes that were refused, because another process had written the filter. They are repeated.',
      () => figures().refused,
    ],
    tidemark_folds_filters_repaired_total: ['Damaged filters that a fold rebuilt.', () => figures().quarantined],
    tidemark_filters_purged_total: ['Expired filters that were removed.', () => figures().purged],
    tidemark_plays_staged_total: ['Plays of the log that were staged.', () => figures().staged],
    tidemark_plays_refused_total: [
      'Plays of the log that are too old for any filter, or of a business that is not configured.',
      () => figures().refusedPlays,
    ],
    tidemark_existence_rewards_swept_total: [
      'Rewards that the job sent, because the process that recorded them did not.',
      () => figures().rewardsSwept,
    ],
    tidemark_plays_parked_total: [
      'Messages of the log, or parts of them, that were parked, because they are not plays.',
      () => figures().parked,
    ],
  })
  addGauges(registry, {
    tidemark_folds_shards_left: ['Shards that the current run has not folded yet.', () => figures().shardsLeft],
    tidemark_folds_run_ms: ['Duration of the last complete run in milliseconds.', () => figures().runMs],
    tidemark_folds_hour_timestamp_seconds: [
      'Start of the newest hour that this job has folded in all of its regions, in seconds since the epoch. 0: none since its start. Failed folds do not count.',
      () => Math.max(0, figures().foldedHour) * 3_600,
    ],
    tidemark_plays_log_lag_messages: ['Messages of plays that are not staged yet.', () => log.lag().catch(unknown)],
  })
}
