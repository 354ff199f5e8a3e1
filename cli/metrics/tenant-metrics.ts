/**
 * Metrics per tenant and capability. Businesses are configured, so the number of series is bounded. A scrape reads no store: stored rows are
 * known only if a quota or an operator's query has asked for them.
 */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import type { ReadTenants, TenantStatistics } from '../../subgraphs/tenant-statistics.ts'

/** The subgraphs of a process, by capability. */
export type MeasuredTenants = Readonly<Record<string, ReadTenants>>

export function addTenantMetrics(registry: Registry, capabilities: MeasuredTenants): void {
  const registers = [registry]
  function forEach(task: (labels: { business: string; capability: string }, tenant: TenantStatistics) => void): void {
    for (const [capability, read] of Object.entries(capabilities))
      for (const tenant of read(false)) task({ business: tenant.business, capability }, tenant)
  }

  new Counter({
    name: 'tidemark_tenant_writes_total',
    help: 'Writes of a business, by outcome: accepted, or refused because the business was over a quota.',
    labelNames: ['business', 'capability', 'outcome'],
    registers,
    collect() {
      this.reset()
      forEach((labels, { accepted, overQuota }) => {
        this.inc({ ...labels, outcome: 'accepted' }, accepted)
        this.inc({ ...labels, outcome: 'over_quota' }, overQuota)
      })
    },
  })
  new Counter({
    name: 'tidemark_tenant_degraded_seconds_total',
    help: 'Seconds in which the process worked without a store of the business.',
    labelNames: ['business', 'capability', 'store'],
    registers,
    collect() {
      this.reset()
      forEach((labels, { downMs }) => {
        for (const [store, ms] of Object.entries(downMs)) this.inc({ ...labels, store }, ms / 1_000)
      })
    },
  })
  const addStored = (name: string, help: string, read: (tenant: TenantStatistics) => number | undefined) =>
    new Gauge({
      name,
      help: `${help} Known to processes with a quota of them, and after an operator's query.`,
      labelNames: ['business', 'capability'],
      registers,
      // Workers read the same stores.
      aggregator: 'max',
      collect() {
        this.reset()
        forEach((labels, tenant) => {
          const value = read(tenant)
          if (value !== undefined) this.set(labels, value)
        })
      },
    })
  addStored('tidemark_tenant_rows', 'Stored rows of a business, as of the last walk.', ({ stored }) => stored?.rows)
  addStored('tidemark_tenant_bytes', 'Bytes of the ids and values of these rows.', ({ stored }) => stored?.bytes)
}
