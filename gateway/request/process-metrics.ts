/**
 * The metrics of every process: CPU, memory, garbage collection and the lag of the event loop. A timer measures the lag. The library's
 * default of 10 ms would be the largest cost of an idle process.
 */
import { collectDefaultMetrics, type Registry } from '@prometheus-io/client'

const LOOP_TIMER_MS = 100

/** A registry that has these metrics already is not changed. */
export function addProcessMetrics(registry: Registry): void {
  if (registry.getSingleMetric('process_cpu_user_seconds_total') !== undefined) return
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_TIMER_MS })
}
