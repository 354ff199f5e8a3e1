/**
 * `tidemark start`, `gateway`, `job`: the same parts, put together for what a process is for.
 *
 * - start: requests and jobs. On the embedded stores with more than one worker, this process owns the data folder, runs the
 *   job and passes changes on, and the workers answer requests.
 * - gateway: requests only. job: one subgraph's job only, with health checks and metrics.
 *
 * The embedded stores belong to one `start`; the other two need the distributed shape.
 */
import cluster from 'node:cluster'
import { Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { TidemarkError } from '../core/errors.ts'
import { addProcessMetrics } from '../gateway/process-metrics.ts'
import { GRAPHQL_PATH } from '../gateway/server.ts'
import { lockDataFolder } from '../stores/lmdb/folder-lock.ts'
import { openStores } from '../stores/open.ts'
import { SUBGRAPH_NAMES, type SubgraphName } from '../subgraphs/names.ts'
import { joinCountsAsPrimary, joinCountsAsWorker } from './count-relay.ts'
import { warnOfOpenFolders } from './data-folder.ts'
import { boundGarbage } from './heap.ts'
import { makeLog } from './log.ts'
import { serveOperators } from './operators.ts'
import { requireFreePort } from './port-check.ts'
import { serve } from './serve.ts'
import { readGatewaySettings, readSettings, type Flags } from './settings.ts'
import { drainOnSignal } from './shutdown.ts'
import { watchStores } from './store-watch.ts'
import { drainSteps, openParts, requireServed, subgraphsOf } from './subgraphs.ts'
import { connectToPrimary, startWorkers } from './workers.ts'

export type Role = 'start' | 'gateway' | 'job'

/** `name`: of a job. */
export async function start(role: Role, flags: Flags, name: SubgraphName = 'history'): Promise<void> {
  const config = role === 'job' ? readSettings(flags) : readGatewaySettings(flags)
  boundGarbage(config.server.garbagePercent)
  const log = makeLog()
  if (role !== 'start' && isEmbedded(config)) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `"${role}" shares its stores with other processes: set stores.redis, kafka and mysql, or run "tidemark start"`,
    )
  }
  if (cluster.isPrimary) warnOfOpenFolders(config, log)
  if (cluster.isWorker) await runWorker(config, log)
  else if (role === 'job') await runJob(name, config, log)
  else if (config.server.workers > 1) await runPrimary(config, log)
  else await runServing(role, config, log)
}

export function isEmbedded(config: Config): boolean {
  return config.stores.redis === undefined
}

/** Requests, and with `start` the jobs as well, in this process. */
async function runServing(role: Role, config: Config, log: Logger): Promise<void> {
  const lock = lockIfEmbedded(config)
  await requireFreePort(config.server)
  const stores = await openStores(config, systemClock, log)
  const registry = new Registry()
  const watch = await watchStores(config, log, registry)
  const parts = await openParts(SUBGRAPH_NAMES, { serves: true, persists: role === 'start', journals: true }, config, stores, registry, log)
  const server = await serve(config, subgraphsOf(parts), { ...stores, warnings: watch.warnings }, registry, log)
  drainOnSignal(config, log, [
    { name: 'requests', run: () => server.close() },
    { name: 'store watch', run: () => watch.stop() },
    ...drainSteps(parts),
    { name: 'stores', run: () => stores.close() },
    { name: 'lock', run: () => lock.release() },
  ])
  announce((await server.listen()).url, config)
}

/** A process of `--workers` that answers requests; the primary has the lock and the jobs. */
async function runWorker(config: Config, log: Logger): Promise<void> {
  const registry = new Registry()
  const primary = connectToPrimary(registry)
  const stores = await openStores(config, systemClock, log, { progress: primary.relay, counts: joinCountsAsWorker() })
  const parts = await openParts(SUBGRAPH_NAMES, { serves: true, persists: false, journals: false }, config, stores, registry, log)
  // The primary checked the stores before it started this process, and it reports their findings.
  const watch = await watchStores(config, log, registry, { isQuiet: true })
  const served = { ...stores, warnings: watch.warnings }
  const server = await serve(config, subgraphsOf(parts), served, registry, log, primary.metricsOfAll)
  const end = drainOnSignal(config, log, [
    { name: 'requests', run: () => server.close() },
    { name: 'store watch', run: () => watch.stop() },
    ...drainSteps(parts),
    { name: 'stores', run: () => stores.close() },
    { name: 'primary', run: () => primary.leave() },
  ])
  primary.onStop(end)
  primary.onReload(() => void server.reload('SIGHUP'))
  primary.ready((await server.listen()).url)
}

async function runPrimary(config: Config, log: Logger): Promise<void> {
  const lock = lockIfEmbedded(config)
  await requireFreePort(config.server)
  const stores = await openStores(config, systemClock, log, { counts: joinCountsAsPrimary() })
  const registry = new Registry()
  const watch = await watchStores(config, log, registry)
  const parts = await openParts(SUBGRAPH_NAMES, { serves: false, persists: true, journals: false }, config, stores, registry, log)
  const workers = startWorkers(config.server.workers, registry, log)
  // Workers do not hear a signal that is meant for the service. Without a supergraph to look at, SIGHUP ends it as ever.
  if (config.server.supergraph !== undefined) process.on('SIGHUP', () => workers.reload())
  drainOnSignal(config, log, [
    { name: 'workers', run: () => workers.stop() },
    { name: 'store watch', run: () => watch.stop() },
    ...drainSteps(parts),
    { name: 'stores', run: () => stores.close() },
    { name: 'lock', run: () => lock.release() },
  ])
  announce(await workers.listening, config)
}

async function runJob(name: SubgraphName, config: Config, log: Logger): Promise<void> {
  requireServed(name, config)
  await requireFreePort(config.server)
  const stores = await openStores(config, systemClock, log)
  const registry = new Registry()
  addProcessMetrics(registry)
  const watch = await watchStores(config, log, registry)
  const parts = await openParts([name], { serves: false, persists: true, journals: false }, config, stores, registry, log)
  const operators = serveOperators(config, { ...stores, warnings: watch.warnings }, registry, log)
  drainOnSignal(config, log, [
    { name: 'operators', run: () => operators.close() },
    { name: 'store watch', run: () => watch.stop() },
    ...drainSteps(parts),
    { name: 'stores', run: () => stores.close() },
  ])
  console.log(`The ${name} job is ready: ${await operators.listen()}  (/health/ready, /metrics)`)
}

function lockIfEmbedded(config: Config): { release(): void } {
  return isEmbedded(config) ? lockDataFolder(config.stores.data) : { release() {} }
}

function announce(url: string, config: Config): void {
  const stores = isEmbedded(config) ? 'on the embedded stores' : 'on Redis, Kafka and MySQL'
  const browser = config.server.mode === 'development' ? 'open it in a browser for GraphiQL; ' : ''
  console.log(`Tidemark is ready: ${url}${GRAPHQL_PATH}  (${stores}; ${browser}stop with Ctrl-C)`)
}
