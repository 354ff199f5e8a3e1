/** A migration while stores are down, processes die, filters break, and other jobs do the same: no play comes back. */
import { describe, expect, test } from 'vitest'
import { randomBelow, seededRandom } from '../../../../core/random.ts'
import { monthOf } from '../../../../subgraphs/feed-existence/model/time-ring.ts'
import { makeExistenceMigration } from '../../../../subgraphs/feed-existence/index.ts'
import { CANDIDATES, LEFT, SET, START, isHere, isMigrated, list, makeMoving } from './moving.ts'
import { DAY, HOUR, openSeen, settle, viewerOf } from '../opened.ts'
import { legacyConfig, openLegacyOf } from './legacy-store.ts'
import { until } from '../../../../harness/until.ts'
import { slowDown, turns } from '../slow-stores.ts'

const moving = makeMoving()

describe.skipIf(!isHere)('a legacy store that is down', () => {
  test('makes answers degraded and otherwise complete, and a caller without a collector is refused', async () => {
    const { opened, served } = moving.open()
    await moving.redis.fill('7', SET)
    await served.play('7', ['played'])
    const query = '{ unseen(business: "video", candidates: ["now", "played", "new"]) { ids } }'
    await moving.redis.servers.kill(moving.redis.servers.ports[0] as number)
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
      await moving.redis.servers.start()
    }
    await moving.redis.fill('7', SET)
    for (let turn = 0; served.subgraph.figures().legacy?.isDown === true && turn < 200; turn++) {
      opened.clock.advance(1_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect((await served.ask(query, viewerOf('7'))).data.unseen.ids).toEqual(['new'])
  })

  test('fails no play: it receives the play once it is back, or with the fold', async () => {
    const { opened, served } = moving.open()
    await served.play('7', ['a'], START - 5)
    await until('the started work has ended', () => served.subgraph.figures().legacy?.writeBack?.written === 1)
    expect(await moving.redis.read('7')).toEqual({ a: START - 5 })
    await moving.redis.servers.kill(moving.redis.servers.ports[0] as number)
    await served.play('7', ['b'], START - 4)
    await served.play('7', ['c'], START - 3)
    expect((await served.ask('{ unseen(business: "video", candidates: ["b", "c", "d"]) { ids } }', viewerOf('7'))).data.unseen.ids).toEqual(
      ['d'],
    )
    await moving.redis.servers.start()
    for (let turn = 0; (served.subgraph.figures().legacy?.writeBack?.waiting ?? 0) > 0 && turn < 500; turn++) {
      opened.clock.advance(1_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(await moving.redis.read('7')).toMatchObject({ b: START - 4, c: START - 3 })
    // The writes that a process lost when it died.
    await moving.redis.clear()
    await served.afterHours(await moving.startJob(opened, served))
    expect(await moving.redis.read('7')).toEqual({ a: START - 5, b: START - 4, c: START - 3 })
    expect(served.subgraph.figures().legacy?.writeBack).toMatchObject({ missed: 0, waiting: 0 })
  })

  test('delays its own viewers and no others, until the round after it is back', async () => {
    const { opened, served } = moving.open({ writeBack: false })
    await moving.redis.fill('7', SET)
    await moving.redis.client.save()
    await served.play('8', ['played'])
    await list(opened, ['7'])
    await moving.redis.servers.kill(moving.redis.servers.ports[0] as number)
    const job = await moving.startJob(opened, served)
    const next = Math.floor(opened.clock.now() / HOUR) + 1
    opened.clock.advance(next * HOUR + 60_000 - opened.clock.now())
    for (let turn = 0; job.figures().viewers < 2 && turn < 500; turn++) {
      opened.clock.advance(1_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const [folded] = await opened.plain.records.getFilters([{ viewer: '8', month: monthOf(START) }])
    expect(folded).toBeDefined()
    expect([await isMigrated(opened, '7'), job.figures().shardsLeft]).toEqual([false, 1])
    await moving.redis.servers.start()
    await moving.redis.fill('7', SET)
    for (let turn = 0; job.figures().shardsLeft > 0 && turn < 500; turn++) {
      opened.clock.advance(10_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(await isMigrated(opened, '7')).toBe(true)
    await settle()
  })
})

describe.skipIf(!isHere)('with interruptions and concurrent jobs', () => {
  test('a job that dies at any of its calls changes no answer, and the next job migrates the viewer', async () => {
    const calls = ['hot.readStaged', 'records.getFilters', 'records.putFilters', 'hot.removeStaged']
    let survived = 0
    for (const call of calls) {
      for (let nth = 1; nth <= 4; nth++) {
        await moving.redis.clear()
        const { opened, served } = moving.open({ writeBack: false })
        await moving.redis.fill('7', SET)
        await served.play('7', ['played'])
        await list(opened, ['7'])
        const job = await moving.startJob(opened, served)
        // From the nth call on no such call is answered, as if the process were gone.
        let count = 0
        opened.before(call, async () => {
          if (++count === nth) opened.refuse(call, call.startsWith('hot') ? 'HOT_STORE_UNAVAILABLE' : 'RECORD_STORE_UNAVAILABLE')
          if (count >= nth) throw new Error('gone')
        })
        await served.afterHours(job).catch(() => undefined)
        opened.before(call, undefined)
        opened.refuse(call, undefined)
        // Another process with its own memory.
        const other = moving.serve(opened, { writeBack: false })
        expect(await other.unseen('7', CANDIDATES), `${call} ${nth}`).toEqual(LEFT)
        if (!(await isMigrated(opened, '7'))) survived++
        await other.afterHours(await moving.startJob(opened, other), 2)
        expect(await isMigrated(opened, '7'), `${call} ${nth}`).toBe(true)
        await moving.redis.clear()
        expect(await moving.serve(opened).unseen('7', CANDIDATES), `${call} ${nth}`).toEqual(LEFT)
        for (const close of moving.closing.splice(0).reverse()) await close()
      }
    }
    expect(survived).toBeGreaterThan(3)
  })

  test('a viewer who is migrated between two reads of a reader is not treated as one with complete filters', async () => {
    const { opened, served } = moving.open()
    await moving.redis.fill('7', SET)
    await list(opened, ['7'])
    const config = legacyConfig(moving.redis.url)
    const legacy = openLegacyOf(opened, config)
    moving.closing.push(() => legacy.close())
    const migration = makeExistenceMigration(opened.clock, { ...opened.plain, legacy }, config, seededRandom(1))?.makeMover()
    let looks = 0
    opened.before('records.getFilters', async () => {
      if (++looks === 2) await migration?.migrate('7', [1])
    })
    expect(await served.unseen('7', CANDIDATES)).toEqual([...LEFT, 'played'])
    expect([looks, await isMigrated(opened, '7')]).toEqual([2, true])
  })

  test.each([1, 2, 3])('with readers, players and two jobs at once, no play comes back (seed %d)', async (seed) => {
    const random = seededRandom(seed)
    const opened = openSeen({ start: START })
    moving.closing.push(opened.close)
    slowDown(opened, random)
    const served = moving.serve(opened, { patienceMs: 60_000 })
    const others = [moving.serve(opened, {}, { foldEveryMs: 200 }), moving.serve(opened, {}, { foldEveryMs: 200 })]
    const viewers = Array.from({ length: 12 }, (_, at) => String(100 + at))
    const known = new Map(viewers.map((viewer) => [viewer, new Set<string>()]))
    for (const viewer of viewers) {
      const ids = Array.from({ length: 40 }, (_, id) => `old-${id}`)
      await moving.redis.fill(viewer, Object.fromEntries(ids.map((id, at) => [id, START - at * DAY])))
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
    moving.closing.push(async () => {
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
    await moving.redis.clear()
    const fresh = moving.serve(opened)
    for (const viewer of viewers) {
      const back = new Set(await fresh.unseen(viewer, all))
      expect([...(known.get(viewer) ?? [])].filter((id) => back.has(id))).toEqual([])
    }
  })
})
