/**
 * What every process tells of itself: CPU, memory, garbage collection, the lag of its event loop. The lag is measured by a
 * timer, and the library's, of 10 ms, would be most of what an idle process costs.
 */
import { collectDefaultMetrics, type Registry } from '@prometheus-io/client'

const LOOP_TIMER_MS = 100

/** Once per registry: adds nothing to one that has them. */
export function addProcessMetrics(registry: Registry): void {
  if (registry.getSingleMetric('process_cpu_user_seconds_total') !== undefined) return
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_TIMER_MS })
}
