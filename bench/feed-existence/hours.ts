/**
 * Hours of a population in simulated time, with the real job. Plays are staged, and a minute after each hour the job folds its slot. The
 * simulated clock stands still during work, so a run's duration is its real time on this machine.
 */
import type { Clock } from '../../core/clock.ts'
import { makeTurns } from '../../core/event-loop-yield.ts'
import type { Play } from '../../core/domain.ts'
import { makeFold, type FoldStores } from '../../subgraphs/feed-existence/fold/fold.ts'
import { seededRandom, type Random } from '../../core/random.ts'
import { expiryOf } from '../../subgraphs/feed-existence/filter/expiry.ts'
import { HOUR_MS, monthOf, slotOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import type { SeenStore } from '../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeFolding } from '../../subgraphs/feed-existence/fold/folding.ts'
import { cpuMs } from '../loaders/cache-policy/cpu.ts'
import { makePopulation } from './population.ts'
import { REGIONS, SHAPE } from './servers.ts'
import { RATE } from './viewers.ts'

export type HourStores = {
  hot: Pick<SeenStore, 'stagePlays' | 'filledShards' | 'listRing' | 'readStaged' | 'removeStaged' | 'getRingLayouts'>
  records: FoldStores['records']
}

export type Hour = {
  plays: number
  /** The number of viewers with plays in the hour. */
  viewers: number
  /** The names of these viewers. */
  names: readonly string[]
  /** The value of `look` just before the job runs and after it, over all slots. */
  before: number
  after: number
  /** Duration and CPU time of the job's run for the previous slot. */
  runMs: number
  runCpuMs: number
}

export type HoursOptions = {
  viewers: number
  hours: number
  /** Called after each hour, once the job has folded the previous slot. */
  onHour?: (hour: Hour, at: number) => Promise<void> | void
  /** The size of the hot tier. */
  look: () => Promise<number> | number
  foldsAtOnce?: number
}

export type HoursReport = { hours: Hour[]; plays: number; writes: number; closed: number; viewerHours: number }

/** In the middle of a month, so that a run of a month includes the end of one. */
const START = Date.UTC(2026, 8, 15)
const SETTLE_MS = 60_000
const PLAYS_PER_CALL = 1_000
const CALLS_AT_ONCE = 4
const IDLE = { fromHour: 0, hours: 5, utcOffsetMinutes: 0 }
/** Equal to the default of the configuration. */
const FOLD_VIEWERS_MAX = 500
const FOLDS_AT_ONCE = 2

export async function runHours({ hot, records }: HourStores, options: HoursOptions): Promise<HoursReport> {
  const random = seededRandom(17)
  const population = makePopulation(options.viewers, random)
  let now = START
  const clock: Clock = { now: () => now, after: () => ({ cancel() {} }) }
  const folding = openFolding({ hot, records }, clock, random, options.foldsAtOnce ?? FOLDS_AT_ONCE)
  const hours: Hour[] = []
  let viewerHours = 0
  // The first run finds no earlier hours.
  now = START + SETTLE_MS
  await folding.round()
  for (let index = 0; index < options.hours; index++) {
    const begins = START + index * HOUR_MS
    const sessions = population.sessions(new Date(begins).getUTCHours())
    let plays = 0
    for (let quarter = 0; quarter < 4; quarter++) {
      now = begins + SETTLE_MS + ((HOUR_MS - SETTLE_MS) * quarter) / 4
      const size = Math.ceil(sessions.length / 4)
      const some = sessions.slice(quarter * size, (quarter + 1) * size).flatMap((session) => population.playsOf(session, now))
      await stage(hot, some, now)
      plays += some.length
    }
    now = begins + HOUR_MS + SETTLE_MS
    const before = await options.look()
    const names = [...new Set(sessions.map(({ viewer }) => viewer))]
    const [begun, cpuBegun] = [performance.now(), cpuMs()]
    await folding.round()
    const hour: Hour = {
      ...{ plays, viewers: names.length, names, before, after: await options.look() },
      ...{ runMs: performance.now() - begun, runCpuMs: cpuMs() - cpuBegun },
    }
    viewerHours += names.length
    await options.onHour?.(hour, index)
    // Names are dropped: a million per hour would fill the memory.
    hours.push({ ...hour, names: [] })
  }
  const { plays, writes, closed } = folding.figures()
  return { hours, plays, writes, closed, viewerHours }
}

function openFolding({ hot, records }: HourStores, clock: Clock, random: Random, foldsAtOnce: number) {
  const { fold } = makeFold(
    { hot, records },
    { rate: RATE, isOver: (month) => month < monthOf(clock.now()), expiryOf: (month) => expiryOf(month, IDLE, random) },
  )
  const regions = Array.from({ length: REGIONS }, (_, region) => region)
  return makeFolding(
    clock,
    hot,
    fold,
    () => regions,
    { shape: SHAPE, regions: REGIONS, settleMs: SETTLE_MS, keysMax: FOLD_VIEWERS_MAX, foldsAtOnce, nextTurn: makeTurns() },
    (error) => {
      throw error
    },
  )
}

async function stage(hot: HourStores['hot'], plays: readonly Play[], now: number): Promise<void> {
  const slot = slotOf(now, SHAPE.slots)
  let next = 0
  const work = async (): Promise<void> => {
    while (next < plays.length) {
      const some = plays.slice(next, (next += PLAYS_PER_CALL))
      await hot.stagePlays(some, { now, slot })
    }
  }
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, work))
}
