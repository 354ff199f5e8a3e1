/**
 * Rewards in every zone of the tz database, around both changes of its clocks: whatever the device and the business, each date of the
 * zone is earned once. Each zone has viewers and services of its own, on one pair of embedded stores.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeBusinesses } from '../../../config/businesses.ts'
import { makeConfig } from '../../../config/config.ts'
import { makeRewardRules } from '../../../config/reward-rules.ts'
import type { Clock } from '../../../core/clock.ts'
import { dateOf } from '../../../core/days.ts'
import { REWARD_KINDS, rewardOf } from '../../../core/rewards.ts'
import type { RewardEvent } from '../../../core/domain.ts'
import { makeDayRewards } from '../../../subgraphs/feed-existence/write/rewards.ts'
import { makeHistoryService } from '../../../subgraphs/history/write/service.ts'
import { changesOf, localDateOf, midnightBefore, nextMidnight, TZ_ZONES } from '../../support/time-zones.ts'
import { makeAggregator } from '../../../writeback/aggregator.ts'
import { BOTH_SHAPES } from '../feed-existence/with-history.ts'

const HOUR = 3_600_000
const REGIONS = 4
const YEAR = [Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)] as const
/** Zones that once skipped a date, with a moment before it. */
const SKIPPED = [
  ['Pacific/Apia', Date.UTC(2011, 11, 29, 23)],
  ['Pacific/Kwajalein', Date.UTC(1993, 7, 20, 23)],
] as const

type Run = { timeZone: string; moments: readonly number[] }

/** Both ends of the day with a change of the clocks, and the change. */
function momentsOf(timeZone: string, change: number): number[] {
  const [begin, end] = [midnightBefore(timeZone, change), nextMidnight(timeZone, change)]
  return [begin - 1, begin, change, end - 1, end]
}

const RUNS: Run[] = [
  ...TZ_ZONES.map((timeZone) => {
    const changes = changesOf(timeZone, ...YEAR)
    return { timeZone, moments: (changes.length > 0 ? changes : [YEAR[0] + 4_000 * HOUR]).flatMap((at) => momentsOf(timeZone, at)) }
  }),
  ...SKIPPED.map(([timeZone, before]) => ({ timeZone, moments: momentsOf(timeZone, nextMidnight(timeZone, before)) })),
]

const [{ open } = { open: undefined }] = BOTH_SHAPES
let stores: Awaited<ReturnType<NonNullable<typeof open>>>
beforeAll(async () => {
  stores = await open!()
})
afterAll(() => stores.close())

/** Two processes with the configured rewards of this zone. */
function startZone(timeZone: string, setting: 'business' | 'viewer', clock: Clock) {
  const kinds = { firstView: setting, firstPlay: setting, firstIssue: setting }
  const config = makeConfig([{ name: 'test', values: { rewards: { timeZone, ...kinds }, stores: { regions: REGIONS } } }])
  const businesses = makeBusinesses(config.businesses)
  const rules = makeRewardRules(config.rewards, businesses)
  const rewards: RewardEvent[] = []
  const take = (events: readonly RewardEvent[]): void => void rewards.push(...events)
  const aggregator = makeAggregator(clock, () => undefined, { keysMax: 1_000, ageMaxMs: 1_000, heldMax: 1_000 })
  const options = { regions: REGIONS, timelineCap: 10, rules }
  const [one, two] = [0, 1].map(() => makeHistoryService(clock, businesses, stores.hot, stores.records, aggregator, take, options))
  const days = makeDayRewards(stores.seenHot, stores.log, rules, () => undefined)

  async function report(service: typeof one, id: string, business: string): Promise<void> {
    await service?.report({ id, scopes: [] }, [{ business, id: '1', position: 60_000 }], new Set())
  }
  async function issue(viewer: string, business: number): Promise<void> {
    const { claim, reward } = days.checkIssue({ viewer, business }, clock.now(), undefined)
    const issued = { now: clock.now(), cap: 10, minAgeMs: 0, hardCap: 10, ttlMs: HOUR, ...claim }
    if ((await stores.seenHot.putIssued(viewer, business, ['1'], issued)) && reward !== undefined) take([reward])
  }
  async function play(viewer: string, business: number): Promise<void> {
    const plays = days.withDays([{ viewer, business, oid: '1', playedAt: clock.now() }], clock.now())
    const [staged] = await stores.seenHot.stagePlays(plays, { now: clock.now(), slot: 0 })
    take((staged?.firsts ?? []).map((first) => rewardOf(viewer, first.business, first.day, 'FIRST_PLAY')))
  }
  return {
    rewards,
    async callAll(viewer: string): Promise<void> {
      const video = [report(one, viewer, 'video'), report(two, viewer, 'video'), issue(viewer, 1), issue(viewer, 1), play(viewer, 1)]
      await Promise.all([...video, report(two, viewer, 'article'), issue(viewer, 2), play(viewer, 2), play(viewer, 2)])
    },
  }
}

describe('rewards in every zone', () => {
  test('each date of a zone is earned once per business, or once per viewer, for each kind', async () => {
    let now = 0
    const clock: Clock = { now: () => now, after: () => ({ cancel: () => undefined }) }
    const zones = (['business', 'viewer'] as const).flatMap((setting) =>
      RUNS.map((run, at) => ({ ...run, ...startZone(run.timeZone, setting, clock), setting, viewer: `${setting}-${at}` })),
    )
    // All zones share one time, as in reality: flags of past days expire.
    for (now of [...new Set(RUNS.flatMap(({ moments }) => moments))].toSorted((a, b) => a - b)) {
      await Promise.all(zones.filter(({ moments }) => moments.includes(now)).map(({ callAll, viewer }) => callAll(viewer)))
    }
    for (const { timeZone, moments, rewards, setting } of zones) {
      const dates = [...new Set(moments.map((moment) => localDateOf(timeZone, moment)))]
      const expected = dates.flatMap((date) => (setting === 'viewer' ? [`${date} 0`] : [`${date} 1`, `${date} 2`])).toSorted()
      for (const kind of REWARD_KINDS) {
        const earned = rewards.filter((each) => each.kind === kind).map(({ business, day }) => `${dateOf(day)} ${business}`)
        expect([timeZone, setting, kind, ...earned.toSorted()]).toEqual([timeZone, setting, kind, ...expected])
      }
    }
  })
})
