/**
 * The whole site on this machine, with its stored data: a gateway per core, the four jobs, Redis, Kafka, MariaDB and Memcached. The load
 * generator and the live clients have processes of their own.
 */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { OWN_SERVERS } from '../../harness/deployment/own-servers.ts'
import { startDeployment, type Deployment } from '../../harness/deployment/deployment.ts'
import { startMemcachedNodes } from '../../harness/deployment/memcached-nodes.ts'
import type { Role } from '../../harness/deployment/role.ts'
import { runningPid } from '../../scripts/servers/processes.ts'
import { OPERATIONS as FEED } from '../feed/operations.ts'
import { runLoad } from '../support/load.ts'
import { checkWhole, persisted, writeManifest } from '../support/persisted.ts'
import { startChild, type Child } from './child.ts'
import type { LiveReply, LiveSetting } from './live-process.ts'
import type { LoadQuestion, LoadReply, LoadSetting } from './load-process.ts'
import { BODIES, BULK, CANDIDATES, KIND_NAMES, KINDS, LISTED } from './operations.ts'
import { fillSite, makeSocial, watcherAt, type SiteSize } from './population.ts'

export type Windows = { historyMs: number; marksMs: number }

export type RunningSite = {
  deployment: Deployment
  load: Child<LoadQuestion, LoadReply>
  live: Child<'updates', LiveReply>
  /** The process ids of each part of the site. */
  parts: ReadonlyMap<string, readonly number[]>
  remove(): Promise<void>
}

/** `live`: subscriptions of each kind. */
export type SiteOptions = { size: SiteSize; live: number; windows: Windows; progress: (text: string) => void }

const MEMCACHED_MB = [128, 64]
const WARM_UP_CONNECTIONS = 8
const WARM_UP_MAX_MS = 600_000

export async function startSite({ size, live: liveEach, windows, progress }: SiteOptions): Promise<RunningSite> {
  const closing: (() => Promise<void> | void)[] = []
  const remove = async (): Promise<void> => {
    for (const close of closing.reverse()) await close()
  }
  try {
    const manifest = writeManifest([...KIND_NAMES.map((name) => KINDS[name].text), FEED.Play])
    closing.push(manifest.remove)
    const memcached = await startMemcachedNodes(MEMCACHED_MB.map((megabytes) => [`--memory-limit=${megabytes}`]))
    closing.push(() => memcached.stop())
    const [main, backup] = memcached.nodes.map(({ address }) => [address])
    const deployment = await startDeployment({
      ...{ gateways: availableParallelism(), jobs: 1, markJobs: 1, seenJobs: 1, feedJobs: 1 },
      settings: {
        persisted: { manifests: [manifest.path] },
        cache: { layout: { main, backup } },
        history: { flushAgeMaxMs: windows.historyMs },
        thumbup: { windowMs: windows.marksMs },
      },
    })
    closing.push(() => deployment.remove())
    const urls = deployment.gateways.map(({ url }) => url)
    const social = makeSocial(size)
    const homeViewers = social.follows.map(({ viewer }) => viewer)
    progress(`filling: ${size.readers} readers, ${size.videos} videos, ${social.posts.length} posts`)
    const stores = await deployment.openStores()
    try {
      await fillSite(stores, size, social)
    } finally {
      await stores.close()
    }
    progress('warming up: each reader opens a page and asks for candidates, each viewer of home feeds reads one')
    for (const url of urls) await warmUp(url, size, homeViewers)
    const load = await startChild<LoadQuestion, LoadReply>(join(import.meta.dirname, 'load-process.ts'), {
      ...{ urls, size, homeViewers, authors: social.authors },
    } satisfies LoadSetting)
    closing.push(() => load.stop())
    const live = await startChild<'updates', LiveReply>(join(import.meta.dirname, 'live-process.ts'), {
      ...{ urls, progress: liveEach, counts: liveEach, homeViewers: homeViewers.slice(0, liveEach) },
    } satisfies LiveSetting)
    closing.push(() => live.stop())
    const pids = (roles: readonly Role[]): number[] => roles.map((role) => role.pid() as number)
    const parts = new Map<string, readonly number[]>([
      ['gateways', pids(deployment.gateways)],
      ['job history', pids(deployment.jobs)],
      ['job thumbup', pids(deployment.markJobs)],
      ['job feed-existence', pids(deployment.seenJobs)],
      ['job feed', pids(deployment.feedJobs)],
      ...OWN_SERVERS.map((name): [string, number[]] => [name, [runningPid(join(deployment.servers.folder, name)) as number]]),
      ['memcached', memcached.nodes.map((node) => node.pid())],
      ['load generator', [load.pid]],
      ['live clients', [live.pid]],
    ])
    return { deployment, load, live, parts, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Afterwards the hot store knows the readers, and the caches have what is read most. */
async function warmUp(url: string, { readers, videos }: SiteSize, homeViewers: readonly string[]): Promise<void> {
  async function each(viewers: readonly string[], body: (place: number) => Buffer): Promise<void> {
    let next = 0
    await runLoad({
      ...{ url, connections: WARM_UP_CONNECTIONS, durationMs: WARM_UP_MAX_MS, check: checkWhole },
      body: () => (next < viewers.length ? body(next) : undefined),
      headers: () => ({ 'x-viewer-id': viewers[next++] as string, 'x-viewer-scopes': BULK }),
    })
  }
  const ids = (from: number, count: number): string[] => Array.from({ length: count }, (_, at) => String(1 + ((from + at) % videos)))
  const all = Array.from({ length: readers }, (_, place) => watcherAt(place))
  const play = persisted(FEED.Play)
  await each([...all, ...homeViewers], () => play())
  await each(all, (place) => BODIES.list({ ids: ids(place * LISTED, LISTED) }))
  await each(all, (place) => BODIES.unseen({ ids: ids(place * CANDIDATES, CANDIDATES) }))
  await each(homeViewers, () => BODIES.home())
}
