/**
 * `tidemark_store_call_seconds`: the calls of all stores as one histogram. The library can only observe values one by one, so this is a
 * metric of its own that returns the counts of `core/outage/store-calls.ts` in the library's form.
 */
import type { Metric, Registry } from '@prometheus-io/client'
import { CALL_SECONDS, type CallTimes, type StoreCalls } from '../../core/outage/store-calls.ts'

const NAME = 'tidemark_store_call_seconds'
const HELP =
  'Calls of the stores, by subgraph, store, business with stores of its own, operation and outcome (ok, unavailable, full, failed), in seconds. Calls that a breaker refuses are not counted.'
const LABELS = ['subgraph', 'store', 'business', 'operation', 'outcome'] as const

type Value = { labels: Record<string, string | number>; value: number; metricName: string }

export function addStoreCallMetrics(registry: Registry, calls: StoreCalls): void {
  const get = async () => ({ name: NAME, help: HELP, type: 'histogram', aggregator: 'sum', values: calls.figures().flatMap(valuesOf) })
  const metric = { name: NAME, help: HELP, type: 'histogram', labelNames: LABELS, aggregator: 'sum', get, reset() {} }
  registry.registerMetric(metric as unknown as Metric)
}

function valuesOf({ subgraph, store, business, operation, outcome, counts, seconds }: CallTimes): Value[] {
  const labels = { subgraph, store, business, operation, outcome }
  let sum = 0
  const buckets = [...counts].map((count, at) => {
    sum += count
    return { labels: { ...labels, le: CALL_SECONDS[at] ?? '+Inf' }, value: sum, metricName: `${NAME}_bucket` }
  })
  return [...buckets, { labels, value: seconds, metricName: `${NAME}_sum` }, { labels, value: sum, metricName: `${NAME}_count` }]
}
