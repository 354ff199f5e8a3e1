/** `tidemark subgraph NAME`: one subgraph alone, on Apollo Server; on the embedded stores with its job. */
import { Registry } from '@prometheus-io/client'
import { systemClock } from '../core/clock.ts'
import type { Degraded } from '../core/degraded.ts'
import { TidemarkError } from '../core/errors.ts'
import { makeJudge } from '../gateway/cost.ts'
import { addProcessMetrics } from '../gateway/process-metrics.ts'
import { makeIdentify } from '../gateway/viewer.ts'
import { lockDataFolder } from '../stores/lmdb/folder-lock.ts'
import { openJournals, openStores } from '../stores/open.ts'
import { makeHistorySubgraph } from '../subgraphs/history/index.ts'
import { startStandalone } from '../subgraphs/standalone.ts'
import { makeLog } from './log.ts'
import { addOperatorRoutes } from './operators.ts'
import { reporter } from './reporter.ts'
import { readSettings, type Flags } from './settings.ts'
import { drainOnSignal } from './shutdown.ts'
import { isEmbedded } from './start.ts'
import { addJobMetrics, addServiceMetrics } from './write-back-metrics.ts'

export async function subgraph(name: string, flags: Flags): Promise<void> {
  if (name !== 'history') throw new TidemarkError('CONFIG_INVALID', `there is no subgraph "${name}": say history`)
  const config = readSettings(flags)
  const { host, port, mode, bodyBytesMax } = config.server
  const log = makeLog()
  const lock = isEmbedded(config) ? lockDataFolder(config.stores.data) : undefined
  const stores = await openStores(config, systemClock, log)
  const journals = openJournals(config)
  const history = makeHistorySubgraph(systemClock, { ...stores, journals }, config, reporter(log))
  const job = isEmbedded(config) ? await history.startJob() : undefined
  const registry = new Registry()
  addProcessMetrics(registry)
  addServiceMetrics(registry, history, journals)
  if (job !== undefined) addJobMetrics(registry, job, stores)
  let sayNotReady = () => {}
  const identify = makeIdentify(config.auth, mode, systemClock, { subgraph: history.name, log })
  const server = await startStandalone(
    history.schema,
    async (headers) => {
      const degraded: Degraded = new Set()
      return { viewer: await identify(headers), degraded, loaders: history.makeLoaders(degraded) }
    },
    {
      host,
      port,
      bodyBytesMax,
      production: mode === 'production',
      judge: makeJudge(config.server),
      addRoutes(app) {
        sayNotReady = addOperatorRoutes(app, stores, registry, log).drain
      },
    },
    (err) => log.error({ err }, 'internal error'),
  )
  drainOnSignal(config, log, [
    { name: 'readiness', run: () => sayNotReady() },
    { name: 'requests', run: () => server.stop() },
    { name: 'flush', run: () => history.drain() },
    { name: 'job', run: () => job?.stop() },
    { name: 'journal', run: () => journals?.close() },
    { name: 'stores', run: () => stores.close() },
    { name: 'lock', run: () => lock?.release() },
  ])
  console.log(`The history subgraph is ready: ${server.url}`)
}
