/**
 * `tidemark start`, `gateway` and `job` assemble the same parts for different purposes.
 *
 * - start: requests and jobs. With several workers, this process owns the data folder, runs the jobs and passes changes on. The workers
 *   answer requests.
 * - gateway: requests only.
 * - job: the job of one subgraph only, with health checks and metrics.
 *
 * The embedded stores belong to one `start`. The other two need the distributed shape.
 */
import cluster from 'node:cluster'
import { Registry } from '@prometheus-io/client'
import type { Config } from '../config/config.ts'
import { TidemarkError } from '../core/errors.ts'
import { addProcessMetrics } from '../gateway/request/process-metrics.ts'
import { GRAPHQL_PATH } from '../gateway/doors/server.ts'
import { SUBGRAPH_NAMES, type SubgraphName } from '../subgraphs/names.ts'
import { makeConsole } from './console/state.ts'
import { joinCountsAsPrimary, joinCountsAsWorker } from './metrics/count-relay.ts'
import { isEmbedded, openRole } from './process/open-role.ts'
import { serveOperators } from './process/operators.ts'
import { serve } from './process/serve.ts'
import { readGatewaySettings, readSources, type Flags, type Settings } from './process/settings.ts'
import { requireServed } from './process/subgraphs.ts'
import { connectToPrimary, startWorkers } from './process/workers.ts'

export type Role = 'start' | 'gateway' | 'job'

/** `name`: of a job. */
export async function start(role: Role, flags: Flags, name: SubgraphName = 'history'): Promise<void> {
  const settings = role === 'job' ? readSources(flags) : readGatewaySettings(flags)
  if (role !== 'start' && isEmbedded(settings.config)) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `"${role}" shares its stores with other processes: set stores.redis, kafka and mysql, or run "tidemark start"`,
    )
  }
  if (cluster.isWorker) await runWorker(settings)
  else if (role === 'job') await runJob(name, settings)
  else if (settings.config.server.workers > 1) await runPrimary(settings)
  else await runServing(role, settings)
}

/** Requests, and for `start` also the jobs, in this process. */
async function runServing(role: Role, settings: Settings): Promise<void> {
  const opened = await openRole(SUBGRAPH_NAMES, settings, { serves: true, persists: role === 'start', journals: true })
  const { config } = opened.live
  const server = await serve(opened, { consoleOf: (parts) => makeConsole(config, opened, parts) })
  opened.drainOnSignal({ name: 'requests', run: () => server.close() })
  announce((await server.listen()).url, config)
}

/** A process of `--workers` that answers requests; the primary has the lock and the jobs. */
async function runWorker(settings: Settings): Promise<void> {
  const registry = new Registry()
  const primary = connectToPrimary(registry)
  const relays = { progress: primary.relay, counts: joinCountsAsWorker() }
  const opened = await openRole(SUBGRAPH_NAMES, settings, { serves: true, persists: false, journals: false, registry, relays })
  const { metricsOfAll } = primary
  const { config } = opened.live
  const server = await serve(opened, { metricsOfAll, consoleOf: (parts) => makeConsole(config, opened, parts, metricsOfAll) })
  opened.drainOnSignal({ name: 'requests', run: () => server.close() }, { name: 'primary', run: () => primary.leave() })
  primary.onReload(() => void server.reload('SIGHUP'))
  primary.ready((await server.listen()).url)
}

async function runPrimary(settings: Settings): Promise<void> {
  const relays = { counts: joinCountsAsPrimary() }
  const { config } = settings
  const opened = await openRole(SUBGRAPH_NAMES, settings, { serves: false, persists: true, journals: false, relays })
  const workers = startWorkers(config.server.workers, opened.registry, opened.log)
  // Workers do not receive a signal that was sent to the primary. Without a supergraph, SIGHUP ends the process as usual.
  if (config.server.supergraph !== undefined) process.on('SIGHUP', () => workers.reload())
  opened.drainOnSignal({ name: 'workers', run: () => workers.stop() })
  announce(await workers.listening, config)
}

async function runJob(name: SubgraphName, settings: Settings): Promise<void> {
  const { config } = settings
  requireServed(name, config)
  const opened = await openRole([name], settings, { serves: false, persists: true, journals: false })
  addProcessMetrics(opened.registry)
  const operators = serveOperators(config, opened.stores, opened.registry, opened.log)
  opened.drainOnSignal({ name: 'operators', run: () => operators.close() })
  console.log(`The ${name} job is ready: ${await operators.listen()}  (/health/ready, /metrics)`)
}

function announce(url: string, config: Config): void {
  const stores = isEmbedded(config) ? 'on the embedded stores' : 'on Redis, Kafka and MySQL'
  const browser = config.server.mode === 'development' ? 'open it in a browser for GraphiQL; ' : ''
  console.log(`Tidemark is ready: ${url}${GRAPHQL_PATH}  (${stores}; ${browser}stop with Ctrl-C)`)
}
