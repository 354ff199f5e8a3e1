/**
 * Tidemark with a dataset, on both shapes. Posts, follows, likes, counts and filters of seen posts are written into the record stores, as they
 * are long after their publication. The hot stores fill themselves when pages are read.
 */
import { join } from 'node:path'
import { FOLLOW_BUSINESS } from '../../config/feed.ts'
import { makeConfig } from '../../config/config.ts'
import { systemClock } from '../../core/clock.ts'
import type { Subject } from '../../core/domain.ts'
import { openStores, type OpenStores } from '../../cli/stores/history.ts'
import { startDeployment } from '../../harness/deployment/deployment.ts'
import { makeServiceFolder, startService } from '../../harness/deployment/service.ts'
import { storeFilters, storeLikes } from '../../harness/samples/stored-facts.ts'
import { runningPid } from '../../scripts/servers/processes.ts'
import type { CountRow } from '../../subgraphs/feed/model/counts.ts'
import { eventsOfPost } from '../../subgraphs/feed/model/post-events.ts'
import type { Dataset } from './dataset.ts'
import { writeManifest } from '../support/persisted.ts'
import { OPERATIONS } from './operations.ts'

/** The number of the business `post` in the default configuration. */
const POSTS = 4
const ROWS_AT_ONCE = 2_000
const SINCE = 1_700_000_000_000

export type Product = {
  url: string
  /** A folder for other files, removed at the end. */
  folder: string
  /** The process that answers. */
  pid: number
  /** The processes of its servers, but for Memcached. */
  servers: readonly number[]
  /** The address of its Redis, if it has one. */
  redis?: string
  /** `/metrics` of the process that answers: values by series, such as `name{class="head"}`. */
  metrics(): Promise<Map<string, number>>
  remove(): Promise<void>
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

export async function startEmbedded(dataset: Dataset): Promise<Product> {
  const { folder, remove } = makeServiceFolder()
  const manifest = writeManifest(Object.values(OPERATIONS))
  const clean = (): void => {
    manifest.remove()
    remove()
  }
  try {
    const settings = { persisted: { manifests: [manifest.path] } }
    const config = makeConfig([{ name: 'bench', values: { ...settings, stores: { data: join(folder, 'data') } } }])
    const stores = await openStores(config, systemClock, silent)
    await fillAndClose(stores, dataset)
    const service = await startService({ folder, settings })
    return {
      url: service.url,
      folder,
      pid: service.pid,
      servers: [],
      metrics: () => metricsAt(service.url),
      async remove() {
        await service.stop()
        clean()
      },
    }
  } catch (error) {
    clean()
    throw error
  }
}

/** `more`: further settings; `folder` may have a file of live settings. */
export async function startDistributed(dataset: Dataset, more: (folder: string) => Record<string, unknown>): Promise<Product> {
  const manifest = writeManifest(Object.values(OPERATIONS))
  const deployment = await startDeployment({
    jobs: 0,
    markJobs: 1,
    feedJobs: 1,
    settings: ({ folder }) => ({ ...more(folder), persisted: { manifests: [manifest.path] } }),
  })
  const remove = async (): Promise<void> => {
    await deployment.remove()
    manifest.remove()
  }
  try {
    const stores = await deployment.openStores()
    await fillAndClose(stores, dataset)
    const { folder } = deployment.servers
    const [gateway] = deployment.gateways
    if (gateway === undefined) throw new Error('the deployment has no gateway')
    return {
      url: gateway.url,
      folder,
      pid: gateway.pid() as number,
      servers: ['redis', 'mariadb'].map((name) => runningPid(join(folder, name)) as number),
      redis: `redis://127.0.0.1:${deployment.servers.redis.port}`,
      metrics: () => metricsAt(gateway.url),
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}

async function fillAndClose(stores: OpenStores, dataset: Dataset): Promise<void> {
  try {
    await fillFeed(stores, dataset)
  } finally {
    await stores.close()
  }
}

export async function fillFeed({ feed, marks, seen }: OpenStores, dataset: Dataset): Promise<void> {
  if (feed === undefined) throw new Error('the configuration has no feed')
  const { posts, follows, likes, counts, popular } = dataset
  for (let at = 0; at < posts.length; at += ROWS_AT_ONCE) await feed.records.putPosts(posts.slice(at, at + ROWS_AT_ONCE))
  const totals = totalsOf(posts, counts)
  for (let at = 0; at < totals.length; at += ROWS_AT_ONCE) await feed.counters.records.putTotals(totals.slice(at, at + ROWS_AT_ONCE))
  const fans = popular.followers.map((viewer) => ({ viewer, oids: [popular.author] }))
  await storeLikes(marks.records, FOLLOW_BUSINESS, [...follows, ...fans], SINCE)
  await storeLikes(marks.records, POSTS, likes, SINCE)
  await storeFilters(seen.records, POSTS, dataset.seen)
}

/** The number of posts of each author, and the counts of each post that has any. */
function totalsOf(posts: Dataset['posts'], counts: Dataset['counts']): CountRow[] {
  const totals = new Map<string, { subject: Subject; counts: Record<string, number>; version: number }>()
  const totalOf = (subject: Subject) => {
    const key = `${subject.business}/${subject.oid}`
    let total = totals.get(key)
    if (total === undefined) totals.set(key, (total = { subject, counts: {}, version: 1 }))
    return total.counts
  }
  for (const { subject, counter, delta } of posts.flatMap((post) => eventsOfPost(post, POSTS))) {
    const total = totalOf(subject)
    total[counter] = (total[counter] ?? 0) + delta
  }
  for (const { id, comments, reads } of counts) Object.assign(totalOf({ business: POSTS, oid: id }), { comment: comments, read: reads })
  return [...totals.values()]
}

async function metricsAt(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(new URL('/metrics', url))).text()
  return new Map(
    Array.from(text.matchAll(/^([a-zA-Z_:][\w:]*(?:\{.*\})?) (\S+)/gm), ([, series, value]) => [series as string, Number(value)]),
  )
}
