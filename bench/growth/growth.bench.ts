/**
 * Does a call cost the same for many viewers as for few? The sites have 10 thousand to 10 million viewers (2,000 and 10,000 with --quick).
 * Each viewer has one report and one like. At each size, new viewers make calls through the gateway: pages of history, marks and reports. At
 * the first call, the hot store does not have their likes. The cost is the CPU time of all processes, from the first call until all writes
 * are persisted.
 *
 * A large fill takes minutes, and the speed of the machine may change meanwhile. Each shape therefore has two sites that are loaded in turn: one
 * grows, and one stays small. At each size, the small site gets new viewers too, so that the hot store knows none of them. In the end, it has 70,000.
 *
 * Two processes with the same code may differ by a quarter, probably because V8 optimizes them differently. Each round therefore starts new processes. A
 * factor compares the means of all rounds. At the first size, both sites are equal, so their factor shows the noise.
 *
 * On servers, the benchmark also sends the bare commands of a page of history to Redis, and measures the CPU of Redis.
 *
 *     npm run bench -- growth [--quick] [--only embedded|distributed] [--json]
 *
 * Before the calls, the embedded file is in the page cache in small folios. Writes into small folios are cheap.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { machineSeconds } from '../support/cpu.ts'
import { medianOf } from '../support/quantile.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { CALL_NAMES, bareCostOf, costOf, costOfUnknown, type CallName, type Cost, type Running } from './calls.ts'
import { openDistributed, openEmbedded, type Site } from './sites.ts'

const SIZES = { quick: [2_000, 10_000], full: [10_000, 100_000, 1_000_000, 10_000_000] }
/** The new viewers of the small site at each size, and the viewers of the grown one that make calls. At most the size. */
const CALLERS_MAX = { quick: 4_000, full: 20_000 }
/** Even: the sites take turns to begin. */
const ROUNDS = { quick: 2, full: 4 }
/** Turn 0 is the warm-up, and the others count. Each turn has viewers of its own. */
const TURNS = 3
/** Calls of each kind in a warm-up, and pages in a turn. V8 optimizes the code during the warm-up. */
const CALLS = { quick: 2_000, full: 10_000 }
/** Viewers of a turn of bare reads. */
const BARE_READS = { quick: 10_000, full: 20_000 }
/** The greatest cost of the grown site, relative to the small site. */
const GROWTH_MAX = 1.2
/**
 * After a fill, the servers still write their files. The calls begin when the machine uses at most this many cores, or after
 * REST_WAIT_MAX_MS. At rest, the servers of two sites use 0.26 to 0.4 of a core.
 */
const REST_CORES_MAX = 0.5
const REST_MS = 5_000
const REST_WAIT_MAX_MS = 600_000

type Size = keyof typeof SIZES
/** The costs of the counted turns. */
type Beside<T> = { small: T[]; grown: T[] }
type Round = { calls: Record<CallName, Beside<Cost>>; bare: Beside<number> | undefined }

export async function bench({ quick, only, progress }: BenchOptions): Promise<Measure[]> {
  const size = quick ? 'quick' : 'full'
  const measures: Measure[] = []
  for (const [name, open] of Object.entries({ embedded: openEmbedded, distributed: openDistributed })) {
    if (only !== undefined && only !== name) continue
    const sites: Site[] = []
    try {
      for (let site = 0; site < 2; site++) sites.push(await open())
      measures.push(...(await measureGrowth(name, sites as [Site, Site], size, progress)))
    } finally {
      await allEnded(sites.map((site) => site.remove()))
    }
  }
  return measures
}

async function measureGrowth(
  name: string,
  [small, grown]: readonly [Site, Site],
  size: Size,
  progress: (text: string) => void,
): Promise<Measure[]> {
  const measures: Measure[] = []
  let filled = 0
  let filledSmall = 0
  for (const viewers of SIZES[size]) {
    const callers = Math.min(CALLERS_MAX[size], viewers)
    const begun = performance.now()
    await grown.fill(filled, viewers)
    await small.fill(filledSmall, filledSmall + callers)
    progress(`${name}: ${viewers} viewers after ${((performance.now() - begun) / 1_000).toFixed(0)} s`)
    progress(`the machine uses ${(await untilAtRest()).toFixed(2)} cores before the calls`)
    const rounds: Round[] = []
    for (let round = 0; round < ROUNDS[size]; round++) {
      const running: Running[] = []
      try {
        running.push({ service: await small.start(), from: filledSmall, to: filledSmall + callers })
        running.push({ service: await grown.start(), from: filled, to: viewers })
        rounds.push(await measureRound(running as [Running, Running], round, callers, size))
      } finally {
        await allEnded(running.map(({ service }) => service.stop()))
      }
    }
    measures.push(...reportRounds(`${name}, ${viewers} viewers`, rounds, progress))
    filled = viewers
    filledSmall += callers
  }
  return measures
}

/** `callers`: the viewers that mark and report at this size, on each site. */
async function measureRound(sites: readonly [Running, Running], round: number, callers: number, size: Size): Promise<Round> {
  const writes = Math.floor(callers / (ROUNDS[size] * TURNS))
  const writersOf = (turn: number) => (call: number) => (round * TURNS + turn) * writes + (call % writes)
  const readersOf = (turn: number, count: number) => (call: number) => (round * TURNS + turn) * count + call
  const costs: Record<CallName, (site: Running, turn: number) => Promise<Cost>> = {
    page: (site, turn) => costOf(site, 'page', CALLS[size], readersOf(turn, CALLS[size])),
    mark: (site, turn) => (turn === 0 ? costOf(site, 'mark', CALLS[size], writersOf(0)) : costOfUnknown(site, writes, writersOf(turn))),
    report: (site, turn) => costOf(site, 'report', turn === 0 ? CALLS[size] : writes, writersOf(turn)),
  }
  const calls: [CallName, Beside<Cost>][] = []
  for (const name of CALL_NAMES) calls.push([name, await inTurn(sites, round, costs[name])])
  const hasBare = sites.every(({ service }) => service.readBare !== undefined)
  const bareCost = (site: Running, turn: number) => bareCostOf(site, BARE_READS[size], readersOf(turn, BARE_READS[size]))
  return {
    calls: Object.fromEntries(calls) as Round['calls'],
    bare: hasBare ? await inTurn(sites, round, bareCost) : undefined,
  }
}

/**
 * The sites alternate strictly, because a site that is loaded twice in a row costs less. Both have the same number of turns, because V8 goes on to
 * optimize their code. In every other round, the grown site begins.
 */
async function inTurn<T>(
  [small, grown]: readonly [Running, Running],
  round: number,
  cost: (site: Running, turn: number) => Promise<T>,
): Promise<Beside<T>> {
  const running = { small, grown }
  const order = round % 2 === 0 ? (['small', 'grown'] as const) : (['grown', 'small'] as const)
  const costs: Beside<T> = { small: [], grown: [] }
  for (let turn = 0; turn < TURNS; turn++) {
    for (const site of order) {
      const spent = await cost(running[site], turn)
      if (turn > 0) costs[site].push(spent)
    }
  }
  return costs
}

function reportRounds(title: string, rounds: readonly Round[], progress: (text: string) => void): Measure[] {
  const measures: Measure[] = []
  for (const name of CALL_NAMES) {
    const costs = together(rounds.map(({ calls }) => calls[name]))
    const us = { small: costs.small.map(({ cpuUs }) => cpuUs), grown: costs.grown.map(({ cpuUs }) => cpuUs) }
    measures.push(
      { metric: `${title}: ${name}, CPU`, value: meanOf(us.grown), unit: 'µs' },
      { metric: `${title}: ${name}, CPU of the small site`, value: meanOf(us.small), unit: 'µs' },
      {
        metric: `${title}: ${name}, CPU : the smallest size`,
        value: meanOf(us.grown) / meanOf(us.small),
        unit: 'ratio',
        target: GROWTH_MAX,
        atMost: true,
      },
      { metric: `${title}: ${name}, p50`, value: medianOf(costs.grown, ({ p50Ms }) => p50Ms), unit: 'ms' },
    )
    progress(`${title}: ${name}, CPU: ${listed(us)} µs; the last: ${costs.small.at(-1)?.parts} | ${costs.grown.at(-1)?.parts}`)
  }
  const bare = together(rounds.flatMap((round) => round.bare ?? []))
  if (bare.grown.length === 0) return measures
  const metric = `${title}: bare commands of a page, CPU of Redis`
  progress(`${metric}: ${listed(bare)} µs`)
  return [
    ...measures,
    { metric, value: meanOf(bare.grown), unit: 'µs' },
    { metric: `${metric} : the smallest size`, value: meanOf(bare.grown) / meanOf(bare.small), unit: 'ratio' },
  ]
}

function together<T>(rounds: readonly Beside<T>[]): Beside<T> {
  return { small: rounds.flatMap(({ small }) => small), grown: rounds.flatMap(({ grown }) => grown) }
}

function meanOf(figures: readonly number[]): number {
  return figures.reduce((sum, figure) => sum + figure, 0) / figures.length
}

function listed({ small, grown }: Beside<number>): string {
  const list = (figures: readonly number[]): string => figures.map((figure) => figure.toFixed(1)).join(', ')
  return `small ${list(small)}; grown ${list(grown)}`
}

/** Rejects with the first failure when all have ended. */
async function allEnded(endings: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(endings)
  await Promise.all(endings)
}

/** Waits until the machine is at rest, about ten minutes at most. Returns the number of cores that it still uses. */
async function untilAtRest(): Promise<number> {
  for (const end = Date.now() + REST_WAIT_MAX_MS; ;) {
    const before = machineSeconds()
    await sleep(REST_MS)
    const cores = (machineSeconds() - before) / (REST_MS / 1_000)
    if (cores <= REST_CORES_MAX || Date.now() > end) return cores
  }
}
