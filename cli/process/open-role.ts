/**
 * Every process of Tidemark opens its parts in the same order: the lock of the data folder, the port, the stores, the store watch, the
 * subgraphs. start.ts and subgraph.ts add the server. The server is closed first, and then the rest in the reverse order.
 *
 * A worker takes neither the lock nor the port, and its watch is quiet: the primary did all of this before it started the worker.
 *
 * If a start fails half-way, nothing is closed, because the process ends with the error.
 */
import cluster from 'node:cluster'
import { Registry } from '@prometheus-io/client'
import type { Logger } from 'pino'
import { systemClock } from '../../core/clock.ts'
import { makeStoreCalls } from '../../core/outage/store-calls.ts'
import type { Config } from '../../config/config.ts'
import type { DrainStep } from './drain.ts'
import { lockDataFolder } from '../../stores/lmdb/folder-lock.ts'
import { addStoreCallMetrics } from '../metrics/store-call-metrics.ts'
import { openStores, type OpenStores } from '../stores/history.ts'
import { measureStores } from '../stores/measured.ts'
import type { SubgraphName } from '../../subgraphs/names.ts'
import { warnOfOpenFolders } from './data-folder.ts'
import { boundGarbage, collectAtRest } from './heap.ts'
import { addConfigMetrics } from '../metrics/config-metrics.ts'
import { followConfig, type LiveConfig } from './live-config.ts'
import { makeLog } from './log.ts'
import { requireFreePort } from './port-check.ts'
import type { Settings } from './settings.ts'
import { drainOnSignal } from './shutdown.ts'
import { watchStores, type StoreWatch } from './store-watch.ts'
import { drainSteps, openParts, subgraphsOf, type Part, type Purpose } from './subgraphs.ts'

export type OpenRole = {
  log: Logger
  registry: Registry
  stores: OpenStores & Pick<StoreWatch, 'warnings'> & { liveStatus: LiveConfig['status'] }
  live: LiveConfig
  subgraphs: Part['subgraph'][]
  /** Ends the process on a signal: `first`, then the parts of this role, then `last`. */
  drainOnSignal(first: DrainStep, last?: DrainStep): void
}

export type RoleOptions = Purpose & {
  /** Default: a new one. */
  registry?: Registry
  /** Pass changes on between the processes of `--workers`. */
  relays?: Parameters<typeof openStores>[3]
}

/** Throws CONFIG_INVALID, DATA_IN_USE and DATA_INCOMPATIBLE. */
export async function openRole(
  names: readonly SubgraphName[],
  settings: Settings,
  { registry = new Registry(), relays, ...purpose }: RoleOptions,
): Promise<OpenRole> {
  boundGarbage(settings.config.server.garbagePercent)
  const log = makeLog({ level: settings.config.server.logLevel })
  const lock = cluster.isPrimary ? await takePlace(settings.config, purpose.serves, log) : undefined
  const live = await followConfig(settings, systemClock, (sentence) => log.warn({}, sentence))
  const { config } = live
  addConfigMetrics(registry, live.status)
  const calls = makeStoreCalls(() => performance.now())
  const opened = measureStores(await openStores(config, systemClock, log, relays), config, calls)
  addStoreCallMetrics(registry, calls)
  const watch = await watchStores(config, log, registry, { isQuiet: cluster.isWorker })
  const parts = await openParts(names, purpose, live, opened, registry, log)
  collectAtRest(systemClock)
  return {
    log,
    registry,
    stores: { ...opened, warnings: watch.warnings, liveStatus: live.status },
    live,
    subgraphs: subgraphsOf(parts),
    drainOnSignal: (first, last) =>
      drainOnSignal(config, log, [
        first,
        { name: 'store watch', run: () => watch.stop() },
        { name: 'live configuration', run: () => live.stop() },
        ...drainSteps(parts),
        { name: 'stores', run: () => opened.close() },
        ...(lock === undefined ? [] : [{ name: 'lock', run: () => lock.release() }]),
        ...(last === undefined ? [] : [last]),
      ]),
  }
}

export function isEmbedded(config: Config): boolean {
  return config.stores.redis === undefined
}

async function takePlace(config: Config, serves: boolean, log: Logger): Promise<{ release(): void } | undefined> {
  warnOfOpenFolders(config, log)
  const lock = isEmbedded(config) ? lockDataFolder(config.stores.data) : undefined
  await requireFreePort(config.server)
  if (serves && config.server.admin !== undefined) await requireFreePort(config.server.admin, 'server.admin')
  return lock
}
