/** Viewers moved from a real Redis of sorted sets: what is seen is the same before, meanwhile and after. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { MARK_MONTH, decodeMark, listingOf } from '../../../core/migration-mark.ts'
import { randomBelow, seededRandom, type Random } from '../../../core/random.ts'
import { beginningOf, monthOf, slotOf } from '../../../core/time-ring.ts'
import { makeExistenceMigration } from '../../../subgraphs/feed-existence/index.ts'
import { redisIsHere } from '../../stores/redis/servers.ts'
import { legacyConfig, openLegacyOf, startLegacy, type LegacyRedis } from './legacy-redis.ts'
import { DAY, HOUR, SHAPE, openSeen, seenConfig, serveSeen, settle, until, viewerOf, type Opened } from './opened.ts'

const START = Date.UTC(2026, 4, 20, 10, 30)
const isHere = await redisIsHere()
let redis: LegacyRedis
beforeAll(async () => {
  if (isHere) redis = await startLegacy()
}, 60_000)
afterAll(async () => redis?.stop(), 60_000)
beforeEach(async () => void (await redis?.clear()))

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function serve(opened: Opened, legacy: object = {}, existence: object = {}) {
  const config = legacyConfig(redis.url, legacy, existence)
  const plays = openLegacyOf(opened, config)
  const served = serveSeen(opened, config, { ...opened.stores, legacy: plays })
  closing.push(() => plays.close(), served.stop)
  return served
}

function open(legacy: object = {}, existence: object = {}) {
  const opened = openSeen({ start: START })
  closing.push(opened.close)
  return { opened, served: serve(opened, legacy, existence) }
}

async function startJob(opened: Opened, served: ReturnType<typeof serveSeen>) {
  const job = await served.subgraph.startJob()
  closing.push(async () => {
    const stopped = job.stop()
    opened.clock.advance(HOUR)
    await stopped
  })
  return job
}

/** As the command does. */
async function list(opened: Opened, viewers: readonly string[], business = 1): Promise<void> {
  const now = opened.clock.now()
  await opened.plain.hot.putRingLayout({ ...SHAPE, since: 1 })
  await opened.plain.hot.stagePlays(
    viewers.map((viewer) => listingOf(viewer, business, now)),
    { now, slot: slotOf(now, SHAPE.slots) },
  )
}

async function isMigrated(opened: Opened, viewer: string, business = 1): Promise<boolean> {
  const [mark] = await opened.plain.records.getFilters([{ viewer, month: MARK_MONTH }])
  return decodeMark(mark?.filter).has(business)
}

/** A set as it may be: all live months, and what does not count. */
const SET: Record<string, number> = {
  now: START - HOUR,
  april: START - 30 * DAY,
  march: START - 60 * DAY,
  february: beginningOf(monthOf(START) - 3),
  'too old': beginningOf(monthOf(START) - 3) - 1,
  'far future': START + DAY,
  'no time': 5,
  ['x'.repeat(65)]: START - HOUR,
}
const CANDIDATES = [...Object.keys(SET).filter((id) => id.length < 65), 'new', 'played']
const LEFT = ['too old', 'far future', 'no time', 'new']

describe.skipIf(!isHere)('a viewer who is moved', () => {
  test('sees the same before he is listed, while he is, and after; then the legacy store is asked no more', async () => {
    const { opened, served } = open()
    await redis.fill('7', SET)
    await served.play('7', ['played'])
    expect(await served.unseen('7', CANDIDATES)).toEqual(LEFT)
    await list(opened, ['7'])
    expect(await served.unseen('7', CANDIDATES)).toEqual(LEFT)
    expect(await isMigrated(opened, '7')).toBe(false)
    const job = await startJob(opened, served)
    await served.afterHours(job)
    expect(await isMigrated(opened, '7')).toBe(true)
    const { asked } = served.subgraph.figures().legacy?.reads ?? {}
    expect(await served.unseen('7', CANDIDATES)).toEqual(LEFT)
    expect(served.subgraph.figures().legacy).toMatchObject({
      reads: { asked },
      migration: { migrated: 1, plays: 4 + 1, outside: 3, invalid: 1, repeated: 0 },
    })
    expect((await opened.plain.hot.countRing()).reduce((sum, count) => sum + count, 0)).toBe(0)
    expect(served.errors).toEqual([])
  })

  test('is answered exactly: what is in the set is PLAYED, and dropped as what a filter would drop', async () => {
    const { served } = open()
    await redis.fill('7', SET)
    const answer = await served.ask(
      '{ seen(business: "video", ids: ["now", "too old", "new"]) { reason } unseen(business: "video", candidates: ["now", "new"]) { ids droppedFiltered } }',
      viewerOf('7'),
    )
    expect(answer).toEqual({
      data: { seen: [{ reason: 'PLAYED' }, { reason: null }, { reason: null }], unseen: { ids: ['new'], droppedFiltered: 1 } },
      errors: [],
      degraded: [],
    })
  })

  test('has it said to operators where his old set is why something is hidden', async () => {
    const { opened, served } = open()
    await redis.fill('7', SET)
    const query = '{ whyHidden(business: "video", id: "now", viewer: "7") { hidden legacyAt filters { has } } }'
    const why = async () => (await served.ask(query, viewerOf('1', 'operator'))).data.whyHidden
    expect(await why()).toEqual({ hidden: true, legacyAt: START - HOUR, filters: [] })
    await list(opened, ['7'])
    await served.afterHours(await startJob(opened, served))
    expect(await why()).toMatchObject({ hidden: true, legacyAt: null, filters: [{ has: true }, {}, {}, {}] })
  })

  test('is moved business by business', async () => {
    const { opened, served } = open()
    await redis.fill('7', { a: START })
    await redis.fill('7', { b: START }, 'article')
    await list(opened, ['7'])
    const job = await startJob(opened, served)
    await served.afterHours(job)
    expect([await isMigrated(opened, '7', 1), await isMigrated(opened, '7', 2)]).toEqual([true, false])
    expect([await served.unseen('7', ['a', 'b', 'c']), await served.unseen('7', ['a', 'b', 'c'], 'article')]).toEqual([
      ['b', 'c'],
      ['a', 'c'],
    ])
    await list(opened, ['7'], 2)
    await served.afterHours(job)
    expect([await isMigrated(opened, '7', 1), await isMigrated(opened, '7', 2)]).toEqual([true, true])
    await redis.clear()
    expect(await served.unseen('7', ['a', 'b', 'c'], 'article')).toEqual(['a', 'c'])
  })

  test('may have scores in seconds, or none that are times', async () => {
    const seconds = open({ score: 'seconds' })
    await redis.fill('7', { a: START / 1_000, old: START / 1_000 - 200 * 86_400 })
    expect(await seconds.served.unseen('7', ['a', 'old'])).toEqual(['old'])
    const none = open({ score: 'none' })
    await redis.fill('8', { a: 1, b: 2 })
    await list(none.opened, ['8'])
    await none.served.afterHours(await startJob(none.opened, none.served))
    await redis.clear()
    expect(await none.served.unseen('8', ['a', 'b', 'c'])).toEqual(['c'])
  })

  test('who is listed twice, or again, is folded in once', async () => {
    const { opened, served } = open()
    await redis.fill('7', SET)
    await list(opened, ['7'])
    await list(opened, ['7'])
    const job = await startJob(opened, served)
    await served.afterHours(job)
    await list(opened, ['7'])
    await served.afterHours(job)
    const [filter] = await opened.plain.records.getFilters([{ viewer: '7', month: monthOf(START) }])
    expect(filter?.version).toBe(1)
    expect(served.subgraph.figures().legacy?.migration).toMatchObject({ migrated: 1, repeated: 1 })
  })

  test('who has no set is asked for once in a while, and not at all once he is marked', async () => {
    const { opened, served } = open({ absentMs: 10_000 })
    for (let call = 0; call < 3; call++) expect(await served.unseen('9', ['a'])).toEqual(['a'])
    expect(served.subgraph.figures().legacy?.reads).toEqual({ asked: 1, absent: 2 })
    opened.clock.advance(10_001)
    await served.unseen('9', ['a'])
    expect(served.subgraph.figures().legacy?.reads.asked).toBe(2)
    await list(opened, ['9'])
    await served.afterHours(await startJob(opened, served))
    await served.unseen('9', ['a'])
    expect(served.subgraph.figures().legacy?.reads.asked).toBe(2)
  })

  test('whose listing is found by a process without a legacy store is dropped, and it is said once', async () => {
    const opened = openSeen({ start: START })
    const served = serveSeen(opened, seenConfig())
    closing.push(opened.close, served.stop)
    await list(opened, ['7', '8', '9'])
    await served.afterHours(await startJob(opened, served))
    expect(served.errors).toHaveLength(1)
    expect(String(served.errors[0])).toContain('existence.legacy is not set')
    expect((await opened.plain.hot.countRing()).reduce((sum, count) => sum + count, 0)).toBe(0)
    expect(opened.count('records.putFilters')).toBe(0)
  })
})

describe.skipIf(!isHere)('what is bad in the legacy store', () => {
  test('a key that is no sorted set is named, its viewer answered, and the others are moved', async () => {
    const { opened, served } = open({ writeBack: false })
    await redis.client.set('played:video:7', 'a string')
    await redis.fill('8', SET)
    await served.play('7', ['played'])
    expect(await served.unseen('7', ['a', 'played'])).toEqual(['a'])
    await list(opened, ['7', '8'])
    await served.afterHours(await startJob(opened, served))
    expect([await isMigrated(opened, '7'), await isMigrated(opened, '8')]).toEqual([false, true])
    expect(await served.unseen('7', ['a', 'played'])).toEqual(['a'])
    expect(served.errors.map((error) => (error as { code: string }).code)).toContain('LEGACY_INVALID')
    expect(String(served.errors[0])).toContain('played:video:7')
  })

  test('a set of 300,000 members is read in pages, and nothing of it comes back', { timeout: 60_000 }, async () => {
    const { opened, served } = open()
    const all = Array.from({ length: 300_000 }, (_, id) => String(1_000_000 + id))
    await redis.fill('7', Object.fromEntries(all.map((id, at) => [id, START - (at % 90) * DAY])))
    await redis.client.call('config', 'resetstat')
    await list(opened, ['7'])
    const job = await startJob(opened, served)
    let stall = 0
    let before = performance.now()
    const watch = setInterval(() => {
      stall = Math.max(stall, performance.now() - before)
      before = performance.now()
    }, 1)
    await served.afterHours(job).catch(() => undefined)
    await until(() => job.figures().shardsLeft === 0)
    clearInterval(watch)
    expect(await isMigrated(opened, '7')).toBe(true)
    const pages = Number(/cmdstat_zscan:calls=(\d+)/.exec(await redis.client.info('commandstats'))?.[1])
    expect(pages).toBeGreaterThanOrEqual(50)
    expect(stall).toBeLessThan(5_000)
    await redis.clear()
    for (let from = 0; from < all.length; from += 10_000) {
      const some = all.slice(from, from + 10_000)
      const { ids } = await served.subgraph.service.unseen(viewerOf('7', 'existence:bulk'), 'video', some, [])
      expect(ids).toEqual([])
    }
  })
})

describe.skipIf(!isHere)('a pace', () => {
  test('is kept, and a worker that stops in between leaves its viewer listed', async () => {
    const { opened, served } = open({ membersPerSecond: 100, writeBack: false })
    await redis.fill('7', Object.fromEntries(Array.from({ length: 300 }, (_, id) => [String(id), START - HOUR])))
    await list(opened, ['7'])
    const job = await served.subgraph.startJob()
    opened.clock.advance((Math.floor(opened.clock.now() / HOUR) + 1) * HOUR + 60_000 - opened.clock.now())
    await until(() => job.figures().runs === 1)
    // 300 members take three seconds of this clock, which stands still.
    await settle()
    expect(await isMigrated(opened, '7')).toBe(false)
    const stopped = job.stop()
    opened.clock.advance(10)
    await stopped
    expect(await isMigrated(opened, '7')).toBe(false)
    expect((await opened.plain.hot.countRing()).reduce((sum, count) => sum + count, 0)).toBe(1)
    const next = serve(opened, { writeBack: false })
    await next.afterHours(await startJob(opened, next), 2)
    expect(await isMigrated(opened, '7')).toBe(true)
  })
})

describe.skipIf(!isHere)('a legacy store that is down', () => {
  test(
    'is said in the answer, which has all that is known here; and a caller without a collector is refused',
    { timeout: 60_000 },
    async () => {
      const { opened, served } = open()
      await redis.fill('7', SET)
      await served.play('7', ['played'])
      const query = '{ unseen(business: "video", candidates: ["now", "played", "new"]) { ids } }'
      await redis.servers.kill(redis.servers.ports[0] as number)
      try {
        for (let call = 0; call < 2; call++) {
          expect(await served.ask(query, viewerOf('7'))).toEqual({
            data: { unseen: { ids: ['now', 'new'] } },
            errors: [],
            degraded: ['legacyStore'],
          })
        }
        await expect(served.unseen('7', ['now'])).rejects.toMatchObject({ code: 'LEGACY_UNAVAILABLE' })
        expect(served.subgraph.figures().legacy?.isDown).toBe(true)
      } finally {
        await redis.servers.start()
      }
      await redis.fill('7', SET)
      for (let turn = 0; served.subgraph.figures().legacy?.isDown === true && turn < 200; turn++) {
        opened.clock.advance(1_000)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      expect((await served.ask(query, viewerOf('7'))).data.unseen.ids).toEqual(['new'])
    },
  )

  test('fails no play: it gets it once it is back, or with the fold', { timeout: 60_000 }, async () => {
    const { opened, served } = open()
    await served.play('7', ['a'], START - 5)
    await until(() => served.subgraph.figures().legacy?.writeBack?.written === 1)
    expect(await redis.read('7')).toEqual({ a: START - 5 })
    await redis.servers.kill(redis.servers.ports[0] as number)
    await served.play('7', ['b'], START - 4)
    await served.play('7', ['c'], START - 3)
    expect((await served.ask('{ unseen(business: "video", candidates: ["b", "c", "d"]) { ids } }', viewerOf('7'))).data.unseen.ids).toEqual(
      ['d'],
    )
    await redis.servers.start()
    for (let turn = 0; (served.subgraph.figures().legacy?.writeBack?.waiting ?? 0) > 0 && turn < 500; turn++) {
      opened.clock.advance(1_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(await redis.read('7')).toMatchObject({ b: START - 4, c: START - 3 })
    // What a process took with it when it died.
    await redis.clear()
    await served.afterHours(await startJob(opened, served))
    expect(await redis.read('7')).toEqual({ a: START - 5, b: START - 4, c: START - 3 })
    expect(served.subgraph.figures().legacy?.writeBack).toMatchObject({ missed: 0, waiting: 0 })
  })

  test('holds up its viewers and nobody else, until the round after it is back', { timeout: 60_000 }, async () => {
    const { opened, served } = open({ writeBack: false })
    await redis.fill('7', SET)
    await redis.client.save()
    await served.play('8', ['played'])
    await list(opened, ['7'])
    await redis.servers.kill(redis.servers.ports[0] as number)
    const job = await startJob(opened, served)
    const next = Math.floor(opened.clock.now() / HOUR) + 1
    opened.clock.advance(next * HOUR + 60_000 - opened.clock.now())
    for (let turn = 0; job.figures().viewers < 2 && turn < 500; turn++) {
      opened.clock.advance(1_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const [folded] = await opened.plain.records.getFilters([{ viewer: '8', month: monthOf(START) }])
    expect(folded).toBeDefined()
    expect([await isMigrated(opened, '7'), job.figures().shardsLeft]).toEqual([false, 1])
    await redis.servers.start()
    await redis.fill('7', SET)
    for (let turn = 0; job.figures().shardsLeft > 0 && turn < 500; turn++) {
      opened.clock.advance(10_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(await isMigrated(opened, '7')).toBe(true)
    await settle()
  })
})

describe.skipIf(!isHere)('whatever is cut, and whoever does the same', () => {
  test(
    'a job that dies at any of its calls leaves a viewer who is answered as before, and the next one moves him',
    { timeout: 120_000 },
    async () => {
      const calls = ['hot.readStaged', 'records.getFilters', 'records.putFilters', 'hot.removeStaged']
      let survived = 0
      for (const call of calls) {
        for (let nth = 1; nth <= 4; nth++) {
          await redis.clear()
          const { opened, served } = open({ writeBack: false })
          await redis.fill('7', SET)
          await served.play('7', ['played'])
          await list(opened, ['7'])
          const job = await startJob(opened, served)
          // From the nth on nothing of the kind is answered: as if the process were gone.
          let count = 0
          opened.before(call, async () => {
            if (++count === nth) opened.refuse(call, call.startsWith('hot') ? 'HOT_STORE_UNAVAILABLE' : 'RECORD_STORE_UNAVAILABLE')
            if (count >= nth) throw new Error('gone')
          })
          await served.afterHours(job).catch(() => undefined)
          opened.before(call, undefined)
          opened.refuse(call, undefined)
          // Another process, with memory of its own.
          const other = serve(opened, { writeBack: false })
          expect(await other.unseen('7', CANDIDATES), `${call} ${nth}`).toEqual(LEFT)
          if (!(await isMigrated(opened, '7'))) survived++
          await other.afterHours(await startJob(opened, other), 2)
          expect(await isMigrated(opened, '7'), `${call} ${nth}`).toBe(true)
          await redis.clear()
          expect(await serve(opened).unseen('7', CANDIDATES), `${call} ${nth}`).toEqual(LEFT)
          for (const close of closing.splice(0).reverse()) await close()
        }
      }
      expect(survived).toBeGreaterThan(3)
    },
  )

  test('a viewer who is moved between the two looks of a reader is not taken for one whose filters are whole', async () => {
    const { opened, served } = open()
    await redis.fill('7', SET)
    await list(opened, ['7'])
    const config = legacyConfig(redis.url)
    const legacy = openLegacyOf(opened, config)
    closing.push(() => legacy.close())
    const migration = makeExistenceMigration(opened.clock, { ...opened.plain, legacy }, config, seededRandom(1))
    let looks = 0
    opened.before('records.getFilters', async () => {
      if (++looks === 2) await migration?.migrate('7', [1])
    })
    expect(await served.unseen('7', CANDIDATES)).toEqual([...LEFT, 'played'])
    expect([looks, await isMigrated(opened, '7')]).toEqual([2, true])
  })

  test.each([1, 2, 3])(
    'readers, players and two jobs at once: nothing that was played comes back (seed %d)',
    { timeout: 60_000 },
    async (seed) => {
      const random = seededRandom(seed)
      const opened = openSeen({ start: START })
      closing.push(opened.close)
      slowDown(opened, random)
      const served = serve(opened, { patienceMs: 60_000 })
      const others = [serve(opened, {}, { foldEveryMs: 200 }), serve(opened, {}, { foldEveryMs: 200 })]
      const viewers = Array.from({ length: 12 }, (_, at) => String(100 + at))
      const known = new Map(viewers.map((viewer) => [viewer, new Set<string>()]))
      for (const viewer of viewers) {
        const ids = Array.from({ length: 40 }, (_, id) => `old-${id}`)
        await redis.fill(viewer, Object.fromEntries(ids.map((id, at) => [id, START - at * DAY])))
        for (const id of ids) known.get(viewer)?.add(id)
      }
      const all = [...Array.from({ length: 40 }, (_, id) => `old-${id}`), ...Array.from({ length: 30 }, (_, id) => `live-${id}`)]
      for (const viewer of viewers) await served.unseen(viewer, all)
      await list(opened, viewers)
      let playing = true

      async function play(): Promise<void> {
        for (let id = 0; id < 30; id++) {
          const viewer = viewers[randomBelow(random, viewers.length)] as string
          await served.play(viewer, [`live-${id}`])
          known.get(viewer)?.add(`live-${id}`)
        }
        while (!(await Promise.all(viewers.map((viewer) => isMigrated(opened, viewer)))).every(Boolean)) await turns(20)
        playing = false
      }
      async function read(): Promise<void> {
        while (playing) {
          const viewer = viewers[randomBelow(random, viewers.length)] as string
          const before = [...(known.get(viewer) ?? [])]
          const back = new Set(await served.unseen(viewer, all))
          expect(before.filter((id) => back.has(id))).toEqual([])
        }
      }
      const jobs = await Promise.all(others.map((other) => other.subgraph.startJob()))
      closing.push(async () => {
        const stopped = Promise.all(jobs.map((job) => job.stop()))
        opened.clock.advance(HOUR)
        await stopped
      })
      opened.clock.advance((Math.floor(opened.clock.now() / HOUR) + 1) * HOUR + 60_000 - opened.clock.now())
      // Slowly: a request waits for the legacy store by this clock.
      async function tick(): Promise<void> {
        while (playing) {
          opened.clock.advance(200)
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
      }
      await Promise.all([play(), read(), read(), read(), tick()])
      await redis.clear()
      const fresh = serve(opened)
      for (const viewer of viewers) {
        const back = new Set(await fresh.unseen(viewer, all))
        expect([...(known.get(viewer) ?? [])].filter((id) => back.has(id))).toEqual([])
      }
    },
  )
})

/** Every call begins late and answers late, each by a few turns of the loop. */
function slowDown(opened: Opened, random: Random): void {
  for (const store of [opened.stores.hot, opened.stores.records] as Record<string, any>[]) {
    for (const [method, call] of Object.entries(store)) {
      if (typeof call !== 'function' || method === 'close' || method === 'partOf') continue
      store[method] = async (...args: unknown[]) => {
        await turns(randomBelow(random, 5))
        const answer = await call(...args)
        await turns(randomBelow(random, 5))
        return answer
      }
    }
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}
