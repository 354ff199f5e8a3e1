/** Viewers are migrated from a real Redis with sorted sets: the answers are the same before, during and after. */
import { describe, expect, test } from 'vitest'
import { monthOf } from '../../../../subgraphs/feed-existence/model/time-ring.ts'
import { seededRandom } from '../../../../core/random.ts'
import { complete } from '../../../../core/outage/degraded.ts'
import type { LegacyPlays } from '../../../../subgraphs/feed-existence/stores/legacy-plays.ts'
import { makeExistenceMigration } from '../../../../subgraphs/feed-existence/index.ts'
import { CANDIDATES, LEFT, SET, START, isHere, isMigrated, list, makeMoving } from './moving.ts'
import { DAY, HOUR, openSeen, seenConfig, serveSeen, settle, viewerOf } from '../opened.ts'
import { legacyConfig, openLegacyOf } from './legacy-store.ts'
import { until } from '../../../../harness/until.ts'

const moving = makeMoving()

describe.skipIf(!isHere)('a migrated viewer', () => {
  test('sees the same before the listing, during it and after it; then the legacy store is not asked any more', async () => {
    const { opened, served } = moving.open()
    await moving.redis.fill('7', SET)
    await served.play('7', ['played'])
    expect(await served.unseen('7', CANDIDATES)).toEqual(LEFT)
    await list(opened, ['7'])
    expect(await served.unseen('7', CANDIDATES)).toEqual(LEFT)
    expect(await isMigrated(opened, '7')).toBe(false)
    const job = await moving.startJob(opened, served)
    await served.afterHours(job)
    expect(await isMigrated(opened, '7')).toBe(true)
    const { asked } = served.subgraph.figures().legacy?.reads ?? {}
    expect(await served.unseen('7', CANDIDATES)).toEqual(LEFT)
    expect(served.subgraph.figures().legacy).toMatchObject({
      reads: { asked },
      migration: { migrated: 1, plays: 4 + 1, outside: 3, invalid: 1, writes: 4, repeated: 0 },
    })
    expect((await opened.plain.hot.countRing()).reduce((sum, count) => sum + count, 0)).toBe(0)
    expect(served.errors).toEqual([])
  })

  test('gets exact answers: a member of the set is PLAYED, and counts as dropped by a filter', async () => {
    const { served } = moving.open()
    await moving.redis.fill('7', SET)
    const answer = await served.ask(
      '{ subjects(business: "video", ids: ["now", "too old", "new"]) { viewerSeen } unseen(business: "video", candidates: ["now", "new"]) { ids droppedFiltered } }',
      viewerOf('7'),
    )
    expect(answer).toEqual({
      data: {
        subjects: [{ viewerSeen: 'PLAYED' }, { viewerSeen: null }, { viewerSeen: null }],
        unseen: { ids: ['new'], droppedFiltered: 1 },
      },
      errors: [],
      degraded: [],
    })
  })

  test('has the legacy set shown to operators as a reason for a hidden subject', async () => {
    const { opened, served } = moving.open()
    await moving.redis.fill('7', SET)
    const query = '{ whyHidden(business: "video", id: "now", viewer: "7") { hidden legacyAt filters { has } } }'
    const why = async () => (await served.ask(query, viewerOf('1', 'operator'))).data.whyHidden
    expect(await why()).toEqual({ hidden: true, legacyAt: START - HOUR, filters: [] })
    // Even if a reader remembers that no set existed.
    await moving.redis.clear()
    expect(await served.unseen('7', ['now'])).toEqual(['now'])
    await moving.redis.fill('7', SET)
    expect(await served.unseen('7', ['now'])).toEqual(['now'])
    expect(await why()).toMatchObject({ hidden: true, legacyAt: START - HOUR })
    await list(opened, ['7'])
    await served.afterHours(await moving.startJob(opened, served))
    expect(await why()).toMatchObject({ hidden: true, legacyAt: null, filters: [{ has: true }, {}, {}, {}] })
  })

  test('is migrated business by business', async () => {
    const { opened, served } = moving.open()
    await moving.redis.fill('7', { a: START })
    await moving.redis.fill('7', { b: START }, 'article')
    await list(opened, ['7'])
    const job = await moving.startJob(opened, served)
    await served.afterHours(job)
    expect([await isMigrated(opened, '7', 1), await isMigrated(opened, '7', 2)]).toEqual([true, false])
    expect([await served.unseen('7', ['a', 'b', 'c']), await served.unseen('7', ['a', 'b', 'c'], 'article')]).toEqual([
      ['b', 'c'],
      ['a', 'c'],
    ])
    await list(opened, ['7'], 2)
    await served.afterHours(job)
    expect([await isMigrated(opened, '7', 1), await isMigrated(opened, '7', 2)]).toEqual([true, true])
    await moving.redis.clear()
    expect(await served.unseen('7', ['a', 'b', 'c'], 'article')).toEqual(['a', 'c'])
  })

  test('may have scores in seconds, or scores without a time', async () => {
    const seconds = moving.open({ score: 'seconds' })
    await moving.redis.fill('7', { a: START / 1_000, old: START / 1_000 - 200 * 86_400 })
    expect(await seconds.served.unseen('7', ['a', 'old'])).toEqual(['old'])
    const none = moving.open({ score: 'none' })
    await moving.redis.fill('8', { a: 1, b: 2 })
    await list(none.opened, ['8'])
    await none.served.afterHours(await moving.startJob(none.opened, none.served))
    await moving.redis.clear()
    expect(await none.served.unseen('8', ['a', 'b', 'c'])).toEqual(['c'])
  })

  test('with two listings is folded in once', async () => {
    const { opened, served } = moving.open()
    await moving.redis.fill('7', SET)
    await list(opened, ['7'])
    await list(opened, ['7'])
    const job = await moving.startJob(opened, served)
    await served.afterHours(job)
    await list(opened, ['7'])
    await served.afterHours(job)
    const [filter] = await opened.plain.records.getFilters([{ viewer: '7', month: monthOf(START) }])
    expect(filter?.version).toBe(1)
    expect(served.subgraph.figures().legacy?.migration).toMatchObject({ migrated: 1, repeated: 1 })
  })

  test('without a set is looked up at intervals, and never again once marked', async () => {
    const { opened, served } = moving.open({ absentMs: 10_000 })
    for (let call = 0; call < 3; call++) expect(await served.unseen('9', ['a'])).toEqual(['a'])
    expect(served.subgraph.figures().legacy?.reads).toEqual({ asked: 1, absent: 2 })
    opened.clock.advance(10_001)
    await served.unseen('9', ['a'])
    expect(served.subgraph.figures().legacy?.reads.asked).toBe(2)
    await list(opened, ['9'])
    await served.afterHours(await moving.startJob(opened, served))
    await served.unseen('9', ['a'])
    expect(served.subgraph.figures().legacy?.reads.asked).toBe(2)
  })

  test('listed for a process without a legacy store stays listed for one that has it, and it is reported once', async () => {
    const opened = openSeen({ start: START })
    const served = serveSeen(opened, seenConfig())
    moving.closing.push(opened.close, served.stop)
    await list(opened, ['7', '8', '9'])
    await served.afterHours(await moving.startJob(opened, served))
    expect(served.errors).toHaveLength(1)
    expect(String(served.errors[0])).toContain('existence.legacy is not set')
    expect(opened.count('records.putFilters')).toBe(0)
    expect((await opened.plain.hot.countRing()).reduce((sum, count) => sum + count, 0)).toBe(3)
    await moving.redis.fill('7', SET)
    const next = moving.serve(opened)
    await next.afterHours(await moving.startJob(opened, next))
    expect([await isMigrated(opened, '7'), await isMigrated(opened, '8'), await isMigrated(opened, '9')]).toEqual([true, true, true])
    expect((await opened.plain.hot.countRing()).reduce((sum, count) => sum + count, 0)).toBe(0)
  })
})

describe.skipIf(!isHere)('bad data in the legacy store', () => {
  test('a key that is not a sorted set is named, its viewer answered, and the others are migrated', async () => {
    const { opened, served } = moving.open({ writeBack: false })
    await moving.redis.client.set('played:video:7', 'a string')
    await moving.redis.fill('8', SET)
    await served.play('7', ['played'])
    const query =
      '{ unseen(business: "video", candidates: ["a", "played"]) { ids } subjects(business: "video", ids: ["a"]) { viewerSeen } }'
    const answer = { data: { unseen: { ids: ['a'] }, subjects: [{ viewerSeen: null }] }, errors: [], degraded: ['legacyStore'] }
    expect(await served.ask(query, viewerOf('7'))).toEqual(answer)
    await list(opened, ['7', '8'])
    await served.afterHours(await moving.startJob(opened, served))
    expect([await isMigrated(opened, '7'), await isMigrated(opened, '8')]).toEqual([false, true])
    expect(await served.ask(query, viewerOf('7'))).toEqual(answer)
    expect(served.errors.map((error) => (error as { code: string }).code)).toContain('LEGACY_INVALID')
    expect(String(served.errors[0])).toContain('viewer "7" in business "video"')
    const why = '{ whyHidden(business: "video", id: "a", viewer: "7") { legacyAt } }'
    expect((await served.ask(why, viewerOf('1', 'operator'))).errors).toMatchObject([{ code: 'LEGACY_INVALID' }])
    await moving.redis.clear()
    expect((await served.ask(query, viewerOf('7'))).degraded).toEqual([])
  })

  test('a set of 300,000 members is read in pages, and no member comes back', async () => {
    const { opened, served } = moving.open()
    const all = Array.from({ length: 300_000 }, (_, id) => String(1_000_000 + id))
    await moving.redis.fill('7', Object.fromEntries(all.map((id, at) => [id, START - (at % 90) * DAY])))
    await moving.redis.client.call('config', 'resetstat')
    await list(opened, ['7'])
    const job = await moving.startJob(opened, served)
    let stall = 0
    let before = performance.now()
    const watch = setInterval(() => {
      stall = Math.max(stall, performance.now() - before)
      before = performance.now()
    }, 1)
    await served.afterHours(job).catch(() => undefined)
    await until('the started work has ended', () => job.figures().shardsLeft === 0)
    clearInterval(watch)
    expect(await isMigrated(opened, '7')).toBe(true)
    const pages = Number(/cmdstat_zscan:calls=(\d+)/.exec(await moving.redis.client.info('commandstats'))?.[1])
    expect(pages).toBeGreaterThanOrEqual(50)
    expect(stall).toBeLessThan(5_000)
    await moving.redis.clear()
    for (let from = 0; from < all.length; from += 10_000) {
      const some = all.slice(from, from + 10_000)
      const { ids } = await complete((without) =>
        served.subgraph.service.unseen(viewerOf('7', 'existence:bulk'), 'video', some, [], without),
      )
      expect(ids).toEqual([])
    }
  })
})

describe.skipIf(!isHere)('the pace of a migration', () => {
  test('is kept, and a worker that stops leaves its viewer listed', async () => {
    const { opened, served } = moving.open({ membersPerSecond: 100, writeBack: false })
    await moving.redis.fill('7', Object.fromEntries(Array.from({ length: 300 }, (_, id) => [String(id), START - HOUR])))
    await list(opened, ['7'])
    const job = await served.subgraph.startJob()
    opened.clock.advance((Math.floor(opened.clock.now() / HOUR) + 1) * HOUR + 60_000 - opened.clock.now())
    await until('the started work has ended', () => job.figures().runs === 1)
    // 300 members take three seconds of this clock, which stands still.
    await settle()
    expect(await isMigrated(opened, '7')).toBe(false)
    const stopped = job.stop()
    opened.clock.advance(10)
    await stopped
    expect(await isMigrated(opened, '7')).toBe(false)
    expect((await opened.plain.hot.countRing()).reduce((sum, count) => sum + count, 0)).toBe(1)
    const next = moving.serve(opened, { writeBack: false })
    await next.afterHours(await moving.startJob(opened, next), 2)
    expect(await isMigrated(opened, '7')).toBe(true)
  })

  test('follows the clock: no page is read before the pages before it have taken their time', async () => {
    const rate = 5_000
    const config = legacyConfig(moving.redis.url, { membersPerSecond: rate })
    const opened = openSeen({ start: START })
    const plays = openLegacyOf(opened, config)
    moving.closing.push(opened.close, () => plays.close())
    await moving.redis.fill('7', Object.fromEntries(Array.from({ length: 20_000 }, (_, id) => [String(id), START - HOUR])))
    let members = 0
    const early: string[] = []
    const legacy: LegacyPlays = {
      ...plays,
      async listPlays(...of) {
        const passedMs = opened.clock.now() - START
        if (passedMs < (members / rate) * 1_000 - 10) early.push(`a page after ${members} members at ${passedMs} ms`)
        const found = await plays.listPlays(...of)
        members += found.plays.length
        return found
      },
    }
    const migration = makeExistenceMigration(opened.clock, { ...opened.plain, legacy }, config, seededRandom(1))
    let isDone: boolean | undefined
    const moved = migration
      ?.makeMover()
      .migrate('7', [1])
      .then((value) => (isDone = value))
    // Slowly, so that a page without a wait is too early.
    for (let turn = 0; isDone === undefined && turn < 5_000; turn++) {
      opened.clock.advance(10)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await moved
    expect([isDone, members, early]).toEqual([true, 20_000, []])
    expect(migration?.figures()).toMatchObject({ migrated: 1, plays: 20_000 })
  })

  test('does not end with another job of the process', async () => {
    const { opened, served } = moving.open({ writeBack: false })
    await moving.redis.fill('7', SET)
    const first = await served.subgraph.startJob()
    const stopped = first.stop()
    opened.clock.advance(10)
    await stopped
    await list(opened, ['7'])
    await served.afterHours(await moving.startJob(opened, served))
    expect(await isMigrated(opened, '7')).toBe(true)
  })
})
