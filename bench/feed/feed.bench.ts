/**
 * What does a page of a home feed cost? A viewer with 2,000 follows gets 20 posts with authors, sources, marks, seen states and counts, through
 * the gateway by a persisted operation: on the embedded shape, and on the distributed one with Redis, Kafka, MariaDB and the Memcached pools Main, Backup
 * and two groups of L1. Authors publish meanwhile.
 *
 * Two naive peers have the same data and answer the same pages in the same run (`peers/`):
 * - `sql`: one query per followed author in MariaDB, merged in JavaScript.
 * - `fan-out`: a list per viewer in Redis, into which each publication pushes. The cost of a publication is measured too.
 *
 *     npm run bench -- feed [--quick] [--json]
 *
 * Everything runs on this machine with the load generator. Before the measurement, pages of all services are compared.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeOwnServers, startOwnServers } from '../../harness/deployment/own-servers.ts'
import { startMemcachedNodes } from '../../harness/deployment/memcached-nodes.ts'
import { runningPid } from '../../scripts/servers/processes.ts'
import { checkWhole } from '../support/persisted.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { makeDataset, type Dataset, type DatasetOptions } from './dataset.ts'
import { lookupMeasures } from './lookups.ts'
import { bodyOf, recordPlays } from './operations.ts'
import { makePageLoad, pageMeasures, ratioMeasures, type PageLoad, type PageRounds, type PageService } from './page-load.ts'
import { countEqualPages } from './page-equality.ts'
import { fillFanOut } from './peers/fan-out.ts'
import { PAGE_SIZE } from './peers/page.ts'
import { startPeer } from './peers/server.ts'
import { watchCommands } from './redis-commands.ts'
import { fillSql } from './peers/sql.ts'
import { startDistributed, startEmbedded, type Product } from './product.ts'
import { measurePublications, startPublishing, type FanOutStore } from './publications.ts'

type Size = { dataset: DatasetOptions; load: PageLoad; warmUpSeconds: number; posts: { ours: number; peers: number } }

const QUICK: Size = {
  dataset: { authors: 3_000, postsEach: 10, viewers: 20, followers: 10_000 },
  load: { rounds: 1, seconds: 1.5 },
  warmUpSeconds: 1,
  posts: { ours: 50, peers: 3 },
}
const FULL: Size = {
  dataset: { authors: 5_000, postsEach: 30, viewers: 100, followers: 10_000 },
  load: { rounds: 5, seconds: 4 },
  warmUpSeconds: 10,
  posts: { ours: 500, peers: 20 },
}
const PAGES_COMPARED = 10
/** Several times the window in which counts become visible to all. */
const COUNTED_MAX_MS = 60_000
const PUBLISHED_PER_SECOND = 5
const P99_MAX_MS = { embedded: 25, distributed: 50 }

type Closing = (() => Promise<void> | void)[]

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const size = quick ? QUICK : FULL
  const dataset = makeDataset(size.dataset)
  const closing: Closing = []
  try {
    progress('starting the servers and filling them')
    const { services, fanOutStore } = await startPeers(dataset, closing)
    const embedded = await startEmbedded(dataset)
    closing.push(() => embedded.remove())
    const memcached = await startMemcachedNodes(Array.from({ length: 4 }, (_, at) => [`--memory-limit=${at === 0 ? 128 : 64}`]))
    closing.push(() => memcached.stop())
    const [main, backup, ...l1] = memcached.nodes.map(({ address }) => [address]) as [string[], string[], ...string[][]]
    const distributed = await startDistributed(dataset, () => ({ cache: { layout: { main, backup, l1 } } }))
    closing.push(() => distributed.remove())
    const pids = memcached.nodes.map((node) => node.pid())
    const ours = [serviceOf('embedded', embedded), serviceOf('distributed', { ...distributed, servers: [...distributed.servers, ...pids] })]
    const all = [...ours, ...services]
    const equal = await equalPagesOnceCounted(all, dataset)
    const measured = await measurePages(size, dataset, all, [embedded, distributed], progress)
    const publications = await measurePublications(distributed, fanOutStore, dataset, size.posts)
    return [
      { metric: 'pages that are equal on all four services', value: equal, unit: `of ${PAGES_COMPARED}`, target: PAGES_COMPARED },
      ...measured,
      ...publications,
    ]
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

/** Other viewers see a new follow in `followerCount` after a moment, so the first pages after the filling may have older counts. */
async function equalPagesOnceCounted(services: readonly PageService[], { follows }: Dataset): Promise<number> {
  const viewers = follows.slice(0, PAGES_COMPARED)
  for (const begun = performance.now(); ; await sleep(1_000)) {
    const equal = await countEqualPages(services, viewers)
    if (equal === viewers.length || performance.now() - begun > COUNTED_MAX_MS) return equal
  }
}

async function startPeers(dataset: Dataset, closing: Closing): Promise<{ services: PageService[]; fanOutStore: FanOutStore }> {
  const servers = await makeOwnServers()
  closing.push(() => servers.remove())
  await startOwnServers(servers, ['redis', 'mariadb'])
  const database = `mysql://tidemark:tidemark@127.0.0.1:${servers.mariadb.port}/tidemark`
  const redis = `redis://127.0.0.1:${servers.redis.port}`
  const pidOf = (name: string): number => runningPid(join(servers.folder, name)) as number
  await Promise.all([fillSql(database, dataset), fillFanOut(redis, dataset)])
  const [sql, fanOut] = await Promise.all([startPeer('sql', database), startPeer('fan-out', redis)])
  closing.push(sql.stop, fanOut.stop)
  const check = (answer: string): void => {
    if (answer.split('"viewerSeen"').length !== PAGE_SIZE + 1) throw new Error(`a page is not complete: ${answer.slice(0, 300)}`)
  }
  const common = { body: Buffer.from('{}'), check }
  return {
    services: [
      { ...common, name: 'sql', url: sql.url, pid: sql.pid, servers: [pidOf('mariadb')] },
      { ...common, name: 'fan-out', url: fanOut.url, pid: fanOut.pid, servers: [pidOf('redis')] },
    ],
    fanOutStore: { url: redis, pid: pidOf('redis') },
  }
}

function serviceOf(name: keyof typeof P99_MAX_MS, { url, pid, servers }: Product): PageService {
  const check = (answer: string): void => {
    checkWhole(answer)
    if (answer.split('"viewerSeen"').length !== PAGE_SIZE + 1) throw new Error(`a page is not complete: ${answer.slice(0, 300)}`)
  }
  return { name, url, pid, servers, body: bodyOf('Home'), check, p99MaxMs: P99_MAX_MS[name] }
}

async function measurePages(
  { load, warmUpSeconds }: Size,
  dataset: Dataset,
  services: readonly PageService[],
  products: readonly Product[],
  progress: (text: string) => void,
): Promise<Measure[]> {
  const pageLoad = makePageLoad(dataset.follows.map(({ viewer }) => viewer))
  progress('warming up')
  await Promise.all(products.map(({ url }) => recordPlays(url, dataset)))
  for (const service of services) await pageLoad.warmUp(service, 4, warmUpSeconds)
  const commands = await Promise.all(products.flatMap(({ redis }) => (redis === undefined ? [] : [watchCommands(redis)])))
  const before = await Promise.all(products.map((product) => product.metrics()))
  const publishing = products.map((product) => startPublishing(product, dataset, PUBLISHED_PER_SECOND))
  const measured = await pageLoad.measure(services, load, progress)
  await Promise.all(publishing.map((each) => each.stop()))
  const after = await Promise.all(products.map((product) => product.metrics()))
  const [embedded, distributed, sql, fanOut] = services as [PageService, PageService, PageService, PageService]
  return [
    ...pageMeasures(measured),
    ...products.flatMap((_, at) => {
      const service = services[at] as PageService
      const cachesCounters = service === distributed
      const pages = pagesOf(measured.get(service))
      return lookupMeasures(service.name, before[at] as Map<string, number>, after[at] as Map<string, number>, pages, cachesCounters)
    }),
    ...(await Promise.all(commands.map((watched) => watched.measures('distributed')))).flat(),
    ...[embedded, distributed].flatMap((ours) => [sql, fanOut].flatMap((peer) => ratioMeasures(measured, ours, peer))),
  ]
}

function pagesOf(rounds: PageRounds | undefined): number {
  return [...(rounds?.low ?? []), ...(rounds?.full ?? []), ...(rounds?.steady ?? [])].reduce((sum, { requests }) => sum + requests, 0)
}
