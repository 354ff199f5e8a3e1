/**
 * The half year: embedded stores, the subgraph as it is, a worker that fails, and a clock that is a parameter. At the first
 * moment of each hour, in the middle, and at the last: plays arrive, whoever may have something staged asks for all that he has
 * played in live months, and the worker does what is due. Every day all viewers ask, and on both sides of each end of a month: a
 * millisecond before it the oldest live month is hidden, and a millisecond later it comes back.
 */
import { randomBelow, seededRandom } from '../../core/random.ts'
import { complete } from '../../core/outage/degraded.ts'
import type { Clock } from '../../core/clock.ts'
import { makeConfig } from '../../config/config.ts'
import { ringOf } from '../../config/feed-existence.ts'
import type { Month, ViewerId } from '../../core/domain.ts'
import { HOUR_MS, beginningOf, monthOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import { openEnvironment } from '../../stores/lmdb/environment.ts'
import { openLmdbPlayLog } from '../../subgraphs/feed-existence/stores/lmdb/play-log.ts'
import { openLmdbSeenRecords } from '../../subgraphs/feed-existence/stores/lmdb/record-store.ts'
import { openLmdbSeenStore } from '../../subgraphs/feed-existence/stores/lmdb/hot-store.ts'
import { makeExistenceSubgraph } from '../../subgraphs/feed-existence/index.ts'
import { END, HEAVY, MEDIUM, START, planHalfYear, type Arrival, type Row } from './plan.ts'
import { makeTruth } from './truth.ts'
import { hoursOfFailure, makeWorker } from './worker.ts'

export type HalfYearOptions = {
  /** Of the stores; empty. */
  folder: string
  seed: number
  /** Every viewer asks once in so many days. */
  everybodyEveryDays: number
  /** Ids that nobody has played, asked for by each kind of viewer in the end. */
  probes: number
  progress(text: string): void
}

export type HalfYearReport = {
  plays: number
  viewers: number
  /** Recorded ids of live months that were asked for, and sentences about those that came back. */
  asked: number
  cameBack: string[]
  /** Ids whose months were over: asked for a millisecond before, and after; those still hidden then, which are false positives. */
  ending: { hiddenBefore: number; shownBefore: number; shownAfter: number; hiddenAfter: number }
  worker: { runs: number; failures: number; refused: number; closed: number }
  writes: { all: number; tooMany: number; closings: number }
  /** Left in the ring after a lap without failures. */
  left: number
  /** The first month's filters: that were purged, that there were, that went before their month or idle hours, that are left. */
  expiry: { purged: number; expected: number; outside: number; after: number }
  bytes: number
  filters: number
  /** Share of ids never played that are hidden. */
  falsePositives: Record<'light' | 'medium' | 'heavy', { probes: number; hidden: number }>
}

const REGIONS = 2
const BUSINESS = 'video'
const CANDIDATES = 10_000
/** Hours in which something of a viewer may still be staged, whatever failed: two laps. */
const RECENT_HOURS = 12
const SENTENCES_MAX = 20
const ASKING_AT_ONCE = 64
const PURGE_MAX = 500
const LAPS = 2
/** Larger than any id that is recorded. */
const PROBED_FROM = 1e12
const FIRST_MONTH = monthOf(START)
/** The last filter of a night expires before it, and is purged within the hour. */
const IDLE_UNTIL_HOUR = 5
const BUSINESSES = [{ number: 1, name: BUSINESS, entity: 'Video' }]

export async function replayHalfYear(rows: readonly Row[], options: HalfYearOptions): Promise<HalfYearReport> {
  const { folder, progress } = options
  const random = seededRandom(options.seed)
  const config = makeConfig([
    { name: 'half year', values: { stores: { regions: REGIONS }, existence: { shards: 2 * REGIONS }, businesses: BUSINESSES } },
  ])
  const shape = ringOf(config)
  let now = START
  const clock: Clock = { now: () => now, after: () => ({ cancel() {} }) }
  const environment = openEnvironment(folder, { regions: REGIONS, sizeMaxGb: 8 })
  const log = openLmdbPlayLog(environment, clock)
  const stores = { hot: openLmdbSeenStore(environment, shape), log, records: openLmdbSeenRecords(environment) }
  const subgraph = makeExistenceSubgraph(clock, stores, config, raise, { random })
  const failing = hoursOfFailure(random, START, END, shape.slots)
  const truth = makeTruth()
  const worker = makeWorker(clock, stores, config, random, failing, truth.written)
  const { monthsBefore } = config.existence

  const report = { asked: 0, cameBack: [] as string[], ending: { hiddenBefore: 0, shownBefore: 0, shownAfter: 0, hiddenAfter: 0 } }
  const recent = new Map<ViewerId, number>()
  const purged = { purged: 0, outside: 0 }
  let plays = 0

  async function unseen(viewer: ViewerId, candidates: readonly string[]): Promise<string[]> {
    const ids: string[] = []
    for (let at = 0; at < candidates.length; at += CANDIDATES) {
      const some = candidates.slice(at, at + CANDIDATES)
      ids.push(
        ...(await complete((without) => subgraph.service.unseen({ id: viewer, scopes: ['existence:bulk'] }, BUSINESS, some, [], without)))
          .ids,
      )
    }
    return ids
  }

  async function askAll(viewers: readonly ViewerId[], ask: (viewer: ViewerId) => Promise<void>): Promise<void> {
    for (let at = 0; at < viewers.length; at += ASKING_AT_ONCE) await Promise.all(viewers.slice(at, at + ASKING_AT_ONCE).map(ask))
  }

  async function checkLive(viewers: readonly ViewerId[]): Promise<void> {
    const oldest = monthOf(now) - monthsBefore
    await askAll(viewers, async (viewer) => {
      const live = truth.idsOf(viewer, (month) => month >= oldest)
      if (live.length === 0) return
      report.asked += live.length
      const back = await unseen(viewer, live)
      if (back.length > 0 && report.cameBack.length < SENTENCES_MAX)
        report.cameBack.push(`at ${new Date(now).toISOString()} viewer ${viewer} is shown ${back.join()} again`)
    })
  }

  /** Of the month that is about to end, or has just ended. */
  async function askEnding(month: Month): Promise<{ hidden: number; shown: number }> {
    const sum = { hidden: 0, shown: 0 }
    await askAll(truth.viewers(), async (viewer) => {
      const ids = truth.idsOf(viewer, (each) => each === month)
      if (ids.length === 0) return
      const shown = (await unseen(viewer, ids)).length
      sum.shown += shown
      sum.hidden += ids.length - shown
    })
    return sum
  }

  async function receive(arrivals: readonly Arrival[]): Promise<void> {
    await askAll([...Map.groupBy(arrivals, ({ viewer }) => viewer).keys()], async (viewer) => {
      for (const arrival of arrivals) {
        if (arrival.viewer !== viewer) continue
        const playedAt = Math.min(arrival.playedAt, now)
        await subgraph.service.recordPlayed({ id: viewer, scopes: [] }, BUSINESS, [arrival.oid], playedAt, new Set())
        truth.note({ ...arrival, at: now, playedAt })
        recent.set(viewer, now)
        plays++
      }
    })
  }

  async function purge(): Promise<void> {
    for (let gone = PURGE_MAX; gone > 0;) {
      gone = await stores.records.purgeExpired(now, PURGE_MAX)
      purged.purged += gone
      if (now < beginningOf(FIRST_MONTH + 6) || new Date(now).getUTCHours() > IDLE_UNTIL_HOUR) purged.outside += gone
    }
  }

  async function endMonth(): Promise<void> {
    const ending = monthOf(now) - monthsBefore
    const before = await askEnding(ending)
    report.ending.hiddenBefore += before.hidden
    report.ending.shownBefore += before.shown
    now += 1
    const after = await askEnding(ending)
    report.ending.hiddenAfter += after.hidden
    report.ending.shownAfter += after.shown
    now -= 1
  }

  try {
    const arrivals = planHalfYear(rows)
    let next = 0
    for (let hour = START; hour < END; hour += HOUR_MS) {
      for (const moment of [0, HOUR_MS / 2, HOUR_MS - 1]) {
        now = hour + moment
        const first = next
        // What arrives in between arrives at the next of these moments.
        while ((arrivals[next]?.at ?? Infinity) <= now) next++
        await receive(arrivals.slice(first, next))
        for (const [viewer, at] of recent) if (now - at > RECENT_HOURS * HOUR_MS) recent.delete(viewer)
        await checkLive([...recent.keys()])
        if (randomBelow(random, 100) === 0) worker.restart()
        await worker.work()
      }
      await purge()
      const isLast = monthOf(now + 1) !== monthOf(now)
      if (isLast || (hour - START) % (options.everybodyEveryDays * 24 * HOUR_MS) === 0) await checkLive(truth.viewers())
      if (isLast) {
        await endMonth()
        progress(`${new Date(now + 1).toISOString()}: ${plays} plays, ${worker.figures().failures} failures, ${report.asked} ids asked for`)
      }
    }
    failing.clear()
    for (let lap = 0; lap < LAPS * shape.slots; lap++) {
      now += HOUR_MS
      await worker.work()
      await purge()
    }
    await checkLive(truth.viewers())
    const left = (await stores.hot.countRing()).reduce((sum, each) => sum + each)
    const writes = truth.writes()
    const { bytes, filters } = await stores.records.measureFilters()
    progress('asking for what nobody has played')
    const light = truth.viewers().filter((viewer) => viewer !== HEAVY && viewer !== MEDIUM)
    const falsePositives = {
      light: await probe(light),
      medium: await probe([MEDIUM]),
      heavy: await probe([HEAVY]),
    }
    const expiry = await expire()
    const viewers = truth.viewers().length
    return { ...report, plays, viewers, worker: worker.figures(), writes, left, expiry, bytes, filters, falsePositives }
  } finally {
    await subgraph.drain()
    await log.close()
    await environment.close()
  }

  /** Ids that no row has; in as many calls as there are viewers, but of no more than a call may ask for. */
  async function probe(viewers: readonly ViewerId[]): Promise<{ probes: number; hidden: number }> {
    const size = Math.min(CANDIDATES, Math.ceil(options.probes / viewers.length))
    let [probes, hidden] = [0, 0]
    while (probes < options.probes) {
      await askAll(viewers, async (viewer) => {
        if (probes >= options.probes) return
        const ids = Array.from({ length: size }, (_, place) => String(PROBED_FROM + probes + place))
        probes += size
        hidden += size - (await unseen(viewer, ids)).length
      })
    }
    return { probes, hidden }
  }

  /** On to the end of the month in which the first month's filters go. */
  async function expire(): Promise<HalfYearReport['expiry']> {
    for (; now < beginningOf(FIRST_MONTH + 7); now += HOUR_MS) await purge()
    const expected = truth.viewers().filter((viewer) => truth.hasPlayedIn(viewer, FIRST_MONTH)).length
    return { ...purged, expected, after: await countFilters(FIRST_MONTH) }
  }

  async function countFilters(month: Month): Promise<number> {
    const all = truth.viewers()
    let count = 0
    for (let at = 0; at < all.length; at += PURGE_MAX) {
      const found = await stores.records.getFilters(all.slice(at, at + PURGE_MAX).map((viewer) => ({ viewer, month })))
      count += found.filter((each) => each !== undefined).length
    }
    return count
  }
}

function raise(error: unknown): void {
  throw error
}
