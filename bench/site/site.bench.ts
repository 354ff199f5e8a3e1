/**
 * How much of a large site does one machine hold? A gateway per core, the four jobs, Redis, Kafka, MariaDB, Memcached and the load run on it.
 * Viewers watch, open pages, ask for candidates, like, follow and publish in the proportions of a large site (operations.ts), and some have
 * open subscriptions. Requests leave at their times, however slow the answers are.
 *
 *     npm run bench -- site [--quick] [--json]
 *
 * 1. The highest rate with a p99 below 100 ms is searched for in short windows: it doubles, then the interval is halved. A window also fails
 *    with one failed or degraded answer, or with a backlog beyond the bound. A failed window is repeated, because other programs disturb it.
 * 2. That rate has to hold for 60 s (10 s with --quick). If it does not, it is lowered by 10%.
 * 3. Each kind of call runs alone, for its CPU time (not with --quick).
 * 4. After quiet, every acknowledged write is read back through the API and looked up in the record store. Counts are recounted.
 * 5. The rates are printed beside published figures of very large sites: 300,000 lookups and 15,000 writes a second. Next comes what the
 *    machine spends its CPU time on, and then the rates of 2, 4 and 8 such machines on paper (paper.ts), with the serial parts.
 *
 * Redis writes its file at each command (`appendfsync always`).
 */
import { waitUntilConverged } from '../../harness/deployment/deployment.ts'
import { highestRate } from '../../harness/planning/highest-rate.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { sizeOf, type Acknowledged } from './ledger.ts'
import type { LiveReply } from './live-process.ts'
import { liveMeasures, paperMeasures, rateMeasures, spentMeasures } from './measures.ts'
import type { SiteSize } from './population.ts'
import { P99_MAX_MS, backlogMax, failuresOf, runAt, sentenceOf, type Run } from './run.ts'
import { costMeasures, costsOf } from './costs.ts'
import { startSite, type Windows } from './running-site.ts'
import { verify } from './verify.ts'

type Plan = {
  size: SiteSize
  live: number
  windows: Windows
  search: { first: number; seconds: number; steps: number; tries: number }
  holdSeconds: number
}

const QUICK: Plan = {
  size: { readers: 300, videos: 5_000, authors: 500, postsEach: 5, homeViewers: 20 },
  live: 10,
  windows: { historyMs: 2_000, marksMs: 1_000 },
  search: { first: 200, seconds: 2, steps: 2, tries: 2 },
  holdSeconds: 10,
}
/** Windows are the defaults. */
const FULL: Plan = {
  size: { readers: 6_000, videos: 20_000, authors: 3_000, postsEach: 10, homeViewers: 300 },
  live: 100,
  windows: { historyMs: 60_000, marksMs: 10_000 },
  search: { first: 250, seconds: 8, steps: 3, tries: 3 },
  holdSeconds: 60,
}
const STEP_DOWN = 0.9
const HOLDS_MAX = 8
const SETTLE_MAX_MS = 60_000

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const plan = quick ? QUICK : FULL
  progress('starting the servers and the processes')
  const site = await startSite({ ...plan, progress })
  try {
    const { search, windows, holdSeconds } = plan
    const failing = (run: Run): string[] => failuresOf(run, windows)
    const tell = (run: Run): void => progress(sentenceOf(run, windows))
    tell(await runAt(site, search.first, search.seconds))
    const rate = await highestRate(search.first, search.steps, async (perSecond) => {
      for (let tried = 0; tried < search.tries; tried++) {
        const run = await runAt(site, perSecond, search.seconds)
        tell(run)
        if (failing(run).length === 0) return true
      }
      return false
    })
    let held: Run | undefined
    let live: { before: LiveReply; after: LiveReply } | undefined
    for (let tried = 0, perSecond = rate; tried < HOLDS_MAX && perSecond >= 1; tried++, perSecond = Math.round(perSecond * STEP_DOWN)) {
      const before = await site.live.ask('updates')
      const run = await runAt(site, perSecond, holdSeconds)
      tell(run)
      if (failing(run).length > 0) continue
      held = run
      live = { before, after: await site.live.ask('updates') }
      break
    }
    if (held === undefined || live === undefined) throw new Error(`no rate from ${rate} calls/s down holds for ${holdSeconds} s`)
    const costs = quick ? [] : await costsOf(site, progress)
    progress('waiting until all writes are persisted, and reading them back')
    const settledMs = await waitUntilConverged(site.deployment, windows.historyMs + windows.marksMs + SETTLE_MAX_MS)
    const { ledger } = (await site.load.ask('ledger')) as { ledger: Acknowledged }
    const { losses, drift } = await verify(site.deployment, ledger)
    const last = await site.live.ask('updates')
    for (const sentence of [...losses, ...last.failures].slice(0, 20)) progress(sentence)
    const atMost = true
    return [
      ...rateMeasures(held),
      { metric: 'p99 of all calls', value: held.p99Ms, unit: 'ms', target: P99_MAX_MS, atMost },
      {
        metric: 'calls that failed or were degraded',
        value: held.answered.filter(({ failure }) => failure !== undefined).length,
        unit: `of ${held.answered.length}`,
        target: 0,
        atMost,
      },
      { metric: 'backlog at most', value: held.backlog, unit: 'messages of the log', target: backlogMax(windows), atMost },
      { metric: 'until all writes were persisted', value: settledMs / 1_000, unit: 's' },
      { metric: 'acknowledged writes that are lost', value: losses.length, unit: `of ${sizeOf(ledger)} keys`, target: 0, atMost },
      { metric: 'counts that differ from their rows, status of reconcile', value: drift, unit: '', target: 0, atMost },
      ...liveMeasures(live, last, ledger, held),
      ...spentMeasures(held),
      ...costMeasures(held, costs),
      ...paperMeasures(held, plan.size),
    ]
  } finally {
    await site.remove()
  }
}
