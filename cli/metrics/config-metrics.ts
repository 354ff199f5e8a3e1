/** Metrics of the live configuration of a process. */
import { Gauge, type Registry } from '@prometheus-io/client'
import type { LiveStatus } from '../process/live-config.ts'

export function addConfigMetrics(registry: Registry, status: () => LiveStatus): void {
  new Gauge({
    name: 'tidemark_config_version',
    help: 'The live version that a process runs, with a hash of its settings. 0: none. Processes with equal hashes run equal settings.',
    labelNames: ['hash'],
    registers: [registry],
    // Workers share one text of metrics. It has the oldest version of each hash.
    aggregator: 'min',
    collect() {
      const { version, hash } = status()
      this.reset()
      this.set({ hash }, version)
    },
  })
  new Gauge({
    name: 'tidemark_config_refused',
    help: '1 while the newest live version is not valid for a process, cannot be read, or is not in use in each part: the log has the reason.',
    registers: [registry],
    aggregator: 'max',
    collect() {
      this.set(status().problem === undefined ? 0 : 1)
    },
  })
}
