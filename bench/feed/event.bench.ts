/**
 * What happens at the event of the year? The traffic doubles within a second, and half of the reads go to 1% of the posts. While it lasts, the
 * layout of the cache gets 2 groups of L1 and then 4 more, live, by the file of live settings. Memcached itself counts the keys that each node looked up.
 *
 *     npm run bench -- event [--quick] [--json]
 *
 * Main has four nodes, Backup two, each group of L1 four smaller ones. The deployment has a Redis, Kafka, MariaDB, a gateway and jobs, all on
 * this machine with the load generator. Requests leave at their times (`support/open-loop.ts`).
 */
import { renameSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CacheLayout } from '../../config/cache.ts'
import { startMemcachedNodes, type MemcachedNode } from '../../harness/deployment/memcached-nodes.ts'
import { makeSocialGraph } from '../../harness/samples/social/graph.ts'
import { makeTraffic, type Visit } from '../../harness/samples/social/traffic.ts'
import { checkWhole } from '../support/persisted.ts'
import { quantileOf } from '../support/quantile.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { makeDataset, type Dataset } from './dataset.ts'
import { runOpenLoop, type Answered, type Timed } from '../support/open-loop.ts'
import { bodyOf } from './operations.ts'
import { startDistributed } from './product.ts'

const NODES = 4
const GROUPS = 6
const GROUPS_AT_FIRST = 2
const USERS = 1_000
const POSTS_EACH = 5
/** Visits per second before the event. */
const PER_SECOND = 120
/** Shares of the visits. A page looks up hundreds of keys, a read one, and the event is in the reads. */
const SHARES = { reads: 0.95, publishes: 0.01, follows: 0.005 }
const EVENT_SHARE = 0.01
const FAILURES_SHOWN = 3

type Phase = { name: string; groups: number; untilMs: number }

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const each = quick ? 3_500 : 20_000
  const phases: Phase[] = [
    { name: 'before', groups: 0, untilMs: each },
    { name: 'event, 0 groups', groups: 0, untilMs: 2 * each },
    { name: 'event, 2 groups', groups: GROUPS_AT_FIRST, untilMs: 3 * each },
    { name: 'event, 6 groups', groups: GROUPS, untilMs: 4 * each },
    { name: 'after', groups: GROUPS, untilMs: 5 * each },
  ]
  const dataset = makeEventDataset()
  progress(`starting ${NODES * (GROUPS + 1) + NODES / 2} Memcached nodes, Redis, Kafka, MariaDB, a gateway and jobs`)
  const memcached = await startMemcachedNodes([
    ...Array.from({ length: NODES + NODES / 2 }, () => ['--memory-limit=128']),
    ...Array.from({ length: NODES * GROUPS }, () => ['--memory-limit=12']),
  ])
  try {
    const { nodes } = memcached
    const product = await startDistributed(dataset, (folder) => {
      setLayout(folder, nodes, 0)
      return { live: { from: layoutFile(folder) } }
    })
    try {
      progress('warming up')
      await runOpenLoop([product.url], warmUp(dataset, each), checkWhole)
      progress(`traffic: ${phases.map(({ name }) => name).join('; ')}`)
      const event = { atMs: each, untilMs: 4 * each, share: EVENT_SHARE }
      const visits = makeTraffic({
        ...{ seed: 2026, users: USERS, posts: dataset.posts.length, durationMs: 5 * each, perSecond: PER_SECOND },
        ...{ event, ...SHARES },
      })
      const load = runOpenLoop([product.url], requestsOf(visits, dataset), checkWhole)
      const shares = await watch(phases, nodes, (groups) => setLayout(product.folder, nodes, groups))
      return measuresOf(phases, await load, shares, progress)
    } finally {
      await product.remove()
    }
  } finally {
    await memcached.stop()
  }
}

/** Every user follows some tens of others. */
function makeEventDataset(): Dataset {
  const dataset = makeDataset({ authors: USERS, postsEach: POSTS_EACH, viewers: 0, followers: 0 })
  const graph = makeSocialGraph({ seed: 26, users: USERS, followsMin: 20, followsMax: 200 })
  const follows = dataset.authors.map((viewer, user) => ({
    viewer,
    oids: Array.from(graph.followsOf(user), (other) => dataset.authors[other] as string),
  }))
  return { ...dataset, follows }
}

/** Every post and every page once, then traffic without an event. */
function* warmUp({ posts, authors }: Dataset, forMs: number): Generator<Timed> {
  const all = [...posts.map(({ id }) => bodyOf('Read', { id })), ...authors.map(() => bodyOf('Home'))]
  for (const [at, body] of all.entries()) yield { atMs: (at * forMs) / all.length, viewer: authors[at % authors.length] as string, body }
}

function* requestsOf(visits: Iterable<Visit>, { authors, posts }: Dataset): Generator<Timed> {
  let number = 0
  for (const visit of visits) {
    const { atMs } = visit
    const viewer = authors[visit.viewer] as string
    yield { atMs, viewer, body: bodyOfVisit(visit, `event-${number++}`, posts, authors) }
  }
}

function bodyOfVisit(visit: Visit, clientKey: string, posts: Dataset['posts'], authors: Dataset['authors']): Buffer {
  switch (visit.kind) {
    case 'page':
      return bodyOf('Home')
    case 'read':
      // Rank 0 is the newest post.
      return bodyOf('Read', { id: posts.at(-1 - visit.post)?.id })
    case 'publish': {
      const source = visit.isRepost && !visit.isRestricted ? { source: posts.at(-1)?.id } : {}
      const audience = visit.isRestricted ? { audience: authors.slice(0, 3) } : {}
      return bodyOf('Publish', { input: { clientKey, text: `news ${clientKey}`, ...source, ...audience } })
    }
    case 'follow':
    case 'unfollow':
      return bodyOf(visit.kind === 'follow' ? 'Follow' : 'Unfollow', { ids: [authors[visit.target] as string] })
    default:
      return visit satisfies never
  }
}

const layoutFile = (folder: string): string => `${folder}/layout.json`

function setLayout(folder: string, nodes: readonly MemcachedNode[], groups: number): void {
  const addresses = nodes.map(({ address }) => address)
  const some = (at: number, count: number): string[] => addresses.slice(at, at + count)
  const first = NODES + NODES / 2
  const layout: CacheLayout = {
    main: some(0, NODES),
    backup: some(NODES, NODES / 2),
    l1: Array.from({ length: groups }, (_, group) => some(first + group * NODES, NODES)),
  }
  writeFileSync(`${layoutFile(folder)}.next`, JSON.stringify({ cache: { layout } }))
  renameSync(`${layoutFile(folder)}.next`, layoutFile(folder))
}

type Share = { hottest: number; perSecond: number }

/** Changes the layout at each phase. Resolves with the hottest node's figures of each. */
async function watch(phases: readonly Phase[], nodes: readonly MemcachedNode[], change: (groups: number) => void): Promise<Share[]> {
  const begun = performance.now()
  const shares: Share[] = []
  let groups = 0
  for (const phase of phases) {
    if (phase.groups !== groups) change((groups = phase.groups))
    const [from, before] = [performance.now(), await lookups(nodes)]
    await sleep(Math.max(0, phase.untilMs - (performance.now() - begun)))
    const after = await lookups(nodes)
    const seconds = (performance.now() - from) / 1_000
    const counts = after.map((count, at) => count - (before[at] as number))
    const [most, all] = [Math.max(...counts), counts.reduce((sum, count) => sum + count, 0)]
    shares.push({ hottest: most / all, perSecond: most / seconds })
  }
  return shares
}

/** Keys that each node has looked up since its start. */
async function lookups(nodes: readonly MemcachedNode[]): Promise<number[]> {
  return Promise.all(
    nodes.map(async (node) => {
      const { hits, misses } = await node.lookups()
      return hits + misses
    }),
  )
}

function measuresOf(
  phases: readonly Phase[],
  answered: readonly Answered[],
  shares: readonly Share[],
  progress: (text: string) => void,
): Measure[] {
  const failures = answered.flatMap(({ failure }) => failure ?? [])
  for (const failure of failures.slice(0, FAILURES_SHOWN)) progress(failure)
  const own = phases.flatMap(({ name, untilMs }, at): Measure[] => {
    const from = phases[at - 1]?.untilMs ?? 0
    const times = answered
      .filter(({ atMs }) => atMs >= from && atMs < untilMs)
      .map(({ ms }) => ms)
      .sort((a, b) => a - b)
    return [
      { metric: `${name}: visits`, value: times.length / ((untilMs - from) / 1_000), unit: 'per second' },
      { metric: `${name}: p50`, value: quantileOf(times, 0.5), unit: 'ms' },
      { metric: `${name}: p99`, value: quantileOf(times, 0.99), unit: 'ms' },
      { metric: `${name}: hottest node, of all lookups`, value: shares[at]?.hottest ?? Number.NaN, unit: '' },
      { metric: `${name}: hottest node`, value: shares[at]?.perSecond ?? Number.NaN, unit: 'lookups per second' },
    ]
  })
  return [...own, { metric: 'answers that were not whole', value: failures.length, unit: `of ${answered.length}`, target: 0, atMost: true }]
}
