/** What feed existence does, for `/metrics`: read from the parts' own figures when somebody asks. */
import { Gauge, type Registry } from '@prometheus-io/client'
import type { SeenStores } from '../../subgraphs/feed-existence/stores/guarded.ts'
import type { ExistenceSubgraph, LegacyFigures } from '../../subgraphs/feed-existence/index.ts'
import type { ExistenceJob } from '../../subgraphs/feed-existence/fold/job.ts'
import { addRecordReadMetrics } from './record-read-metrics.ts'
import { addCounters, addGauges, unknown } from './write-back-metrics.ts'

/** Figures of the process that serves. */
export function addExistenceMetrics(registry: Registry, { figures }: ExistenceSubgraph): void {
  addCounters(registry, {
    tidemark_issued_total: ['Ids noted as served.', () => figures().existence.issued],
    tidemark_issued_lost_total: ['Ids not noted as served, because the hot store was down.', () => figures().existence.issuedLost],
    tidemark_played_total: ['Plays taken.', () => figures().existence.played],
    tidemark_played_logged_total: ['Plays that went to the log, because the hot store was down or full.', () => figures().existence.logged],
    tidemark_candidates_total: ['Candidates of unseen.', () => figures().existence.candidates],
    tidemark_dropped_issued_total: ['Candidates dropped because they were served.', () => figures().existence.droppedIssued],
    tidemark_dropped_staged_total: ['Candidates dropped because they were played lately.', () => figures().existence.droppedStaged],
    tidemark_dropped_filtered_total: ['Candidates dropped by a filter.', () => figures().existence.droppedFiltered],
    tidemark_filter_probes_total: ['Ids nobody has that filters were asked for.', () => figures().samples.probes],
    tidemark_filter_false_positives_total: ['Of these, those that a filter claimed to have.', () => figures().samples.hits],
    tidemark_filter_drops_sampled_total: ['Candidates dropped by a filter that history was asked about.', () => figures().samples.dropped],
    tidemark_filter_drops_unknown_total: ['Of these, those that history does not know.', () => figures().samples.unknown],
    tidemark_existence_rewards_total: ['First plays and issues of a day sent to the log.', () => figures().rewards],
    tidemark_filters_unreadable_total: ['Filters that could not be read.', () => figures().repairs.unreadable],
    tidemark_filters_repaired_total: ['Of these, those that this process made anew.', () => figures().repairs.repaired],
  })
  addGauges(registry, {
    tidemark_plays_waiting: ['Plays this process acknowledged that the hot store has not taken yet.', () => figures().staging.waiting],
  })
  addRecordReadMetrics(registry, 'tidemark_existence', 'filters', () => [figures().recordReads])
  new Gauge({
    name: 'tidemark_existence_store_down',
    help: '1 while feed existence does without this store; of the hot store also while it is full.',
    labelNames: ['store'],
    registers: [registry],
    collect() {
      for (const [store, { isDown }] of Object.entries(figures().outages)) this.set({ store }, isDown ? 1 : 0)
    },
  })
}

/** Figures of what history and it do for each other. */
export function addHistoryHelpMetrics(registry: Registry, { figures }: ExistenceSubgraph): void {
  addCounters(registry, {
    tidemark_resume_misses_total: ['Subjects that history missed in truncated timelines.', () => figures().resumes.missed],
    tidemark_resume_reads_total: ['Of these, those that the record store was asked for.', () => figures().resumes.probable],
    tidemark_history_plays_total: [
      'Plays that persist steps of history staged, repetitions included.',
      () => figures().fromHistory.recorded,
    ],
    tidemark_history_plays_at_once_total: ['Plays staged before their report was acknowledged.', () => figures().fromHistory.atOnce],
    tidemark_history_plays_postponed_total: [
      'Plays that could not be staged before their acknowledgement and were left to the persist step.',
      () => figures().fromHistory.postponed,
    ],
    tidemark_history_plays_logged_total: ['Of the plays of persist steps, those that went to the log.', () => figures().fromHistory.logged],
  })
}

/** Figures of a process that knows a legacy store. */
export function addLegacyMetrics(registry: Registry, { figures }: ExistenceSubgraph): void {
  const known = (read: (legacy: LegacyFigures) => number | undefined) => () => {
    const { legacy } = figures()
    return legacy === undefined ? 0 : (read(legacy) ?? 0)
  }
  addCounters(registry, {
    tidemark_legacy_asked_total: ['Requests that asked the legacy store.', known(({ reads }) => reads.asked)],
    tidemark_legacy_migrated_total: ['Viewers and businesses folded in from it.', known(({ migration }) => migration.migrated)],
    tidemark_legacy_plays_total: ['Plays folded in from it.', known(({ migration }) => migration.plays)],
    tidemark_legacy_outside_total: ['Members of a time that does not count.', known(({ migration }) => migration.outside)],
    tidemark_legacy_filter_writes_total: ['Filters written with what came from it.', known(({ migration }) => migration.writes)],
    tidemark_legacy_invalid_total: ['Members that are no ids.', known(({ migration }) => migration.invalid)],
    tidemark_legacy_gone_total: [
      'Sets that had plays when their viewers were moved, and were gone when a damaged filter had them moved once more.',
      known(({ migration }) => migration.gone),
    ],
    tidemark_legacy_written_total: ['Plays written back to it.', known(({ writeBack }) => writeBack?.written)],
    tidemark_legacy_missed_total: ['Plays that it did not take, and does not have.', known(({ writeBack }) => writeBack?.missed)],
  })
  addGauges(registry, {
    tidemark_legacy_down: ['1 while it does not answer.', known(({ isDown }) => (isDown ? 1 : 0))],
    tidemark_legacy_waiting: ['Plays that wait to be written back.', known(({ writeBack }) => writeBack?.waiting)],
  })
}

/** Figures of the process that folds. */
export function addExistenceJobMetrics(registry: Registry, { figures }: ExistenceJob, { log }: SeenStores): void {
  addCounters(registry, {
    tidemark_folds_viewers_total: ['Viewers whose plays of an hour were folded.', () => figures().viewers],
    tidemark_folds_failed_total: ['Viewers whose fold failed and is repeated.', () => figures().viewersFailed],
    tidemark_folded_plays_total: ['Plays that left staging for a filter.', () => figures().plays],
    tidemark_filter_writes_total: [
      'Filters that folds of an hour wrote; tidemark_legacy_filter_writes_total has what moving viewers did.',
      () => figures().writes,
    ],
    tidemark_filter_writes_refused_total: ['Filters somebody else had written meanwhile; folded again.', () => figures().refused],
    tidemark_folds_filters_repaired_total: ['Damaged filters that a fold made anew.', () => figures().quarantined],
    tidemark_filters_purged_total: ['Filters that expired and were removed.', () => figures().purged],
    tidemark_plays_staged_total: ['Plays of the log that were staged.', () => figures().staged],
    tidemark_plays_refused_total: [
      'Plays of the log that are too old for any filter, or of a business that is not configured.',
      () => figures().refusedPlays,
    ],
    tidemark_existence_rewards_swept_total: ['Of these, those that only the job sent.', () => figures().rewardsSwept],
    tidemark_plays_parked_total: ['Messages of the log, or parts of them, that are no plays and were set aside.', () => figures().parked],
  })
  addGauges(registry, {
    tidemark_folds_shards_left: ['Shards of the run under way that are not folded yet.', () => figures().shardsLeft],
    tidemark_folds_run_ms: ['Milliseconds the last run took that left nothing, whoever was there to be folded.', () => figures().runMs],
    tidemark_folds_hour_timestamp_seconds: [
      'Beginning of the newest hour of which this job has folded all of its regions, in seconds since the epoch; 0: none since it started. Viewers whose fold failed are counted apart.',
      () => Math.max(0, figures().foldedHour) * 3_600,
    ],
    tidemark_plays_log_lag_messages: ['Messages of plays not yet staged.', () => log.lag().catch(unknown)],
  })
}
