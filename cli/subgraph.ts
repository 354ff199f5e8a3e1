/** `tidemark subgraph NAME`: one subgraph alone, on Apollo Server; on the embedded stores with its job. */
import { Registry } from '@prometheus-io/client'
import { systemClock } from '../core/clock.ts'
import type { Degraded } from '../core/degraded.ts'
import { TidemarkError } from '../core/errors.ts'
import { makeJudge } from '../gateway/cost.ts'
import { addProcessMetrics } from '../gateway/process-metrics.ts'
import { makeIdentify } from '../gateway/viewer.ts'
import { lockDataFolder } from '../stores/lmdb/folder-lock.ts'
import { openStores } from '../stores/open.ts'
import { startStandalone } from '../subgraphs/standalone.ts'
import { makeLog } from './log.ts'
import { addOperatorRoutes } from './operators.ts'
import { readSettings, type Flags } from './settings.ts'
import { drainOnSignal } from './shutdown.ts'
import { isEmbedded } from './start.ts'
import { checkName, drainSteps, openParts, subgraphsOf } from './subgraphs.ts'

export async function subgraph(name: string, flags: Flags): Promise<void> {
  const known = checkName(name, 'subgraph')
  const config = readSettings(flags)
  const { host, port, mode, bodyBytesMax } = config.server
  const log = makeLog()
  const lock = isEmbedded(config) ? lockDataFolder(config.stores.data) : undefined
  const stores = await openStores(config, systemClock, log)
  const registry = new Registry()
  addProcessMetrics(registry)
  const purpose = { serves: true, persists: isEmbedded(config), journals: true }
  const parts = await openParts([known], purpose, config, stores, registry, log)
  const [served] = subgraphsOf(parts)
  if (served === undefined) throw new TidemarkError('CONFIG_INVALID', `no business has ${known}: set thumbup.enabled of one`)
  let sayNotReady = () => {}
  const identify = makeIdentify(config.auth, mode, systemClock, { subgraph: known, log })
  const server = await startStandalone(
    served.schema,
    async (headers) => {
      const degraded: Degraded = new Set()
      return { viewer: await identify(headers), degraded, loaders: served.makeLoaders(degraded) }
    },
    {
      host,
      port,
      bodyBytesMax,
      production: mode === 'production',
      judge: makeJudge(config.server),
      addRoutes(app) {
        sayNotReady = addOperatorRoutes(app, config, stores, registry, log).drain
      },
    },
    (err) => log.error({ err }, 'internal error'),
  )
  drainOnSignal(config, log, [
    { name: 'readiness', run: () => sayNotReady() },
    { name: 'requests', run: () => server.stop() },
    ...drainSteps(parts),
    { name: 'stores', run: () => stores.close() },
    { name: 'lock', run: () => lock?.release() },
  ])
  console.log(`The ${known} subgraph is ready: ${server.url}`)
}
