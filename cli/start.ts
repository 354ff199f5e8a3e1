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
import { joinCountsAsPrimary, joinCountsAsWorker } from './count-relay.ts'
import { boundGarbage } from './heap.ts'
import { makeLog } from './log.ts'
import { serveOperators } from './operators.ts'
import { serve } from './serve.ts'
import { readSettings, type Flags } from './settings.ts'
import { drainOnSignal } from './shutdown.ts'
import { NAMES, drainSteps, openParts, subgraphsOf, type SubgraphName } from './subgraphs.ts'
import { connectToPrimary, startWorkers } from './workers.ts'

export type Role = 'start' | 'gateway' | 'job'

/** `name`: of a job. */
export async function start(role: Role, flags: Flags, name: SubgraphName = 'history'): Promise<void> {
  const config = readSettings(flags)
  boundGarbage(config.server.garbagePercent)
  const log = makeLog()
  if (role !== 'start' && isEmbedded(config)) {
    throw new TidemarkError(
      'CONFIG_INVALID',
      `"${role}" shares its stores with other processes: set stores.redis, kafka and mysql, or run "tidemark start"`,
    )
  }
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
  const stores = await openStores(config, systemClock, log)
  const registry = new Registry()
  const parts = await openParts(NAMES, { serves: true, persists: role === 'start', journals: true }, config, stores, registry, log)
  const server = await serve(config, subgraphsOf(parts), stores, registry, log)
  drainOnSignal(config, log, [
    { name: 'requests', run: () => server.close() },
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
  const parts = await openParts(NAMES, { serves: true, persists: false, journals: false }, config, stores, registry, log)
  const server = await serve(config, subgraphsOf(parts), stores, registry, log, primary.metricsOfAll)
  const end = drainOnSignal(config, log, [
    { name: 'requests', run: () => server.close() },
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
  const stores = await openStores(config, systemClock, log, { counts: joinCountsAsPrimary() })
  const registry = new Registry()
  const parts = await openParts(NAMES, { serves: false, persists: true, journals: false }, config, stores, registry, log)
  const workers = startWorkers(config.server.workers, registry, log)
  // Workers do not hear a signal that is meant for the service. Without a supergraph to look at, SIGHUP ends it as ever.
  if (config.server.supergraph !== undefined) process.on('SIGHUP', () => workers.reload())
  drainOnSignal(config, log, [
    { name: 'workers', run: () => workers.stop() },
    ...drainSteps(parts),
    { name: 'stores', run: () => stores.close() },
    { name: 'lock', run: () => lock.release() },
  ])
  announce(await workers.listening, config)
}

async function runJob(name: SubgraphName, config: Config, log: Logger): Promise<void> {
  const stores = await openStores(config, systemClock, log)
  const registry = new Registry()
  addProcessMetrics(registry)
  const parts = await openParts([name], { serves: false, persists: true, journals: false }, config, stores, registry, log)
  const operators = serveOperators(config, stores, registry, log)
  drainOnSignal(config, log, [
    { name: 'operators', run: () => operators.close() },
    ...drainSteps(parts),
    { name: 'stores', run: () => stores.close() },
  ])
  console.log(`The ${name} job is ready: ${await operators.listen()}  (/health/ready, /metrics)`)
}

function lockIfEmbedded(config: Config): { release(): void } {
  return isEmbedded(config) ? lockDataFolder(config.stores.data) : { release() {} }
}

function announce(url: string, config: Config): void {
  const hint = config.server.mode === 'development' ? 'open it in a browser for GraphiQL; stop with Ctrl-C' : 'stop with Ctrl-C'
  console.log(`Tidemark is ready: ${url}${GRAPHQL_PATH}  (${hint})`)
}
