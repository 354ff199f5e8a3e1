/**
 * `tidemark start`: gateway, subgraph and job on the embedded stores. With one worker all of it is one process; with
 * more, this process owns the data folder, runs the job and passes changes on, and the workers answer requests.
 */
import cluster from 'node:cluster'
import closeWithGrace from 'close-with-grace'
import { Registry } from '@prometheus-io/client'
import { pino, type Logger } from 'pino'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { makeDrain, type DrainStep } from '../core/drain.ts'
import { lockDataFolder } from '../stores/lmdb/lock.ts'
import { openStores } from '../stores/open.ts'
import { makeHistorySubgraph } from '../subgraphs/history/index.ts'
import { serve } from './serve.ts'
import { readSettings, type Flags } from './settings.ts'
import { connectToPrimary, startWorkers } from './workers.ts'
import { addJobMetrics, addServiceMetrics } from './write-back-metrics.ts'

export async function start(flags: Flags): Promise<void> {
  const config = readSettings(flags)
  const log = pino({ level: 'info', base: null, redact: ['authorization', '*.authorization'] }, pino.destination({ dest: 2, sync: true }))
  if (cluster.isWorker) await runWorker(config, log)
  else if (config.server.workers > 1) await runPrimary(config, log)
  else await runAlone(config, log)
}

async function runAlone(config: Config, log: Logger): Promise<void> {
  const unlock = await lockDataFolder(config.stores.data)
  const stores = await openStores(config, systemClock)
  const registry = new Registry()
  const history = makeHistorySubgraph(systemClock, stores, config, reporter(log))
  const job = await history.startJob()
  addServiceMetrics(registry, history)
  addJobMetrics(registry, job, stores)
  const server = serve(config, [history], stores, registry, log)
  drainOnSignal(config, log, [
    { name: 'requests', run: () => server.close() },
    { name: 'flush', run: () => history.drain() },
    { name: 'job', run: () => job.stop() },
    { name: 'stores', run: () => stores.close() },
    { name: 'lock', run: unlock },
  ])
  announce((await server.listen()).url)
}

/** A process that answers requests; the primary has the lock and the job. */
async function runWorker(config: Config, log: Logger): Promise<void> {
  const registry = new Registry()
  const primary = connectToPrimary(registry)
  const stores = await openStores(config, systemClock, primary.relay)
  const history = makeHistorySubgraph(systemClock, stores, config, reporter(log))
  addServiceMetrics(registry, history)
  const server = serve(config, [history], stores, registry, log, primary.metricsOfAll)
  drainOnSignal(config, log, [
    { name: 'requests', run: () => server.close() },
    { name: 'flush', run: () => history.drain() },
    { name: 'stores', run: () => stores.close() },
    { name: 'primary', run: () => primary.leave() },
  ])
  primary.ready((await server.listen()).url)
}

async function runPrimary(config: Config, log: Logger): Promise<void> {
  const unlock = await lockDataFolder(config.stores.data)
  const stores = await openStores(config, systemClock)
  const registry = new Registry()
  const history = makeHistorySubgraph(systemClock, stores, config, reporter(log))
  const job = await history.startJob()
  addJobMetrics(registry, job, stores)
  const workers = startWorkers(config.server.workers, registry, log)
  drainOnSignal(config, log, [
    { name: 'workers', run: () => workers.stop() },
    { name: 'job', run: () => job.stop() },
    { name: 'stores', run: () => stores.close() },
    { name: 'lock', run: unlock },
  ])
  announce(await workers.listening)
}

/** Drains on SIGTERM and SIGINT, and on a bug: what was acknowledged is on disk anyway, the rest is sent on if it can be. */
function drainOnSignal(config: Config, log: Logger, steps: readonly DrainStep[]): void {
  const { drainMaxMs } = config.server
  const drain = makeDrain(systemClock, steps, { maxMs: drainMaxMs }, (step, err) =>
    log.error({ err, step }, 'a step of the shutdown failed'),
  )
  closeWithGrace({ delay: drainMaxMs + 1_000, logger: false }, async ({ err, signal }) => {
    if (err) log.fatal({ err }, 'a bug ends this process')
    else log.info({ signal }, 'draining')
    if (!(await drain())) log.warn({ drainMaxMs }, 'the shutdown was cut short; the sweeper persists what was left')
  })
}

function reporter(log: Logger): (error: unknown) => void {
  return (err) => log.error({ err }, 'a background step failed and will be repeated')
}

function announce(url: string): void {
  console.log(`Tidemark is ready: ${url}  (open it in a browser for GraphiQL; stop with Ctrl-C)`)
}
