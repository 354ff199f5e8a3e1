/**
 * Half a year in simulated time, from mid September into the next year, with three viewers. The worker fails sometimes: once, twice, or for
 * a whole lap of the ring, at any of its calls, before or after the execution. In every hour each recorded play of a live month must be
 * hidden. After its live months it must come back.
 */
import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../../core/clock.ts'
import { makeTurns } from '../../../../core/event-loop-yield.ts'
import { complete } from '../../../../core/outage/degraded.ts'
import { TidemarkError } from '../../../../core/errors.ts'
import { makeFold } from '../../../../subgraphs/feed-existence/fold/fold.ts'
import { randomBelow, seededRandom, type Random } from '../../../../core/random.ts'
import { expiryOf } from '../../../../subgraphs/feed-existence/filter/expiry.ts'
import { rateOfEach } from '../../../../subgraphs/feed-existence/filter/filter.ts'
import { monthOf } from '../../../../subgraphs/feed-existence/model/time-ring.ts'
import type { PlayLog } from '../../../../subgraphs/feed-existence/stores/play-log.ts'
import { makeFolding, type Folding } from '../../../../subgraphs/feed-existence/fold/folding.ts'
import { makeExistenceSubgraph } from '../../../../subgraphs/feed-existence/index.ts'
import { makeSeenRecordsState, openModelSeenRecords } from '../../../../harness/models/feed-existence/record-store-model.ts'
import { makeSeenState, makeSeenStoreModel } from '../../../../harness/models/feed-existence/hot-store-model.ts'
import { DAY, HOUR, REGIONS, SHAPE, seenConfig, viewerOf } from '../opened.ts'

const START = Date.UTC(2026, 8, 15)
const END = Date.UTC(2027, 2, 15)
const VIEWERS = [
  { id: '1', playsPerDay: 25 },
  { id: 'medium', playsPerDay: 4 },
  { id: '3', playsPerDay: 0.2 },
]
const WORKER_CALLS = new Set(['filledShards', 'listRing', 'getRingLayouts', 'readStaged', 'removeStaged', 'getFilters', 'putFilters'])

/** The hours in which the worker fails. On most days there are none, on some one, two, or one more than the slots of the ring. */
function hoursOfFailure(random: Random): Set<number> {
  const failing = new Set<number>()
  for (let day = START / DAY; day < END / DAY; day++) {
    const begins = day * 24 + randomBelow(random, 24)
    const length = [0, 0, 1, 2, SHAPE.slots + 1][randomBelow(random, 5)] as number
    for (let hour = 0; hour < length; hour++) failing.add(begins + hour)
  }
  // The ends of months and of the year always fail.
  for (const end of [Date.UTC(2026, 10, 1), Date.UTC(2027, 0, 1)]) for (let hour = -2; hour < 5; hour++) failing.add(end / HOUR + hour)
  return failing
}

describe('half a year of plays', () => {
  test.each([1])(
    'with any failures, no play comes back in its live months, and every play does after them (seed %d)',
    async (seed) => {
      const random = seededRandom(seed)
      let now = START
      const clock: Clock = { now: () => now, after: () => ({ cancel() {} }) }
      const hot = makeSeenStoreModel(REGIONS, SHAPE, makeSeenState())
      const records = openModelSeenRecords(makeSeenRecordsState())
      const log = { appendPlays: () => Promise.reject(new Error('nothing is logged')) } as unknown as PlayLog
      const subgraph = makeExistenceSubgraph(
        clock,
        { hot, log, records },
        seenConfig({ stagedMax: 60 }),
        (error) => expect(error).toBe(undefined),
        {
          random,
        },
      )
      const failing = hoursOfFailure(random)
      let failures = 0
      /** The stores of the worker, with failures. */
      function faulty<T extends object>(store: T): T {
        const entries = Object.entries(store).map(([method, call]) => [
          method,
          !WORKER_CALLS.has(method)
            ? call
            : async (...args: unknown[]) => {
                const fails = failing.has(Math.floor(now / HOUR)) && random() < 0.4
                // Half of the failed calls were executed, and only the answer was lost.
                if (fails && random() < 0.5) throw lost()
                const answer = await (call as (...given: unknown[]) => unknown)(...args)
                if (fails) throw lost()
                return answer
              },
        ])
        return Object.fromEntries(entries) as T
      }
      function lost(): TidemarkError {
        failures++
        return new TidemarkError('RECORD_STORE_UNAVAILABLE', 'the answer of the test was lost')
      }
      const worker = { hot: faulty(hot), records: faulty(records) }
      const { fold } = makeFold(worker, {
        rate: rateOfEach(0.01, 4),
        isOver: (month) => month < monthOf(now),
        expiryOf: (month) => expiryOf(month, { fromHour: 0, hours: 5, utcOffsetMinutes: 0 }, random),
      })
      const startWorker = (): Folding =>
        makeFolding(
          clock,
          worker.hot,
          fold,
          () => [0, 1],
          { shape: SHAPE, regions: REGIONS, settleMs: 60_000, keysMax: 2, foldsAtOnce: 2, nextTurn: makeTurns() },
          (error) => expect(error).toBe(undefined),
        )
      let folding = startWorker()

      const played = new Map(VIEWERS.map(({ id }) => [id, new Map<string, number>()]))
      let plays = 0
      let checked = 0

      async function play(viewer: string): Promise<void> {
        const known = played.get(viewer) as Map<string, number>
        // Ids of all kinds, sometimes repeated, sometimes from a device that was offline.
        const id =
          random() < 0.05 ? String(randomBelow(random, 500)) : plays % 3 === 0 ? `BV${plays}xxxxxxxxxxxxxxxxxxx` : String(1e9 + plays)
        const late = random() < 0.05 ? randomBelow(random, 40 * DAY) : 0
        const playedAt = Math.max(now - late, START)
        plays++
        await subgraph.service.recordPlayed(viewerOf(viewer), 'video', [id], playedAt, new Set())
        known.set(id, Math.max(playedAt, known.get(id) ?? 0))
      }

      async function check(viewer: string): Promise<void> {
        const oldest = monthOf(now) - 3
        const live = [...(played.get(viewer) ?? [])].filter(([, playedAt]) => monthOf(playedAt) >= oldest).map(([id]) => id)
        const { ids } = await complete((without) => subgraph.service.unseen(viewerOf(viewer, 'existence:bulk'), 'video', live, [], without))
        expect({ at: new Date(now).toISOString(), viewer, ids }).toEqual({ at: new Date(now).toISOString(), viewer, ids: [] })
        checked += live.length
      }

      for (let hour = START; hour < END; hour += HOUR) {
        // The first and the last millisecond of an hour, and one between.
        const moments = [0, randomBelow(random, HOUR), HOUR - 1].sort((a, b) => a - b)
        for (const moment of moments) {
          now = hour + moment
          for (const { id, playsPerDay } of VIEWERS) {
            if (random() < playsPerDay / 24 / moments.length) await play(id)
          }
          if (moment === HOUR - 1 && random() < 0.1) for (let i = 0; i < 3; i++) await play('1')
          await check((VIEWERS[randomBelow(random, 3)] as { id: string }).id)
          if (random() < 0.01) folding = startWorker()
          // A failed step is retried in the same hour, and fails again until the hour ends.
          await folding.round().catch(() => undefined)
          await records.purgeExpired(now, 10)
        }
        if (hour % DAY === 0) for (const { id } of VIEWERS) await check(id)
      }
      expect(plays).toBeGreaterThan(4_500)
      expect(failures).toBeGreaterThan(1_000)
      expect(checked).toBeGreaterThan(1_000_000)

      // Without failures, staging is empty within two laps.
      failing.clear()
      for (let lap = 0; lap < 2 * SHAPE.slots; lap++) {
        now += HOUR
        await folding.round()
      }
      expect((await hot.countRing()).reduce((sum, each) => sum + each)).toBe(0)
      for (const { id } of VIEWERS) await check(id)

      const over = [...(played.get('1') ?? [])].filter(([, playedAt]) => monthOf(playedAt) < monthOf(now) - 3).map(([id]) => id)
      const { ids: back } = await complete((without) =>
        subgraph.service.unseen(viewerOf('1', 'existence:bulk'), 'video', over, [], without),
      )
      expect(over.length).toBeGreaterThan(1_000)
      expect(back.length / over.length).toBeGreaterThan(0.98)
      // In the sixth month after, the first filters expire.
      now = Date.UTC(2027, 3, 1)
      while ((await records.purgeExpired(now, 10)) > 0) continue
      expect((await records.listFilters(['1']))[0]?.map(({ month }) => month)).toEqual(
        [-6, -5, -4, -3, -2, -1].map((b) => monthOf(now) + b),
      )
      await subgraph.drain()
    },
    240_000,
  )
})
