import { describe, expect, test } from 'vitest'
import type { RewardEvent } from '../../../core/domain.ts'
import { beginningOf, monthOf } from '../../../subgraphs/feed-existence/model/time-ring.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'
import { closedAfterEach } from './closed-after-each.ts'
import { DAY, HOUR, openSeen, runOf, seenConfig, serveSeen, settle, viewerOf } from './opened.ts'
import { until } from '../../../harness/until.ts'

const BULK = 'existence:bulk'
const { closing, open, startJob } = closedAfterEach()

const UNSEEN = `query ($business: String!, $candidates: [ID!]!, $exclude: [ID!]) {
  unseen(business: $business, candidates: $candidates, exclude: $exclude) { ids droppedIssued droppedStaged droppedFiltered } }`

test('a job whose clock is behind the clock of the service drops no acknowledged play', async () => {
  const { opened } = open()
  const behind = { ...opened, clock: makeSteppedClock(opened.clock.now() - HOUR) }
  const other = serveSeen(behind)
  closing.push(other.stop)
  // The service acknowledged this play, by its own clock, during an outage of the hot store, and died.
  const job = await startJob(opened, other)
  await opened.plain.log.appendPlays([{ viewer: '7', business: 1, oid: 'a', playedAt: opened.clock.now() }])
  opened.clock.advance(1_000)
  await until('the started work has ended', () => job.figures().staged + job.figures().refusedPlays === 1)
  expect(job.figures().refusedPlays).toBe(0)
  expect((await opened.plain.hot.getSeen('7', 1)).staged).toEqual([{ oid: 'a', playedAt: behind.clock.now() }])
})

test('a play of an unconfigured business in the log is refused, counted, and earns nothing', async () => {
  const opened = openSeen()
  const paid: RewardEvent[] = []
  const served = serveSeen(opened, seenConfig(), {
    ...opened.stores,
    rewards: { appendRewards: async (events) => void paid.push(...events) },
  })
  closing.push(opened.close, served.stop)
  const playedAt = opened.clock.now()
  await opened.plain.log.appendPlays([999, 1].map((business) => ({ viewer: '7', business, oid: 'x', playedAt })))
  const job = await startJob(opened, served)
  await until('the started work has ended', () => job.figures().staged === 1 && job.figures().refusedPlays === 1)
  await until('the started work has ended', () => paid.length > 0)
  expect(paid.map(({ business }) => business)).toEqual([1])
  expect((await opened.plain.hot.getSeen('7', 999)).staged).toEqual([])
})

describe('the unseen subjects', () => {
  test('come in the order of the candidates, each once, without excluded, issued, staged or filtered ones', async () => {
    const { opened, served } = open()
    const job = await startJob(opened, served)
    await served.play('7', ['filtered', 'both'])
    await served.afterHours(job)
    await served.ask('mutation { recordIssued(input: { business: "video", ids: ["issued", "both"] }) { recorded } }', viewerOf('7'))
    await served.play('7', ['staged'])
    const candidates = ['d', 'staged', 'b', 'issued', 'd', 'filtered', 'both', 'not', 'a', 'b']
    const answer = await served.ask(UNSEEN, viewerOf('7'), { business: 'video', candidates, exclude: ['not', 'other'] })
    expect(answer).toEqual({
      data: { unseen: { ids: ['d', 'b', 'a'], droppedIssued: 2, droppedStaged: 1, droppedFiltered: 1 } },
      errors: [],
      degraded: [],
    })
    expect(served.errors).toEqual([])
  })

  test('depend on the business and on the viewer', async () => {
    const { opened, served } = open()
    const job = await startJob(opened, served)
    await served.play('7', ['1', '2'])
    await served.afterHours(job)
    expect(await served.unseen('7', ['1', '2', '3'])).toEqual(['3'])
    expect(await served.unseen('7', ['1', '2', '3'], 'article')).toEqual(['1', '2', '3'])
    expect(await served.unseen('8', ['1', '2', '3'])).toEqual(['1', '2', '3'])
  })

  test('are returned for up to 500 candidates of a viewer, 10,000 with the scope, and a refusal names the limit', async () => {
    const { served } = open()
    const candidates = (count: number) => Array.from({ length: count }, (_, id) => String(id))
    const ask = (count: number, exclude: number, ...scopes: string[]) =>
      served.ask(UNSEEN, viewerOf('7', ...scopes), { business: 'video', candidates: candidates(count), exclude: candidates(exclude) })
    expect((await ask(500, 0)).data.unseen.ids).toHaveLength(500)
    expect((await ask(501, 0)).errors).toEqual([
      {
        code: 'CANDIDATES_TOO_MANY',
        message: '501 candidates are too many: send at most 500 per call, or use a token with scope existence:bulk for up to 10000',
      },
    ])
    expect((await ask(1, 501)).errors[0]?.code).toBe('CANDIDATES_TOO_MANY')
    expect((await ask(10_000, 10, BULK)).data.unseen.ids).toHaveLength(9_990)
    expect((await ask(10_001, 0, BULK)).errors[0]).toEqual({
      code: 'CANDIDATES_TOO_MANY',
      message: '10001 candidates are too many: send at most 10000 per call',
    })
  })

  test('are refused with a code for an unknown business, an invalid id and an anonymous caller', async () => {
    const { served } = open()
    const ask = async (business: string, candidates: string[], viewer?: ReturnType<typeof viewerOf>) =>
      (await served.ask(UNSEEN, viewer, { business, candidates })).errors[0]?.code
    expect(await ask('vidoe', ['1'], viewerOf('7'))).toBe('BUSINESS_UNKNOWN')
    expect(await ask('video', ['1', 'x'.repeat(65)], viewerOf('7'))).toBe('ID_INVALID')
    expect(await ask('video', ['1'])).toBe('UNAUTHENTICATED')
  })

  test('need one read of a viewer’s filters, even if there are none, until the viewer is folded again', async () => {
    const { opened, served } = open()
    const job = await startJob(opened, served)
    await served.unseen('7', ['1'])
    await served.unseen('7', ['1'])
    expect(opened.count('records.getFilters')).toBe(1)
    await served.play('7', ['1'])
    await served.afterHours(job)
    opened.calls.length = 0
    expect(await served.unseen('7', ['1', '2'])).toEqual(['2'])
    expect(await served.unseen('7', ['1', '2'])).toEqual(['2'])
    expect([opened.count('records.getFilters'), opened.count('hot.getSeenMany')]).toEqual([1, 2])
    expect(served.subgraph.figures().cache).toMatchObject({ entries: 1 })
  })
})

describe('a recorded subject', () => {
  test('is left out by the next request', async () => {
    const { served } = open()
    const issue = 'mutation { recordIssued(input: { business: "video", ids: ["1", "1"] }) { recorded } }'
    expect((await served.ask(issue, viewerOf('7'))).data).toEqual({ recordIssued: { recorded: true } })
    const play = 'mutation { recordPlayed(input: { business: "video", ids: ["2", "2", "3"] }) { recordedCount visible } }'
    expect((await served.ask(play, viewerOf('7'))).data).toEqual({ recordPlayed: { recordedCount: 2, visible: true } })
    expect(await served.unseen('7', ['1', '2', '3', '4'])).toEqual(['4'])
  })

  test('that is issued stays while it is among the last ones up to the cap, or younger than the least age', async () => {
    const { opened, served } = open({}, { issuedCap: 3, issuedMinAgeMs: 60_000, issuedHardCap: 5 })
    const issue = (...ids: string[]) => served.subgraph.service.recordIssued(viewerOf('7'), 'video', ids, new Set())
    await issue('1', '2')
    opened.clock.advance(30_000)
    await issue('3', '4')
    expect(await served.unseen('7', ['1', '2', '3', '4'])).toEqual([])
    opened.clock.advance(40_000)
    await issue('5')
    expect(await served.unseen('7', ['1', '2', '3', '4', '5'])).toEqual(['1', '2'])
  })

  test('that is issued is forgotten once nothing was issued to the viewer for a week, and not before', async () => {
    const { opened, served } = open({}, { issuedTtlMs: 7 * DAY })
    await startJob(opened, served)
    const issue = (viewer: string, id: string) => served.subgraph.service.recordIssued(viewerOf(viewer), 'video', [id], new Set())
    const over = opened.clock.now() + 7 * DAY
    await issue('7', 'a')
    await issue('8', 'a')
    opened.clock.advance(5 * DAY)
    await issue('8', 'b')
    opened.clock.advance(2 * DAY - HOUR)
    await until('the issued subject is forgotten', async () => {
      opened.clock.advance(5 * 60_000)
      return (await served.unseen('7', ['a', 'c'])).length === 2
    })
    expect(opened.clock.now()).toBeGreaterThan(over)
    expect(await served.unseen('8', ['a', 'b', 'c'])).toEqual(['c'])
  })

  test.each([
    ['before the oldest live month', beginningOf(monthOf(Date.UTC(2026, 4, 20)) - 3) - 1],
    ['too far ahead', Date.UTC(2026, 4, 20, 10, 35) + 1],
    ['no time', 0.5],
  ])('is refused as a play: %s', async (_, playedAt) => {
    const { served } = open()
    await expect(served.play('7', ['1'], playedAt)).rejects.toMatchObject({ code: 'PLAYED_AT_INVALID' })
    const noNumber = 'mutation { recordPlayed(input: { business: "video", ids: ["1"], playedAt: "x" }) { visible userErrors { code } } }'
    expect(await served.ask(noNumber, viewerOf('7'))).toMatchObject({
      data: { recordPlayed: { visible: false, userErrors: [{ code: 'PLAYED_AT_INVALID' }] } },
      errors: [],
    })
    await expect(served.play('7', ['1'], Date.UTC(2026, 4, 20) / 1_000)).rejects.toThrow(/is in seconds, .*: send milliseconds/)
    expect(await served.unseen('7', ['1'])).toEqual(['1'])
  })

  test('played in an old live month goes into the filter of that month, and is forgotten with it', async () => {
    const { opened, served } = open()
    const job = await startJob(opened, served)
    await served.play('7', ['old'], beginningOf(monthOf(opened.clock.now()) - 3))
    await served.play('7', ['new'])
    await served.afterHours(job)
    const [stored] = await opened.plain.records.listFilters(['7'])
    expect(stored?.map(({ month }) => month)).toEqual([-3, 0].map((back) => monthOf(opened.clock.now()) + back))
    expect(await served.unseen('7', ['old', 'new'])).toEqual([])
    opened.clock.advance(12 * DAY)
    expect(await served.unseen('7', ['old', 'new'])).toEqual(['old'])
  })

  test('played by a device whose clock is ahead in the next month is seen at all times', async () => {
    const start = Date.UTC(2026, 4, 31, 23, 58)
    const { opened, served } = open({ start }, { stagedMax: 1 })
    await startJob(opened, served)
    // Two staged plays are above the limit, and are folded at once, before their month has begun.
    await served.play('7', ['1', '2'], start + 4 * 60_000)
    await until('the started work has ended', () => served.subgraph.figures().staging.earlyFolds === 1)
    expect(await served.unseen('7', ['1', '2', '3'])).toEqual(['3'])
    opened.clock.advance(5 * 60_000)
    expect(await served.unseen('7', ['1', '2', '3'])).toEqual(['3'])
  })

  test('above the staging limit is folded early, and plays recorded meanwhile stay staged', async () => {
    const { opened, served } = open({}, { stagedMax: 3 })
    await startJob(opened, served)
    await served.play('7', ['1', '2', '3'])
    await settle()
    expect((await opened.plain.hot.getSeen('7', 1)).staged).toHaveLength(3)
    opened.before('records.putFilters', async () => {
      opened.before('records.putFilters', undefined)
      await served.play('7', ['5'])
    })
    await served.play('7', ['4'])
    await until('the started work has ended', () => served.subgraph.figures().staging.earlyFolds >= 1)
    await settle()
    expect(await served.unseen('7', ['1', '2', '3', '4', '5', '6'])).toEqual(['6'])
    const filtered = await served.subgraph.service.whyHidden(viewerOf('o', 'operator'), 'video', '1', '7')
    expect(filtered).toMatchObject({ hidden: true, stagedAt: null, filters: [{ month: '2026-05', has: true }] })
  })
})

describe('the log of plays', () => {
  test('is staged in any order and with repetitions, and plays without a possible filter are refused and counted', async () => {
    const { opened, served } = open()
    const now = opened.clock.now()
    const play = (oid: string, playedAt = now) => ({ viewer: '7', business: 1, oid, playedAt })
    await opened.plain.log.appendPlays([play('2'), play('1', now - DAY), play('2')])
    await opened.plain.log.appendPlays([play('3'), play('past', now - 200 * DAY), play('ahead', now + DAY)])
    const job = await startJob(opened, served)
    await until('the started work has ended', () => job.figures().staged === 5)
    expect(await served.unseen('7', ['1', '2', '3', 'past', 'ahead'])).toEqual(['past'])
    expect(job.figures()).toMatchObject({ staged: 5, refusedPlays: 1 })
    await served.afterHours(job)
    expect(job.figures()).toMatchObject({ plays: 4, writes: 1, viewers: 1 })
    expect(await served.unseen('7', ['1', '2', '3', '4'])).toEqual(['4'])
  })
})

describe('the job', () => {
  test('folds an hour when it is over, each viewer with one write, and leaves the plays staged now', async () => {
    const { opened, served } = open()
    const job = await startJob(opened, served)
    for (const viewer of ['7', '8', 'x']) for (const id of ['1', '2', '3']) await served.play(viewer, [id])
    await served.afterHours(job)
    expect(job.figures()).toMatchObject({ viewers: 3, plays: 9, writes: 3, refused: 0, shardsFailed: 0, viewersFailed: 0 })
    await served.play('7', ['4'])
    expect(await opened.plain.hot.countRing()).toEqual([0, 0, 0, 0, 0, 1])
    await served.afterHours(job, 3)
    expect(job.figures()).toMatchObject({ plays: 10, writes: 4 })
    expect((await opened.plain.hot.countRing()).reduce((sum, each) => sum + each)).toBe(0)
  })

  test('looks at each shard of a due slot exactly once per run', async () => {
    const { opened, served } = open()
    const looked: string[] = []
    const { hot } = opened.stores
    const { filledShards } = hot
    hot.filledShards = (slot, shards) => {
      looked.push(...shards.map((shard) => `${slot}:${shard}`))
      return filledShards(slot, shards)
    }
    const job = await startJob(opened, served)
    await served.afterHours(job)
    // The job starts at 10 o'clock, in slot 4: its first run takes all other slots, the next run slots 4 and 3.
    expect(looked.sort()).toEqual([0, 1, 2, 3, 3, 4, 5].flatMap((slot) => [0, 1, 2, 3].map((shard) => `${slot}:${shard}`)).sort())
    looked.length = 0
    await served.afterHours(job)
    expect(looked.sort()).toEqual([4, 5].flatMap((slot) => [0, 1, 2, 3].map((shard) => `${slot}:${shard}`)))
  })

  test('removes a filter in the hour in which it expires', async () => {
    const { opened, served } = open()
    const job = await startJob(opened, served)
    await served.play('7', ['1'])
    await served.afterHours(job)
    const [expiring] = (await opened.plain.records.measureFilters()).expiring
    opened.clock.advance((expiring?.day ?? 0) * DAY - 1 - opened.clock.now())
    await settle()
    expect((await opened.plain.records.measureFilters()).filters).toBe(1)
    opened.clock.advance(5 * HOUR)
    await settle()
    // A slow job may choose its next hour after this clock has passed it, so the clock advances until the filter is removed.
    await until('the filter was removed', () => {
      if (job.figures().purged === 1) return true
      opened.clock.advance(60_000)
      return false
    })
    expect((await opened.plain.records.measureFilters()).filters).toBe(0)
  })

  test('loses nothing and folds everything when it is started twice', async () => {
    const { opened, served } = open()
    const jobs = [await startJob(opened, served), await startJob(opened, served)]
    const ids = Array.from({ length: 150 }, (_, id) => String(id))
    for (const viewer of ['1', '2', '3', '4']) await served.play(viewer, ids)
    opened.clock.advance(HOUR)
    const hour = Math.floor(opened.clock.now() / HOUR)
    await Promise.all(jobs.map((job) => runOf(opened, job, hour)))
    for (const viewer of ['1', '2', '3', '4']) expect(await served.unseen(viewer, ids)).toEqual([])
    expect((await opened.plain.hot.countRing()).reduce((sum, each) => sum + each)).toBe(0)
    expect(served.errors).toEqual([])
  })

  test('makes the filter of a month small when the filter of the next month begins', async () => {
    const { opened, served } = open({ start: Date.UTC(2026, 4, 31, 12) })
    const job = await startJob(opened, served)
    const ids = Array.from({ length: 200 }, (_, id) => String(id))
    await served.play('7', ids)
    await served.afterHours(job)
    const sizes = async () => (await opened.plain.records.listFilters(['7']))[0]?.map(({ filter }) => filter.length) as [number]
    const [open_] = await sizes()
    opened.clock.advance(DAY)
    await settle()
    await served.play('7', ['next'])
    await served.afterHours(job)
    const [closed] = await sizes()
    expect(closed).toBeLessThan(open_ * 0.7)
    expect(job.figures()).toMatchObject({ closed: 1 })
    expect(await served.unseen('7', [...ids, 'next'])).toEqual([])
  })
})
