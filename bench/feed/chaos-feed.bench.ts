/**
 * Is every page of a feed right under kills, cuts and lost caches? The run has 100 kills (8 with --quick) of gateways, jobs, Redis, Kafka,
 * MariaDB and Memcached nodes, and 25 network cuts (3) of 0.5 to 5 s, two at a time. Each Memcached node is also stopped and emptied. Under
 * load, viewers publish, share, delete, follow, count, walk through lists and look up posts. The whole history is compared with a model.
 *
 *     npm run bench -- chaos-feed [--quick] [--json]
 */
import { FEED_CONVERGED_MAX_MS, runFeedChaos } from '../../harness/chaos/feed/chaos.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const report = await runFeedChaos({
    kills: quick ? 6 : 70,
    cuts: quick ? 3 : 25,
    nodes: quick ? { kills: 2, stops: 2, flushes: 2, stopMaxMs: 1_000 } : { kills: 30, stops: 20, flushes: 20, stopMaxMs: 4_000 },
    seed: Date.now() % 1_000_000,
    atOnce: quick ? 3 : 2,
    pauseMaxMs: quick ? 500 : 1_000,
    deadMaxMs: quick ? 500 : 1_500,
    cutMaxMs: quick ? 2_000 : 5_000,
    viewers: 36,
    progress,
  })
  const { faults, tally, history, violations, deaths } = report
  for (const sentence of [...violations, ...deaths].slice(0, 50)) progress(sentence)
  for (const [what, count] of Object.entries(tally.errors())) progress(`error, ${count} times: ${what}`)
  for (const [what, count] of Object.entries(tally.errorsOfTwo())) progress(`error with two stores out of order, ${count} times: ${what}`)
  const context = (metric: string, value: number, unit = ''): Measure => ({ metric, value, unit })
  const reads = [...history.pages, ...history.lookups, ...history.followsReads]
  return [
    ...Object.entries(faults.kills).map(([name, value]) => context(`kills: ${name}`, value)),
    ...Object.entries(faults.cuts).map(([name, value]) => context(`cuts: ${name}`, value)),
    ...Object.entries(report.nodeFaults).map(([name, value]) => context(`Memcached: ${name}`, value)),
    context('posts published', new Set(history.publications.map(({ id }) => id)).size),
    context('posts deleted', history.deletions.filter(({ code }) => code === undefined).length),
    context('follows and unfollows', history.follows.length),
    context('counter events sent', history.events.length),
    context('pages', history.pages.length),
    context(
      'shown posts',
      history.pages.reduce((sum, { posts }) => sum + (posts?.length ?? 0), 0),
    ),
    context('lookups', history.lookups.length),
    context('reads that named a store', reads.filter(({ lacks }) => lacks.length > 0).length),
    context('values from pools, of the gateways that ran last', report.cache.hits),
    context('values from pools that were too old, and not used', report.cache.stale),
    context('calls', tally.calls()),
    context('calls whose process was killed', tally.excused()),
    context('slowest answer', tally.slowestMs(), 'ms'),
    ...violationsByRule(violations),
    none('errors with at most one store out of order', tally.errorCount()),
    context(
      'errors with several out of order',
      Object.values(tally.errorsOfTwo()).reduce((sum, count) => sum + count, 0),
    ),
    context('writes refused while the hot store was down', report.refused),
    none('processes that ended by themselves', deaths.length),
    none('Memcached nodes that are not asked at the end', report.cache.nodesDown),
    { metric: 'quiet until everything is in place', value: report.convergedMs, unit: 'ms', target: FEED_CONVERGED_MAX_MS, atMost: true },
  ]
}

/** Each rule of `harness/chaos/feed/checker.ts`, with what it protects. */
const RULES = {
  invented: 'posts that were never published, or have other contents',
  audience: 'restricted posts shown to others',
  deleted: 'deleted posts shown',
  followed: 'posts of users who are not followed',
  missing: 'acknowledged posts missing in a page or lookup',
  scroll: 'pages out of order, or with a wrong cursor',
  healthy: 'answers that name a store that was in order',
  key: 'client keys with two posts, or refused',
  lists: 'own follows not seen',
  counts: 'events counted twice or not at all',
  end: 'figures and rows that differ after quiet',
} as const

function violationsByRule(violations: readonly string[]): Measure[] {
  return Object.entries(RULES).map(([rule, what]) => none(what, violations.filter((each) => each.startsWith(`${rule}:`)).length))
}

function none(metric: string, value: number): Measure {
  return { metric, value, unit: '', target: 0, atMost: true }
}
