/** Metrics of record store reads, for `/metrics`. Each subgraph has its own limit and its own prefix. */
import type { Registry } from '@prometheus-io/client'
import type { RecordReadsFigures } from '../../core/outage/record-reads.ts'
import { addCounters, addGauges } from './write-back-metrics.ts'

/** `all`: the figures of each record store of the process. The metrics are sums. `of`: the subject of the reads, in words. */
export function addRecordReadMetrics(registry: Registry, prefix: string, of: string, all: () => readonly RecordReadsFigures[]): void {
  const sum = (name: keyof RecordReadsFigures) => () => all().reduce((total, each) => total + each[name], 0)
  addCounters(registry, {
    [`${prefix}_record_reads_total`]: [`Reads of the record store for ${of}.`, sum('made')],
    [`${prefix}_record_reads_refused_total`]: [
      `Reads of the record store for ${of} that were refused, because they waited too long.`,
      sum('refused'),
    ],
  })
  addGauges(registry, {
    [`${prefix}_record_reads_limit`]: [
      `Reads of the record store for ${of} that may run at once. The limit follows the latency of the store. 0: no limit.`,
      sum('limit'),
    ],
    [`${prefix}_record_reads_under_way`]: [`Running reads of the record store for ${of}.`, sum('underWay')],
    [`${prefix}_record_reads_waiting`]: [`Reads of the record store for ${of} that wait.`, sum('waiting')],
  })
}
