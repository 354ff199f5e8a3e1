/**
 * Metrics of thumbup. Each scrape reads the figures of the parts. Counters of a process are sums over all businesses. Figures of stores
 * have a label `business`, so a store that is down does not hide the figures of the others.
 */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import type { Journals } from '../../writeback/journal.ts'
import type { MarkStores } from '../../subgraphs/thumbup/stores/guarded.ts'
import type { PipelineFigures } from '../../subgraphs/thumbup/write/pipeline.ts'
import type { ThumbupSubgraph } from '../../subgraphs/thumbup/index.ts'
import type { ThumbupJob } from '../../subgraphs/thumbup/persist/job.ts'
import { addRecordReadMetrics } from './record-read-metrics.ts'
import { addCounters, addGauges, unknown } from './write-back-metrics.ts'

/** The stores of a set that no other set has. `business` is empty for the common stores. */
export type MeasuredMarkStores = { business: string } & Partial<Pick<MarkStores, 'hot' | 'log' | 'records'>>

/** Metrics of a process that serves requests. `journals`: of all sets of stores. */
export function addMarkMetrics(registry: Registry, { figures }: ThumbupSubgraph, journals: readonly Journals[] = []): void {
  /** Sums over the common stores and all others. */
  function sum(read: (of: PipelineFigures) => number): number {
    const all = figures()
    return [all, ...Object.values(all.tenants)].reduce((total, each) => total + read(each), 0)
  }
  addLabelled(registry, 'tidemark_marks_total', 'Marks answered, by outcome.', 'outcome', () => {
    const { sources: _, changed: __, ...outcomes } = figures().marks
    return outcomes
  })
  addLabelled(registry, 'tidemark_marks_by_source_total', 'Accepted marks, by source.', 'source', () => figures().marks.sources)
  addCounters(registry, {
    tidemark_marks_changed_total: ['Accepted marks that differ from the previous mark.', () => figures().marks.changed],
    tidemark_marks_aggregator_added_keys_total: [
      'Marks added to the aggregator, repetitions included.',
      () => sum((of) => of.aggregator.added),
    ],
    tidemark_marks_aggregator_flushed_keys_total: ['Marks that the aggregator flushed.', () => sum((of) => of.aggregator.flushed)],
    tidemark_marks_aggregator_dropped_keys_total: [
      'Marks that the full aggregator left to the sweeper.',
      () => sum((of) => of.aggregator.dropped),
    ],
    tidemark_marks_flush_messages_total: ['Flush messages of marks written to the log.', () => sum((of) => of.flushes.messages)],
    tidemark_marks_flushes_direct_total: [
      'Flushes of marks that were persisted directly, because the log was down.',
      () => sum((of) => of.flushes.direct),
    ],
    tidemark_marks_flushes_left_total: [
      'Flushes of marks that were left to the sweeper, because the log was down.',
      () => sum((of) => of.flushes.left),
    ],
    tidemark_marks_journaled_entries_total: [
      'Marks that were journaled, because the hot store was down.',
      () => sum((of) => of.journal.journaled),
    ],
    tidemark_marks_replayed_entries_total: ['Journaled marks applied to the hot store.', () => sum((of) => of.journal.replayed)],
    tidemark_marks_journal_parked_total: [
      'Journaled marks that were parked, because they cannot be applied.',
      () => sum((of) => of.journal.parked),
    ],
    tidemark_mark_fills_total: ['Fills: the marks of a viewer were loaded into the hot store.', () => sum((of) => of.fills)],
    tidemark_count_lookups_local_total: [
      'Counts of hot subjects that the process served from its own memory.',
      () => sum((of) => of.counts.local.cached),
    ],
    tidemark_count_lookups_total: ['Lookups of counts.', () => sum((of) => lookupsOf(of.counts.local))],
    tidemark_count_lookups_records_total: ['Counts read from the record store.', () => sum((of) => of.counts.fromRecords)],
    tidemark_count_lookups_last_known_total: [
      'Counts answered with the last known value, because no store answered.',
      () => sum((of) => of.counts.lastKnown),
    ],
  })
  addRecordReadMetrics(registry, 'tidemark_marks', 'marks', () => {
    const all = figures()
    return [all, ...Object.values(all.tenants)].map(({ recordReads }) => recordReads)
  })
  new Gauge({
    name: 'tidemark_marks_store_down',
    help: '1 while the breaker of this store of marks is open. The label business is empty for the common stores.',
    labelNames: ['store', 'business'],
    registers: [registry],
    collect() {
      const { outages, tenants } = figures()
      const sets: [string, typeof outages][] = [
        ['', outages],
        ...Object.entries(tenants).map(([name, own]): [string, typeof outages] => [name, own.outages]),
      ]
      for (const [business, stores] of sets) {
        for (const [store, { isDown }] of Object.entries(stores)) this.set({ store, business }, isDown ? 1 : 0)
      }
    },
  })
  if (journals.length > 0) {
    addGauges(registry, {
      tidemark_marks_journal_waiting_entries: [
        'Journaled marks that are not yet applied to the hot store.',
        async () => (await Promise.all(journals.map((each) => each.own.count()))).reduce((sum, { waiting }) => sum + waiting, 0),
      ],
    })
  }
  addGauges(registry, {
    tidemark_marks_aggregator_held_keys: ['Marks in the aggregator.', () => sum((of) => of.aggregator.held)],
    tidemark_hot_subjects: ['Subjects with a large share of the current reads.', () => sum((of) => of.counts.hot.length)],
  })
}

/** Metrics of a process that runs the job. `stores`: all sets that it persists. */
export function addMarkJobMetrics(registry: Registry, job: ThumbupJob, stores: readonly MeasuredMarkStores[]): void {
  addCounters(registry, {
    tidemark_mark_windows_total: ['Persist steps of marks.', () => job.figures().steps],
    tidemark_marks_flushed_total: ['Marks that the job received in flushes.', () => job.figures().marks],
    tidemark_marks_persisted_rows_total: ['Marks sent to the record store.', () => job.figures().rows],
    tidemark_mark_transitions_total: ['Persisted marks that differ from the stored mark.', () => job.figures().transitions],
    tidemark_count_updates_total: ['Updates of the counts of subjects: one per subject and window.', () => job.figures().countUpdates],
    tidemark_marks_missing_total: ['Marks without content in the hot store when they were persisted.', () => job.figures().missing],
    tidemark_marks_swept_total: ['Marks that the sweeper persisted, because no flush carried them.', () => job.figures().swept],
    tidemark_marks_parked_messages_total: [
      'Flushes of marks that were parked, because they could not be decoded.',
      () => job.figures().parked,
    ],
    tidemark_mark_events_published_late_total: ['Changes with events that were sent from the outbox.', () => job.figures().published],
    tidemark_marks_archived_total: ['Marks moved into the archive.', () => job.figures().archived],
    tidemark_marks_recounted_subjects_total: ['Subjects that were recounted.', () => job.figures().reconciled],
    tidemark_marks_not_recounted_subjects_total: [
      'Subjects and owners that could not be recounted: they have too many rows to count in time, or damaged ones.',
      () => job.figures().unreconciled,
    ],
    tidemark_marks_drift_total: [
      'Subjects and owners with counts that differ from their rows. Always 0, or there is a bug.',
      () => job.figures().drift,
    ],
  })
  addGaugeByBusiness(
    registry,
    stores,
    'tidemark_dirty_marks',
    'Marks that are newer in the hot store than in the record store',
    ({ hot }) => hot?.countDirtyMarks(),
  )
  addGaugeByBusiness(registry, stores, 'tidemark_marks_log_lag_messages', 'Flush messages of marks that are not persisted yet', ({ log }) =>
    log?.lag(),
  )
  addGaugeByBusiness(
    registry,
    stores,
    'tidemark_marks_outbox',
    'Changes with events that may not be in the log yet, up to 1000',
    ({ records }) => records?.listOutboxNumbers(OUTBOX_MAX).then((numbers) => numbers.length),
  )
}

const OUTBOX_MAX = 1_000

/** `read` returns undefined for a store that another set measures. */
function addGaugeByBusiness(
  registry: Registry,
  stores: readonly MeasuredMarkStores[],
  name: string,
  help: string,
  read: (of: MeasuredMarkStores) => Promise<number> | undefined,
): void {
  new Gauge({
    name,
    help: `${help}. The label business is empty for the common stores.`,
    labelNames: ['business'],
    registers: [registry],
    async collect() {
      await Promise.all(
        stores.map(async (each) => {
          const figure = await read(each)?.catch(unknown)
          if (figure !== undefined) this.set({ business: each.business }, figure)
        }),
      )
    },
  })
}

function lookupsOf({ cached, joined, loaded }: { cached: number; joined: number; loaded: number }): number {
  return cached + joined + loaded
}

function addLabelled(registry: Registry, name: string, help: string, label: string, read: () => Readonly<Record<string, number>>): void {
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset()
      for (const [value, count] of Object.entries(read())) this.inc({ [label]: value }, count)
    },
  })
}
