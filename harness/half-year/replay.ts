/**
 * The half year, on embedded stores with the real subgraph, a failing worker and a settable clock. At the first moment of each hour, in the
 * middle and at the last, plays arrive and the worker does its due work. Viewers with possibly staged plays then ask for all their plays of
 * live months. Every viewer also asks regularly, and just before and after each end of a month. A millisecond before the end the oldest
 * live month is hidden, and a millisecond later it comes back.
 */
import { randomBelow, seededRandom, type Random } from '../../core/random.ts'
import type { ViewerId } from '../../core/domain.ts'
import { HOUR_MS, monthOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import { askAll, makeAsking, type Asked, type Asking } from './asking.ts'
import { makeExpiry, type Expiry } from './expiry.ts'
import { BUSINESS, openHalfYear, type HalfYear } from './half-year.ts'
import { END, HEAVY, MEDIUM, START, planHalfYear, type Arrival, type Row } from './plan.ts'

export type HalfYearOptions = {
  /** An empty folder for the stores. */
  folder: string
  seed: number
  /** Every viewer asks once in this many days. */
  everybodyEveryDays: number
  /** Ids without any play, requested by each kind of viewer at the end. */
  probes: number
  progress(text: string): void
}

export type HalfYearReport = Asked & {
  plays: number
  viewers: number
  worker: { runs: number; failures: number; refused: number; closed: number }
  writes: { all: number; tooMany: number; closings: number }
  /** The number of entries left in the ring after a lap without failures. */
  left: number
  /** The expiry of the first month's filters. */
  expiry: Expiry
  bytes: number
  filters: number
  /** The hidden share of ids that were never played. */
  falsePositives: Record<'light' | 'medium' | 'heavy', { probes: number; hidden: number }>
}

/** Hours in which plays of a viewer may still be staged, after any failure: two laps. */
const RECENT_HOURS = 12
const LAPS = 2

export async function replayHalfYear(rows: readonly Row[], options: HalfYearOptions): Promise<HalfYearReport> {
  const { progress } = options
  const random = seededRandom(options.seed)
  const halfYear = openHalfYear(options.folder, random)
  const { time, shape, stores, failing, truth, worker } = halfYear
  const asking = makeAsking(halfYear)
  const { report, checkLive, endMonth } = asking
  const { purge, expire } = makeExpiry(halfYear)

  try {
    const receiver = makeReceiver(halfYear, planHalfYear(rows))
    for (let hour = START; hour < END; hour += HOUR_MS) {
      await passHour(hour, random, halfYear, receiver, asking)
      await purge()
      const isLast = monthOf(time.now + 1) !== monthOf(time.now)
      if (isLast || (hour - START) % (options.everybodyEveryDays * 24 * HOUR_MS) === 0) await checkLive(truth.viewers())
      if (!isLast) continue
      await endMonth()
      const end = new Date(time.now + 1).toISOString()
      progress(`${end}: ${receiver.plays()} plays, ${worker.figures().failures} failures, ${report.asked} ids requested`)
    }
    failing.clear()
    for (let lap = 0; lap < LAPS * shape.slots; lap++) {
      time.now += HOUR_MS
      await worker.work()
      await purge()
    }
    await checkLive(truth.viewers())
    const left = (await stores.hot.countRing()).reduce((sum, each) => sum + each)
    const writes = truth.writes()
    const { bytes, filters } = await stores.records.measureFilters()
    progress('asking for ids without plays')
    const falsePositives = await probeAll(halfYear, asking, options.probes)
    const expiry = await expire()
    const viewers = truth.viewers().length
    const plays = receiver.plays()
    return { ...report, plays, viewers, worker: worker.figures(), writes, left, expiry, bytes, filters, falsePositives }
  } finally {
    await halfYear.close()
  }
}

/** Runs at the first moment of an hour, in the middle, and at the last. */
async function passHour(hour: number, random: Random, { time, worker }: HalfYear, receiver: Receiver, asking: Asking): Promise<void> {
  for (const moment of [0, HOUR_MS / 2, HOUR_MS - 1]) {
    time.now = hour + moment
    await receiver.receive()
    await asking.checkLive(receiver.recent())
    if (randomBelow(random, 100) === 0) worker.restart()
    await worker.work()
  }
}

type Receiver = ReturnType<typeof makeReceiver>

/** Receives plays as they arrive. */
function makeReceiver({ time, subgraph, truth }: HalfYear, arrivals: readonly Arrival[]) {
  const recent = new Map<ViewerId, number>()
  let next = 0
  let plays = 0

  async function take(arrivals: readonly Arrival[]): Promise<void> {
    await askAll([...Map.groupBy(arrivals, ({ viewer }) => viewer).keys()], async (viewer) => {
      for (const arrival of arrivals) {
        if (arrival.viewer !== viewer) continue
        const playedAt = Math.min(arrival.playedAt, time.now)
        await subgraph.service.recordPlayed({ id: viewer, scopes: [] }, BUSINESS, [arrival.oid], playedAt, new Set())
        truth.note({ ...arrival, at: time.now, playedAt })
        recent.set(viewer, time.now)
        plays++
      }
    })
  }

  return {
    plays: () => plays,
    /** Plays made between two moments arrive at the next one. */
    async receive(): Promise<void> {
      const first = next
      while ((arrivals[next]?.at ?? Infinity) <= time.now) next++
      await take(arrivals.slice(first, next))
    },
    /** Viewers with possibly staged plays. */
    recent(): ViewerId[] {
      for (const [viewer, at] of recent) if (time.now - at > RECENT_HOURS * HOUR_MS) recent.delete(viewer)
      return [...recent.keys()]
    },
  }
}

async function probeAll({ truth }: HalfYear, { probe }: Asking, probes: number): Promise<HalfYearReport['falsePositives']> {
  const light = truth.viewers().filter((viewer) => viewer !== HEAVY && viewer !== MEDIUM)
  return { light: await probe(light, probes), medium: await probe([MEDIUM], probes), heavy: await probe([HEAVY], probes) }
}
