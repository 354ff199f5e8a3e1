/**
 * Chaos under a feed, on servers and several pools of Memcached: two nodes of Main, one of Backup, two groups of L1. The whole history is
 * recorded, and compared with a model at the end.
 */
import { seededRandom } from '../../../core/random.ts'
import { startMemcachedNodes } from '../../deployment/memcached-nodes.ts'
import { metricsOf, type Role } from '../../deployment/role.ts'
import { runUnderFaults, type RunOptions, type RunReport } from '../history/run.ts'
import { violationsOf } from './checker.ts'
import { makeHistory, type FeedHistory } from './history.ts'
import { makeKnown } from './known.ts'
import { makeNodeFaults, type NodeFaultOptions } from './node-faults.ts'
import { CACHE_TTL_MS } from './read-rules.ts'
import { readEnd } from './verify.ts'
import { startFeedWriters } from './writers.ts'
import { REFUSED_WITHOUT_HOT_STORE } from './writing.ts'

/** `nodeKills` and so on: faults of Memcached nodes, in addition to `kills` and `cuts`. */
export type FeedChaosOptions = RunOptions & { nodes: Pick<NodeFaultOptions, 'kills' | 'stops' | 'flushes' | 'stopMaxMs'> }

export type FeedChaosReport = RunReport & {
  history: FeedHistory
  violations: string[]
  /** Writes refused while the hot store was down, which is documented. They were repeated. */
  refused: number
  /** Faults of nodes, by node and kind. */
  nodeFaults: Record<string, number>
  /** Of both gateways, since their last start. `nodesDown`: nodes that they still do not ask. */
  cache: { hits: number; stale: number; nodesDown: number }
}

/** Short intervals, so that much happens between two faults. */
const QUICK = { flushKeysMax: 50, flushAgeMaxMs: 300, sweepAfterMs: 2_000, sweepEveryMs: 500 }
const REGIONS = 24
const LANES = 6
const READERS = 2
const WRITE_PAUSE_MAX_MS = 30
const NODES = ['main 1', 'main 2', 'backup', 'l1 1', 'l1 2']

/** The faults begin when lists have some posts. */
const POSTS_FIRST = 150
const PAGES_MIN = 300

/** As in the run of history (`../history/chaos.ts`): the sweep, and the partitions of a dead job. */
export const FEED_CONVERGED_MAX_MS = QUICK.sweepAfterMs + QUICK.sweepEveryMs + 20_000

export async function runFeedChaos(options: FeedChaosOptions): Promise<FeedChaosReport> {
  const { seed, viewers, deadMaxMs } = options
  const { nodes, stop } = await startMemcachedNodes(NODES.map(() => ['--memory-limit=64']))
  const addresses = nodes.map(({ address }) => address)
  const [main1, main2, backup, ...l1] = addresses as [string, string, string, ...string[]]
  const nodeFaults: Record<string, number> = {}
  const faults = makeNodeFaults(nodes, NODES, seededRandom(seed), { ...options.nodes, deadMaxMs }, (name) => {
    nodeFaults[name] = (nodeFaults[name] ?? 0) + 1
  })
  const setting = {
    ...{ jobs: 0, markJobs: 2, feedJobs: 2 },
    settings: {
      feed: { ...QUICK, countsWindowMs: 300 },
      thumbup: { ...QUICK, windowMs: 300 },
      cache: { ttlMs: CACHE_TTL_MS, layout: { main: [main1, main2], backup: [backup], l1: l1.map((address) => [address]) } },
      stores: { regions: REGIONS },
    },
  }
  try {
    return await runUnderFaults(
      { ...options, more: faults },
      setting,
      ({ feedJobs, markJobs }) => [...feedJobs, ...markJobs],
      async ({ deployment, faults: { outSince }, tally, progress }) => {
        const { gateways } = deployment
        const users = Array.from({ length: viewers }, (_, at) => String(at + 1))
        const history = makeHistory(users)
        const known = makeKnown(history)
        let refused = 0
        const load = {
          ...{ seed, lanes: LANES, readers: READERS, users, pauseMaxMs: WRITE_PAUSE_MAX_MS, outSince },
          onCall(call: Parameters<typeof tally.add>[0]) {
            const isRefusal = call.end.kind === 'error' && call.end.code === 'HOT_STORE_UNAVAILABLE'
            if (isRefusal && REFUSED_WITHOUT_HOT_STORE.includes(call.operation) && outSince(call.begun).has('redis')) refused++
            else tally.add(call)
          },
        }
        return {
          writers: startFeedWriters(gateways, known, load),
          isReady: () => history.publications.length > POSTS_FIRST,
          isEnough: () => history.pages.length > PAGES_MIN,
          acknowledged: () => `${history.publications.length} posts, ${history.pages.length} pages`,
          async look() {
            const stores = await deployment.openStores()
            try {
              await readEnd(deployment, stores, known, load)
            } finally {
              await stores.close()
            }
            progress('everything is read; comparing the history with the model')
            return { history, violations: violationsOf(history), refused, nodeFaults, cache: await cacheOf(gateways) }
          },
        }
      },
    )
  } finally {
    await stop()
  }
}

async function cacheOf(gateways: readonly Role[]): Promise<FeedChaosReport['cache']> {
  const metrics = await Promise.all(gateways.map(metricsOf))
  const sum = (name: string): number => metrics.reduce((total, each) => total + (each?.get(name) ?? Number.NaN), 0)
  return {
    hits: sum('tidemark_feed_cache_hits_total'),
    stale: sum('tidemark_feed_cache_stale_total'),
    nodesDown: sum('tidemark_feed_cache_node_down'),
  }
}
