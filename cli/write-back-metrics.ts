/** What the write-back does, for `/metrics`: read from the parts' own figures when somebody asks. */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import type { OpenStores } from '../stores/open.ts'
import type { HistorySubgraph } from '../subgraphs/history/index.ts'
import type { HistoryJob } from '../subgraphs/history/job.ts'

/** Figures of the process that serves. */
export function addServiceMetrics(registry: Registry, history: HistorySubgraph): void {
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
    tidemark_aggregator_added_keys_total: ['Keys given to the aggregator, repetitions included.', () => history.figures().aggregator.added],
    tidemark_aggregator_flushed_keys_total: ['Keys that left the aggregator in flushes.', () => history.figures().aggregator.flushed],
    tidemark_aggregator_dropped_keys_total: ['Keys the full aggregator left to the sweeper.', () => history.figures().aggregator.dropped],
    tidemark_flush_messages_total: ['Flush messages the log took.', () => history.figures().flushes.messages],
    tidemark_flushes_direct_total: ['Flushes persisted directly because the log was down.', () => history.figures().flushes.direct],
    tidemark_flushes_left_total: ['Flushes left to the sweeper because the log was down.', () => history.figures().flushes.left],
  })
  new Gauge({
    name: 'tidemark_aggregator_held_keys',
    help: 'Keys that wait in the aggregator.',
    registers,
    collect() {
      this.set(history.figures().aggregator.held)
    },
  })
}

/** Figures of the process that persists. */
export function addJobMetrics(registry: Registry, job: HistoryJob, stores: OpenStores): void {
  addCounters(registry, {
    tidemark_persist_steps_total: ['Persist steps of the job.', () => job.figures().steps],
    tidemark_persisted_rows_total: ['Rows sent to the record store.', () => job.figures().rows],
    tidemark_persisted_missing_total: ['Keys whose content was missing when they were persisted.', () => job.figures().missing],
    tidemark_swept_keys_total: ['Keys persisted by the sweeper because no flush carried them.', () => job.figures().swept],
    tidemark_expired_rows_total: ['Rows removed after their retention.', () => job.figures().expired],
    tidemark_parked_messages_total: ['Log messages that could not be decoded and were parked.', () => job.figures().parked],
  })
  const registers = [registry]
  new Gauge({
    name: 'tidemark_dirty_keys',
    help: 'Keys that are newer in the hot store than in the record store.',
    registers,
    async collect() {
      this.set(await stores.hot.countDirty())
    },
  })
  new Gauge({
    name: 'tidemark_log_lag_messages',
    help: 'Flush messages not yet persisted.',
    registers,
    async collect() {
      this.set(await stores.log.lag())
    },
  })
}

function addCounters(registry: Registry, counters: Record<string, [help: string, read: () => number]>): void {
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
