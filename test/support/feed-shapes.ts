/** The feed as its operators run it, in each shape: on embedded stores, and on Redis, Kafka, MariaDB and Memcached. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStores, type OpenStores } from '../../cli/stores/history.ts'
import { readSettings } from '../../cli/process/settings.ts'
import { systemClock } from '../../core/clock.ts'
import { runCommand, type Ended } from '../../harness/deployment/command.ts'
import { startDeployment, waitUntilConverged } from '../../harness/deployment/deployment.ts'
import { memcachedIsHere, startMemcachedNodes } from '../../harness/deployment/memcached-nodes.ts'
import type { OwnServers } from '../../harness/deployment/own-servers.ts'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import { service } from '../../harness/deployment/services.ts'

const QUIET_MAX_MS = 60_000
const QUICK = { flushAgeMaxMs: 50, sweepAfterMs: 1_000, sweepEveryMs: 200 }
const SETTINGS = {
  privacy: { settleMs: 1_000 },
  history: QUICK,
  feed: { ...QUICK, countsWindowMs: 50 },
  thumbup: { ...QUICK, windowMs: 50 },
}
const silent = { debug() {}, info() {}, warn() {}, error() {} }

export type FeedShape = {
  /** Two addresses of the API: of two processes, if the shape has several. */
  urls: readonly [string, string]
  /** The folder with all data folders of the deployment. */
  folder: string
  /** Of the distributed shape. */
  servers?: OwnServers
  /** The flags by which a command finds the deployment. */
  flags: readonly string[]
  run(...args: string[]): Promise<Ended>
  openStores(): Promise<OpenStores>
  /** Resolves when everything is persisted and counted. */
  settled(): Promise<void>
  /** Ends the processes of Tidemark, and leaves their data. Embedded only. */
  stop?(): Promise<void>
  remove(): Promise<void>
}

type Settings = { feed?: Record<string, unknown>; rewards?: Record<string, unknown> }

export async function embeddedShape(settings: Settings = {}): Promise<FeedShape> {
  const { folder, remove } = makeServiceFolder()
  const started = await startService({ folder, settings: withQuick(settings) })
  const flags = ['--config', join(folder, 'tidemark.yaml'), '--data', join(folder, 'data')]
  return {
    urls: [started.url, started.url],
    folder,
    flags,
    run: (...args) => runCommand(folder, [...args, ...flags]),
    openStores: () => openStores(readSettings({ config: flags[1], data: flags[3] }), systemClock, silent),
    settled: () => settled(started.url),
    async stop() {
      await started.stop()
    },
    async remove() {
      await started.stop()
      remove()
    },
  }
}

/** Two gateways, and two tiers of Memcached. */
export async function distributedShape(settings: Settings = {}): Promise<FeedShape> {
  const { nodes, stop } = await startMemcachedNodes([[], [], []])
  const [main, backup, l1] = nodes.map(({ address }) => address)
  const cache = { layout: { main: [main], backup: [backup], l1: [[l1]] } }
  const deployment = await startDeployment({ gateways: 2, markJobs: 1, feedJobs: 1, settings: { ...withQuick(settings), cache } })
  const flags = ['--config', join(deployment.servers.folder, 'gateway-1', 'tidemark.yaml')]
  return {
    urls: deployment.gateways.map(({ url }) => url) as [string, string],
    folder: deployment.servers.folder,
    servers: deployment.servers,
    flags,
    // An erasure waits for slow steps of jobs.
    run: (...args) => runCommand(deployment.servers.folder, [...args, ...flags], { maxMs: 180_000 }),
    openStores: () => deployment.openStores(),
    async settled() {
      await waitUntilConverged(deployment, QUIET_MAX_MS)
    },
    async remove() {
      await deployment.remove()
      await stop()
    },
  }
}

export async function distributedIsHere(): Promise<boolean> {
  const servers = [await service('redis'), await service('kafka'), await service('mariadb')]
  return !servers.includes(undefined) && (await memcachedIsHere())
}

function withQuick({ feed, ...more }: Settings) {
  return { ...SETTINGS, ...more, feed: { ...SETTINGS.feed, ...feed } }
}

const WAITING =
  /^tidemark_(?:dirty_marks|marks_log_lag_messages|feed_dirty_keys|feed_dirty_counters|feed_log_lag_messages)(?:\{.*\})? (\S+)$/gm

/** Resolves when everything that this process holds is persisted and counted. */
export async function settled(url: string): Promise<void> {
  for (const end = Date.now() + QUIET_MAX_MS; ; await sleep(50)) {
    const waiting = [...(await (await fetch(new URL('/metrics', url))).text()).matchAll(WAITING)]
    if (waiting.length === 5 && waiting.every(([, count]) => count === '0')) return
    if (Date.now() > end) throw new Error(`left to persist: ${waiting.map(([line]) => line).join(', ')}`)
  }
}
