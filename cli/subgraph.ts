/** `tidemark subgraph NAME` runs one subgraph alone; on the embedded stores it also runs the subgraph's job. */
import { Registry } from '@prometheus-io/client'
import { systemClock } from '../core/clock.ts'
import { addProcessMetrics } from '../gateway/process-metrics.ts'
import { lockDataFolder } from '../stores/lmdb/folder-lock.ts'
import { openStores } from '../stores/open.ts'
import { warnOfOpenFolders } from './data-folder.ts'
import { makeLog } from './log.ts'
import { requireFreePort } from './port-check.ts'
import { readSettings, type Flags } from './settings.ts'
import { drainOnSignal } from './shutdown.ts'
import { serveAlone } from './standalone.ts'
import { isEmbedded } from './start.ts'
import { watchStores } from './store-watch.ts'
import { checkName, drainSteps, openParts, requireServed, subgraphsOf } from './subgraphs.ts'

export async function subgraph(name: string, flags: Flags): Promise<void> {
  const known = checkName(name, 'subgraph')
  const config = readSettings(flags)
  requireServed(known, config)
  const log = makeLog()
  warnOfOpenFolders(config, log)
  const lock = isEmbedded(config) ? lockDataFolder(config.stores.data) : undefined
  await requireFreePort(config.server)
  const stores = await openStores(config, systemClock, log)
  const registry = new Registry()
  addProcessMetrics(registry)
  const watch = await watchStores(config, log, registry)
  const purpose = { serves: true, persists: isEmbedded(config), journals: true }
  const parts = await openParts([known], purpose, config, stores, registry, log)
  const [served] = subgraphsOf(parts)
  if (served === undefined) throw new Error(`${known} was not opened`)
  const server = await serveAlone(served, config, { ...stores, warnings: watch.warnings }, registry, log)
  drainOnSignal(config, log, [
    { name: 'requests', run: () => server.close() },
    { name: 'store watch', run: () => watch.stop() },
    ...drainSteps(parts),
    { name: 'stores', run: () => stores.close() },
    { name: 'lock', run: () => lock?.release() },
  ])
  const { url } = await server.listen()
  console.log(`The ${known} subgraph is ready: ${url}/`)
}
