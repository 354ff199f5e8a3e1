/**
 * The metrics of every process: CPU, memory, garbage collection, and the lag and load of the event loop. Timers measure the last two. The
 * library's defaults of 10 and 100 ms would be the largest cost of an idle process.
 */
import { collectDefaultMetrics, type Registry } from '@prometheus-io/client'

/** The measured lag includes this interval. The alert and the panel of a busy process name it. */
const LOOP_TIMER_MS = 250
const LOAD_TIMER_MS = 5_000

/** A registry that has these metrics already is not changed. */
export function addProcessMetrics(registry: Registry): void {
  if (registry.getSingleMetric('process_cpu_user_seconds_total') !== undefined) return
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_TIMER_MS, eventLoopUtilizationTimeout: LOAD_TIMER_MS })
}
