/**
 * The metrics that each part of a process registers. The parts are opened as cli/ opens them, on embedded stores in a temporary folder.
 * The configuration is of the distributed shape with every feature on. Its servers do not exist: clients connect in the background.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from '@prometheus-io/client'
import { pino } from 'pino'
import { addStoreCallMetrics } from '../../cli/metrics/store-call-metrics.ts'
import { startStoreWatch } from '../../cli/process/store-watch.ts'
import { addConfigMetrics } from '../../cli/metrics/config-metrics.ts'
import { fixedConfig } from '../../cli/process/live-config.ts'
import { serve } from '../../cli/process/serve.ts'
import { serveAlone } from '../../cli/process/standalone.ts'
import { drainSteps, openParts, subgraphsOf, type Part, type Purpose } from '../../cli/process/subgraphs.ts'
import { openStores, type OpenStores } from '../../cli/stores/history.ts'
import { makeConfig, type Config } from '../../config/config.ts'
import { systemClock } from '../../core/clock.ts'
import { makeStoreCalls } from '../../core/outage/store-calls.ts'
import { addProcessMetrics } from '../../gateway/request/process-metrics.ts'
import { SUBGRAPH_NAMES, type SubgraphName } from '../../subgraphs/names.ts'

export type Metric = { name: string; type: string; labels: readonly string[]; help: string }

/** The parts of processes that register metrics. */
export type MetricPart =
  | 'process'
  | 'store calls'
  | 'servers'
  | 'gateway'
  | 'standalone'
  | `${SubgraphName} requests`
  | `${SubgraphName} job`

export type MetricsOfParts = ReadonlyMap<MetricPart, readonly Metric[]>

/** Settings on which some metrics depend. */
export type Features = { distributed: boolean; legacy: boolean; changes: boolean }

const NOBODY = '127.0.0.1:1'
const log = pino({ level: 'silent' })

export async function collectMetrics(features: Features): Promise<MetricsOfParts> {
  const data = mkdtempSync(join(tmpdir(), 'tidemark-reference-'))
  try {
    return await collectIn(data, features)
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

async function collectIn(data: string, features: Features): Promise<MetricsOfParts> {
  const embedded = configOf(data, { ...features, distributed: false, changes: false })
  const config = configOf(data, features)
  const stores = await openStores(embedded, systemClock, log)
  const opened: OpenStores = features.distributed ? { ...stores, sqlFigures: () => ({ rows: 0, statements: 0 }) } : stores
  const found = new Map<MetricPart, readonly Metric[]>()
  try {
    const { status } = fixedConfig(embedded)
    found.set(
      'process',
      await registered((registry) => {
        addProcessMetrics(registry)
        addConfigMetrics(registry, status)
      }),
    )
    found.set(
      'store calls',
      await registered((registry) =>
        addStoreCallMetrics(
          registry,
          makeStoreCalls(() => 0),
        ),
      ),
    )
    if (features.distributed) found.set('servers', await registered(addServerMetrics))
    for (const name of SUBGRAPH_NAMES) {
      found.set(`${name} requests`, await metricsOfPart(name, { serves: true, persists: false, journals: true }, config, opened))
      found.set(`${name} job`, await metricsOfPart(name, { serves: false, persists: true, journals: false }, config, opened))
    }
    found.set('gateway', await metricsOfServers(embedded, opened, false))
    found.set('standalone', await metricsOfServers(embedded, opened, true))
  } finally {
    await stores.close()
  }
  return found
}

function configOf(data: string, { distributed, legacy, changes }: Features): Config {
  const servers = {
    redis: { urls: [`redis://${NOBODY}`] },
    kafka: { brokers: [NOBODY] },
    mysql: { url: `mysql://tidemark@${NOBODY}/tidemark` },
  }
  const values = {
    stores: { data, ...(distributed && servers) },
    existence: legacy ? { legacy: { urls: [`redis://${NOBODY}`] } } : {},
    thumbup: changes ? { changes: { feed: 'binlog' } } : {},
  }
  return makeConfig([{ name: 'the reference', values }])
}

async function addServerMetrics(registry: Registry): Promise<void> {
  const watch = await startStoreWatch([], { production: false, allow: [] }, systemClock, log, registry)
  watch.stop()
}

async function metricsOfPart(name: SubgraphName, purpose: Purpose, config: Config, stores: OpenStores): Promise<Metric[]> {
  let parts: Part[] = []
  const metrics = await registered(async (registry) => {
    parts = await openParts([name], purpose, fixedConfig(config), stores, registry, log)
  })
  for (const { run } of drainSteps(parts)) await run()
  return metrics
}

async function metricsOfServers(config: Config, stores: OpenStores, alone: boolean): Promise<Metric[]> {
  const purpose = { serves: true, persists: false, journals: false }
  const parts = await openParts(SUBGRAPH_NAMES, purpose, fixedConfig(config), stores, new Registry(), log)
  const subgraphs = subgraphsOf(parts)
  const metrics = await registered(async (registry) => {
    const asked = { ...stores, warnings: () => [] }
    const live = fixedConfig(config)
    const server = alone
      ? await serveAlone(subgraphs[0] as Part['subgraph'], { stores: asked, registry, log, live })
      : await serve({ subgraphs, stores: asked, registry, log, live })
    await server.close()
  })
  for (const { run } of drainSteps(parts)) await run()
  return metrics
}

async function registered(add: (registry: Registry) => void | Promise<void>): Promise<Metric[]> {
  const registry = new Registry()
  await add(registry)
  return registry.getMetricsAsArray().map(({ name, type, help }) => ({ name, type, labels: labelsOf(registry, name), help }))
}

/** The declared type of a metric leaves out its label names. */
function labelsOf(registry: Registry, name: string): readonly string[] {
  const metric = registry.getSingleMetric(name) as unknown as { labelNames?: readonly string[] } | undefined
  return metric?.labelNames ?? []
}
