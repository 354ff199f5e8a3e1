/** The metrics of persisted operations. */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'

/**
 * The results of lookups:
 *
 *   manifest    found in a manifest
 *   registered  found by an id that a client registered
 *   unknown     a text that no manifest has, and that was answered
 *   not_found   an unknown id
 *   refused     not in a manifest, in mode enforce
 *   mismatch    the text and the id differ
 */
const LOOKUPS = ['manifest', 'registered', 'unknown', 'not_found', 'refused', 'mismatch'] as const
export type LookupResult = (typeof LOOKUPS)[number]

export type PersistedMetrics = {
  count(result: LookupResult): void
  reloaded(result: 'ok' | 'broken'): void
  set(gauges: { operations: number; failing: number; broken: number }): void
  recorded(count: number, dropped: number): void
}

export function makePersistedMetrics(registry: Registry): PersistedMetrics {
  const registers = [registry]
  const lookups = new Counter({
    name: 'tidemark_persisted_lookups_total',
    help: 'Lookups of operations, by result.',
    labelNames: ['result'],
    registers,
  })
  const reloads = new Counter({
    name: 'tidemark_persisted_reloads_total',
    help: 'Reloads of changed manifests, by result; broken: a previous state was kept.',
    labelNames: ['result'],
    registers,
  })
  const operations = new Gauge({ name: 'tidemark_persisted_operations', help: 'Operations of the manifests.', registers })
  const failing = new Gauge({
    name: 'tidemark_persisted_failing_operations',
    help: 'Operations of the manifests that do not fit the schema.',
    registers,
  })
  const broken = new Gauge({
    name: 'tidemark_persisted_broken_manifests',
    help: 'Manifests with mistakes; their previous state is served, if any.',
    registers,
  })
  const recorded = new Gauge({
    name: 'tidemark_persisted_unknown_operations',
    help: 'Unknown operations recorded in report mode.',
    registers,
  })
  const dropped = new Gauge({
    name: 'tidemark_persisted_unknown_dropped',
    help: 'Unknown operations that were not recorded or were evicted, because of persisted.reportMax or the memory of clients.',
    registers,
  })
  const byResult = new Map(LOOKUPS.map((result) => [result, lookups.labels({ result })]))
  return {
    count: (result) => byResult.get(result)?.inc(),
    reloaded: (result) => reloads.inc({ result }),
    set(gauges) {
      operations.set(gauges.operations)
      failing.set(gauges.failing)
      broken.set(gauges.broken)
    },
    recorded(count, lost) {
      recorded.set(count)
      dropped.set(lost)
    },
  }
}
