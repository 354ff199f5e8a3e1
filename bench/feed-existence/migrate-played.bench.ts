/**
 * How much does a migration from a Redis of sorted sets slow down requests? One process with embedded stores answers requests and runs the
 * job. The job folds in a million entries of 5,000 viewers (100,000 of 1,000 with --quick) at the default pace, with 50 viewers per shard.
 * (50 million viewers would be 10,000 in each of 5,000 shards.) Requests have 500 candidates, a tenth of them in the viewer's old set.
 * Plays are written to both sides. Viewers are migrated in lots, with pauses of equal length between lots, so both figures come from the
 * same minutes of the machine. A new hour begins before each lot and each pause, so both include the fold of the previous hour.
 *
 *     npm run bench -- migrate-played [--quick] [--json]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock, type Clock } from '../../core/clock.ts'
import { complete } from '../../core/outage/degraded.ts'
import { makeConfig, type Config } from '../../config/config.ts'
import { ringOf } from '../../config/feed-existence.ts'
import { listingOf } from '../../subgraphs/feed-existence/migration/progress.ts'
import { randomBelow, seededRandom } from '../../core/random.ts'
import { HOUR_MS, slotOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import { verifyViewer } from '../../cli/migrate/migration-verify.ts'
import { openEmbeddedSeen } from '../../cli/stores/feed-existence.ts'
import { openEnvironment } from '../../stores/lmdb/environment.ts'
import { makeExistenceSubgraph } from '../../subgraphs/feed-existence/index.ts'
import { announceShape } from '../../subgraphs/feed-existence/fold/layouts.ts'
import { liveness } from '../../subgraphs/feed-existence/migration/legacy.ts'
import { startLegacy } from '../../harness/samples/legacy-redis.ts'
import type { BenchOptions, Measure } from '../support/report.ts'
import { quantileOf } from '../support/quantile.ts'

const CANDIDATES = 500
const KNOWN = 50
const READERS = 4
const PAUSE_MS = 4
const LOTS = 10
const DAY_MS = 86_400_000

type Timing = { clock: Clock; nextHour(): void }
type Served = { seen: Awaited<ReturnType<typeof openEmbeddedSeen>>['seen']; subgraph: ReturnType<typeof makeExistenceSubgraph> }
/** Milliseconds of each call of `unseen` outside moves and during them, and the seconds of all moves. */
type Moves = { quiet: number[]; moving: number[]; seconds: number }
type Readers = { falselyUnseen(): number; measure(latencies: number[], isOver: () => boolean): Promise<void> }

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const [viewers, each] = quick ? [1_000, 100] : [5_000, 200]
  const legacy = await startLegacy()
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-migrate-'))
  const config = makeConfig([
    {
      name: 'benchmark',
      values: {
        stores: { data: folder },
        existence: { shards: 100, foldEveryMs: 200, legacy: { urls: [legacy.url], businesses: ['video'], patienceMs: 60_000 } },
      },
    },
  ])
  const timing = makeTiming(config)
  const { clock } = timing
  const environment = openEnvironment(folder, config.stores)
  const { seen, close } = await openEmbeddedSeen(config, clock, environment)
  const subgraph = makeExistenceSubgraph(clock, seen, config, (error) => progress(String(error)))
  const names = Array.from({ length: viewers }, (_, at) => String(100_000 + at))
  const readers = makeReaders(subgraph, names, each)

  try {
    progress(`filling ${viewers} sets of ${each}`)
    const now = clock.now()
    const entries = Object.fromEntries(Array.from({ length: each }, (_, id) => [String(id), now - ((id * 89 * DAY_MS) / each + HOUR_MS)]))
    for (const name of names) await legacy.fill(name, entries)
    const job = await subgraph.startJob()
    await announceShape(seen.hot, ringOf(config), clock)
    progress('warming up')
    await readers.measure([], () => subgraph.figures().existence.candidates > CANDIDATES * 2_000)
    const moves = await moveInLots(timing, config, { seen, subgraph }, names, readers, progress)
    progress('looking for missing plays')
    const { checked, missing } = await countMissing(clock, config, seen, names, each)
    await job.stop()
    await subgraph.drain()
    const folded = subgraph.figures().legacy?.migration.plays ?? 0
    return [
      { metric: 'entries moved', value: folded, unit: '', target: viewers * each },
      { metric: 'in', value: moves.seconds, unit: 's' },
      { metric: 'entries per second', value: folded / moves.seconds, unit: '/s' },
      ...measuresOf(moves),
      { metric: 'plays that came back', value: readers.falselyUnseen(), unit: '', target: 0, atMost: true },
      { metric: 'plays checked', value: checked, unit: '' },
      { metric: 'plays missing', value: missing, unit: '', target: 0, atMost: true },
    ]
  } finally {
    await close()
    await environment.close()
    await legacy.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A clock that can be set to the next hour, so that the job folds the previous one. */
function makeTiming(config: Config): Timing {
  let shiftMs = 0
  const clock: Clock = { now: () => Date.now() + shiftMs, after: systemClock.after }
  return {
    clock,
    nextHour(): void {
      const now = clock.now()
      shiftMs += (Math.floor(now / HOUR_MS) + 1) * HOUR_MS + config.existence.settleMs + 1_000 - now
    },
  }
}

function makeReaders(subgraph: Served['subgraph'], names: readonly string[], each: number): Readers {
  const random = seededRandom(1)
  let falselyUnseen = 0

  async function read(latencies: number[], isOver: () => boolean): Promise<void> {
    for (let call = 0; !isOver(); call++) {
      const viewer = names[randomBelow(random, names.length)] as string
      const known = Array.from({ length: KNOWN }, () => String(randomBelow(random, each)))
      const candidates = [...known, ...Array.from({ length: CANDIDATES - KNOWN }, () => `new-${randomBelow(random, 1e9)}`)]
      const begun = performance.now()
      const { ids } = await complete((without) => subgraph.service.unseen({ id: viewer, scopes: [] }, 'video', candidates, [], without))
      latencies.push(performance.now() - begun)
      const left = new Set(ids)
      falselyUnseen += known.filter((id) => left.has(id)).length
      if (call % 10 === 0) await subgraph.service.recordPlayed({ id: viewer, scopes: [] }, 'video', [`live-${call}`], undefined, new Set())
      await sleep(PAUSE_MS)
    }
  }

  return {
    falselyUnseen: () => falselyUnseen,
    /** Collects the milliseconds of each call of `unseen` until `isOver`, at a pace that leaves half of the process idle. */
    async measure(latencies, isOver) {
      await Promise.all(Array.from({ length: READERS }, () => read(latencies, isOver)))
    },
  }
}

/** Each lot is followed by a pause of the same length. */
async function moveInLots(
  { clock, nextHour }: Timing,
  config: Config,
  { seen, subgraph }: Served,
  names: readonly string[],
  { measure }: Readers,
  progress: BenchOptions['progress'],
): Promise<Moves> {
  const { slots } = ringOf(config)
  async function list(some: readonly string[]): Promise<void> {
    const at = clock.now()
    const listings = some.map((name) => listingOf(name, 1, at))
    await seen.hot.stagePlays(listings, { now: at, slot: slotOf(at, slots) })
  }
  const moved = (): number => subgraph.figures().legacy?.migration.migrated ?? 0
  const lot = names.length / LOTS
  const [quiet, moving]: [number[], number[]] = [[], []]
  let [seconds, lastSeconds] = [0, 2]
  for (let from = 0; from < names.length; from += lot) {
    nextHour()
    const until = performance.now() + lastSeconds * 1_000
    await measure(quiet, () => performance.now() >= until)
    await list(names.slice(from, from + lot))
    nextHour()
    const begun = performance.now()
    await measure(moving, () => moved() >= from + lot)
    lastSeconds = (performance.now() - begun) / 1_000
    seconds += lastSeconds
    progress(`${moved()} viewers moved`)
  }
  return { quiet, moving, seconds }
}

async function countMissing(clock: Clock, config: Config, seen: Served['seen'], names: readonly string[], each: number) {
  const { monthsBefore, futureMaxMs } = config.existence
  const rules = { monthsBefore, futureMaxMs, isLive: liveness(clock, config.existence) }
  const stores = { hot: seen.hot, records: seen.records, legacy: seen.legacy as NonNullable<typeof seen.legacy> }
  let [checked, missing] = [0, 0]
  for (const name of names) {
    const found = await verifyViewer(clock, stores, name, 1, rules)
    checked += found.checked
    missing += found.missing.length + (found.isMigrated ? 0 : each)
  }
  return { checked, missing }
}

function measuresOf({ quiet, moving }: Moves): Measure[] {
  return [
    { metric: 'requests, nobody being moved', value: quiet.length, unit: '' },
    { metric: 'requests meanwhile', value: moving.length, unit: '' },
    { metric: 'unseen, nobody being moved: p50', value: quantile(quiet, 0.5), unit: 'ms' },
    { metric: 'unseen meanwhile: p50', value: quantile(moving, 0.5), unit: 'ms' },
    { metric: 'unseen, nobody being moved: p99', value: quantile(quiet, 0.99), unit: 'ms' },
    { metric: 'unseen meanwhile: p99', value: quantile(moving, 0.99), unit: 'ms' },
    { metric: 'p99 meanwhile : nobody', value: quantile(moving, 0.99) / quantile(quiet, 0.99), unit: 'ratio', target: 1.2, atMost: true },
  ]
}

function quantile(latencies: readonly number[], share: number): number {
  return quantileOf(
    latencies.toSorted((a, b) => a - b),
    share,
  )
}
