/** Metrics of the write-back of history. Each scrape reads the figures of the parts. */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import type { Journals } from '../../writeback/journal.ts'
import type { OpenStores } from '../stores/history.ts'
import type { HistorySubgraph } from '../../subgraphs/history/index.ts'
import type { HistoryJob } from '../../subgraphs/history/persist/job.ts'

/** Metrics of a process that serves requests. `journals`: undefined if the process keeps none. */
export function addServiceMetrics(registry: Registry, history: HistorySubgraph, journals?: Journals): void {
  const registers = [registry]
  new Counter({
    name: 'tidemark_reports_total',
    help: 'Progress reports answered, by outcome.',
    labelNames: ['outcome'],
    registers,
    collect() {
      this.reset()
      for (const [outcome, count] of Object.entries(history.figures().reports)) this.inc({ outcome }, count)
    },
  })
  addCounters(registry, {
    tidemark_aggregator_added_keys_total: ['Keys added to the aggregator, repetitions included.', () => history.figures().aggregator.added],
    tidemark_aggregator_flushed_keys_total: ['Keys that the aggregator flushed.', () => history.figures().aggregator.flushed],
    tidemark_aggregator_dropped_keys_total: [
      'Keys that the full aggregator left to the sweeper.',
      () => history.figures().aggregator.dropped,
    ],
    tidemark_flush_messages_total: ['Flush messages written to the log.', () => history.figures().flushes.messages],
    tidemark_flushes_direct_total: [
      'Flushes that were persisted directly, because the log was down.',
      () => history.figures().flushes.direct,
    ],
    tidemark_flushes_left_total: ['Flushes that were left to the sweeper, because the log was down.', () => history.figures().flushes.left],
    tidemark_progress_events_unsent_total: [
      'Events that the topic `.progress` lacks, because the log was down when they were persisted. `tidemark export --since` has the rows.',
      () => history.figures().unsentEvents,
    ],
    tidemark_journaled_entries_total: [
      'Calls that were journaled, because the hot store was down.',
      () => history.figures().journal.journaled,
    ],
    tidemark_replayed_entries_total: ['Journaled calls applied to the hot store.', () => history.figures().journal.replayed],
    tidemark_replay_dropped_total: [
      'Journaled changes that a newer change made void before they were applied.',
      () => history.figures().journal.dropped,
    ],
    tidemark_journal_parked_total: [
      'Journaled calls that were parked, because they cannot be applied.',
      () => history.figures().journal.parked,
    ],
  })
  addOutageMetrics(registry, history)
  addGauges(registry, { tidemark_aggregator_held_keys: ['Keys in the aggregator.', () => history.figures().aggregator.held] })
  if (journals === undefined) return
  addGauges(registry, {
    tidemark_journal_waiting_entries: [
      'Journaled calls that are not yet applied to the hot store.',
      async () => (await journals.own.count()).waiting,
    ],
  })
}

/** The breakers: one series per store. */
function addOutageMetrics(registry: Registry, history: HistorySubgraph): void {
  const registers = [registry]
  new Gauge({
    name: 'tidemark_store_down',
    help: '1 while the breaker of this store is open. The process then works without the store.',
    labelNames: ['store'],
    registers,
    collect() {
      for (const [store, { isDown }] of Object.entries(history.figures().outages)) this.set({ store }, isDown ? 1 : 0)
    },
  })
  new Counter({
    name: 'tidemark_store_outages_total',
    help: 'Number of times that the breaker of this store opened.',
    labelNames: ['store'],
    registers,
    collect() {
      this.reset()
      for (const [store, { count }] of Object.entries(history.figures().outages)) this.inc({ store }, count)
    },
  })
}

/** Metrics of a process that runs the job. */
export function addJobMetrics(registry: Registry, job: HistoryJob, stores: OpenStores): void {
  addCounters(registry, {
    tidemark_persist_steps_total: ['Persist steps of the job.', () => job.figures().steps],
    tidemark_persisted_rows_total: ['Rows sent to the record store.', () => job.figures().rows],
    tidemark_persisted_missing_total: ['Keys without content in the hot store when they were persisted.', () => job.figures().missing],
    tidemark_swept_keys_total: ['Keys that the sweeper persisted, because no flush carried them.', () => job.figures().swept],
    tidemark_expired_rows_total: ['Rows that were removed after their retention.', () => job.figures().expired],
    tidemark_parked_messages_total: ['Log messages that were parked, because they could not be decoded.', () => job.figures().parked],
  })
  const { sqlFigures } = stores
  if (sqlFigures !== undefined) {
    addCounters(registry, {
      tidemark_mysql_rows_total: ['Rows of progress sent to MySQL in upserts.', () => sqlFigures().rows],
      tidemark_mysql_statements_total: ['Upserts of progress sent to MySQL.', () => sqlFigures().statements],
    })
  }
  addGauges(registry, {
    tidemark_dirty_keys: ['Keys that are newer in the hot store than in the record store.', () => stores.hot.countDirty().catch(unknown)],
    tidemark_log_lag_messages: ['Flush messages that are not persisted yet.', () => stores.log.lag().catch(unknown)],
  })
}

/** The value of a metric that needs a store which is down. The scrape goes on: the other metrics matter most during an outage. */
export function unknown(): number {
  return Number.NaN
}

export function addCounters(registry: Registry, counters: Record<string, [help: string, read: () => number]>): void {
  for (const [name, [help, read]] of Object.entries(counters)) {
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  }
}

export function addGauges(registry: Registry, gauges: Record<string, [help: string, read: () => number | Promise<number>]>): void {
  for (const [name, [help, read]] of Object.entries(gauges)) {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await read())
      },
    })
  }
}
