/**
 * How much does the hot tier hold while a million viewers play for a month, and how long does the job of an hour take?
 *
 *     npm run bench -- existence-month [--quick] [--json]
 *
 * Time is simulated, and the job is the real one (`hours.ts`). The plays are in `population.ts`.
 *
 * 1. The month, over its end, on stores in memory (`memory-stores.ts`): entries of the hot tier, plays : filter writes.
 * 2. Hours of the same million viewers on LMDB: bytes of the hot tier's tables, and duration of the job per slot.
 * 3. Hours of fewer viewers on Redis and MariaDB: bytes of Redis, and the duration of the job. Redis expires some keys by its own clock,
 *    two hours after the last fold of a viewer. The benchmark removes them at that simulated time.
 */
import { Redis } from 'ioredis'
import { regionOf } from '../../core/regions.ts'
import { FOLDS_KEPT_MS } from '../../subgraphs/feed-existence/stores/hot-store.ts'
import { makeSeenLayout } from '../../subgraphs/feed-existence/stores/redis/keys.ts'
import { HOUR_MS } from '../../subgraphs/feed-existence/model/time-ring.ts'
import { runHours, type Hour, type HoursReport } from './hours.ts'
import { makeMemoryHot, makeMemoryRecords } from './memory-stores.ts'
import { REGIONS, openDistributedStores, openEmbeddedStores, redisFigure } from './servers.ts'
import { timingsOf } from './viewers.ts'
import type { BenchOptions, Measure } from '../support/report.ts'

const DAY = 24
/** The most seconds for a slot: a tenth of its hour. */
const RUN_MAX_S = 360
const FLAT_MAX = 1.1
const KEPT_HOURS = FOLDS_KEPT_MS / HOUR_MS

export async function bench({ quick, progress }: BenchOptions): Promise<Measure[]> {
  const viewers = quick ? 50_000 : 1_000_000
  progress(`${viewers} viewers for ${quick ? 'four days' : '30 days'}, in memory`)
  const month = await inMemory(viewers, (quick ? 4 : 30) * DAY, progress)
  progress('the same on LMDB')
  const embedded = await onLmdb(viewers, quick ? 2 : DAY)
  progress('fewer on Redis and MariaDB')
  const distributed = await onServers(quick ? 10_000 : 100_000, quick ? 3 : 12)
  return [...month, ...embedded, ...distributed]
}

async function inMemory(viewers: number, hours: number, progress: (text: string) => void): Promise<Measure[]> {
  const [hot, records] = [makeMemoryHot(), makeMemoryRecords()]
  const look = (): number => {
    const { staged, ring } = hot.figures()
    return staged + ring
  }
  const report = await runHours(
    { hot, records },
    {
      ...{ viewers, hours, look, foldsAtOnce: 1 },
      onHour(hour, at) {
        if (at % (5 * DAY) === 0) progress(`day ${at / DAY}: ${hour.before} entries, ${hour.after} after the job`)
      },
    },
  )
  const { filters, bytes } = records.figures()
  const of = `${viewers / 1e6} million viewers, ${hours / DAY} days`
  return [
    { metric: `${of}: plays`, value: report.plays, unit: 'plays' },
    { metric: `${of}: plays : filter writes`, value: report.plays / report.writes, unit: 'ratio' },
    {
      metric: `${of}: filter writes : viewers and hours`,
      value: report.writes / report.viewerHours,
      unit: 'ratio',
      target: 1,
      atMost: true,
    },
    { metric: `${of}: filters closed at the end of the month`, value: report.closed, unit: 'filters' },
    { metric: `${of}: filters`, value: filters, unit: 'filters' },
    { metric: `${of}: bytes of a filter`, value: bytes / filters, unit: 'bytes' },
    ...hotMeasures(of, 'entries', report),
    ...weeks(report.hours).map((entries, week) => ({
      metric: `${of}: most entries in part ${week + 1} of 4`,
      value: entries,
      unit: 'entries',
    })),
    ...runMeasures(of, report, false),
  ]
}

async function onLmdb(viewers: number, hours: number): Promise<Measure[]> {
  const stores = openEmbeddedStores()
  try {
    const report = await runHours(stores, { viewers, hours, look: () => stores.hotFigures().entries })
    const of = `LMDB, ${viewers / 1e6} million viewers, ${hours} hours`
    const { bytes, entries } = stores.hotFigures()
    return [
      { metric: `${of}: entries at the end, the last hour folded`, value: entries, unit: 'entries' },
      { metric: `${of}: bytes of the hot tables at the end`, value: bytes / 1e6, unit: 'MB' },
      ...runMeasures(of, report, true),
    ]
  } finally {
    await stores.close()
  }
}

async function onServers(viewers: number, hours: number): Promise<Measure[]> {
  const stores = await openDistributedStores()
  const redis = new Redis(stores.redisUrl)
  try {
    const used = () => redisFigure(redis, 'memory', 'used_memory')
    const forget = makeForgetting(redis)
    const empty = await used()
    const report = await runHours(stores, { viewers, hours, look: async () => (await used()) - empty, onHour: forget })
    const of = `Redis and MariaDB, ${viewers / 1e6} million viewers, ${hours} hours`
    const most = Math.max(...report.hours.map(({ before }) => before))
    const mostPlays = Math.max(...report.hours.map(({ plays }) => plays))
    return [
      { metric: `${of}: most memory of the hot tier`, value: most / 1e6, unit: 'MB' },
      { metric: `${of}: the same for each play of the busiest hour`, value: most / mostPlays, unit: 'bytes' },
      ...runMeasures(of, report, true),
    ]
  } finally {
    redis.disconnect()
    await stores.close()
  }
}

/** A viewer's key with only the count of folds expires two hours after the last fold. */
function makeForgetting(redis: Redis) {
  const layout = makeSeenLayout('tm', REGIONS)
  const lastFold = new Map<string, number>()
  return async ({ names }: Hour, at: number): Promise<void> => {
    for (const name of names) lastFold.set(name, at)
    const old = [...lastFold].filter(([, hour]) => at - hour >= KEPT_HOURS).map(([name]) => name)
    for (const name of old) lastFold.delete(name)
    const keys = old.map((name) => layout.staged(regionOf(name, REGIONS), name))
    for (let from = 0; from < keys.length; from += 1_000) await redis.unlink(...keys.slice(from, from + 1_000))
  }
}

/** The tier holds at most the plays of the last two hours, and is not larger at the end than at the beginning. */
function hotMeasures(of: string, unit: string, { hours }: HoursReport): Measure[] {
  // Before the first hour there are no plays.
  const shares = hours.slice(1).map(({ before }, at) => before / lastTwo(hours, at + 1))
  const days = Math.floor(hours.length / DAY)
  const peakOf = (from: number, count: number): number => {
    const peaks = Array.from({ length: count }, (_, day) =>
      Math.max(...hours.slice((from + day) * DAY, (from + day + 1) * DAY).map(({ before }) => before)),
    )
    return peaks.reduce((sum, each) => sum + each, 0) / count
  }
  const part = Math.max(1, Math.floor(days / 4))
  return [
    { metric: `${of}: most in the hot tier`, value: Math.max(...hours.map(({ before }) => before)), unit },
    { metric: `${of}: in the hot tier after a run`, value: Math.max(...hours.map(({ after }) => after)), unit, target: 0, atMost: true },
    {
      metric: `${of}: hot tier : plays and viewers of the last two hours`,
      value: Math.max(...shares),
      unit: 'ratio',
      target: 1,
      atMost: true,
    },
    {
      metric: `${of}: daily peak, last quarter : first`,
      value: peakOf(days - part, part) / peakOf(0, part),
      unit: 'ratio',
      target: FLAT_MAX,
      atMost: true,
    },
  ]
}

function lastTwo(hours: readonly Hour[], at: number): number {
  return [hours[at], hours[at - 1]].reduce((sum, hour) => sum + (hour === undefined ? 0 : hour.plays + hour.viewers), 0)
}

function weeks(hours: readonly Hour[]): number[] {
  const size = Math.ceil(hours.length / 4)
  return Array.from({ length: 4 }, (_, part) => Math.max(...hours.slice(part * size, (part + 1) * size).map(({ before }) => before)))
}

function runMeasures(of: string, { hours }: HoursReport, isReal: boolean): Measure[] {
  const { p50Ms } = timingsOf(hours.map(({ runMs }) => runMs))
  const worst = hours.reduce((most, hour) => (hour.runMs > most.runMs ? hour : most))
  const viewers = hours.reduce((sum, hour) => sum + hour.viewers, 0)
  return [
    { metric: `${of}: job of a slot, p50`, value: p50Ms / 1_000, unit: 's' },
    {
      metric: `${of}: job of a slot, the longest`,
      value: worst.runMs / 1_000,
      unit: 's',
      ...(isReal ? { target: RUN_MAX_S, atMost: true } : {}),
    },
    { metric: `${of}: viewers of that slot`, value: worst.viewers, unit: 'viewers' },
    { metric: `${of}: CPU of the job`, value: (1_000 * hours.reduce((sum, hour) => sum + hour.runCpuMs, 0)) / viewers, unit: 'µs/viewer' },
  ]
}
