import { afterEach, describe, expect, test } from 'vitest'
import type { RingShape } from '../../../../subgraphs/feed-existence/stores/hot-store.ts'
import { announceShape, shapesOf } from '../../../../subgraphs/feed-existence/fold/layouts.ts'
import { startClosedJob } from '../closed-after-each.ts'
import { HOUR, SHAPE, openSeen, runOf, seenConfig, serveSeen } from '../opened.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function open() {
  const opened = openSeen()
  closing.push(opened.close)
  async function serve(shape: RingShape) {
    const served = serveSeen(opened, seenConfig(shape), opened.reopened(shape))
    closing.push(served.stop)
    return { ...served, startJob: () => startClosedJob(closing, opened, served) }
  }
  const waiting = async (): Promise<number> => (await opened.plain.hot.countRing()).reduce((sum, each) => sum + each)
  return { opened, serve, waiting }
}

describe('a ring with a changed shape on a running deployment', () => {
  test.each([
    ['fewer slots and more shards', SHAPE, { slots: 3, shards: 8 }],
    ['more slots and fewer shards', SHAPE, { slots: 9, shards: 2 }],
    ['other shards only', SHAPE, { slots: 6, shards: 6 }],
  ])(
    '%s: plays staged under both shapes are folded within a lap, and are always hidden',
    async (_, before, after) => {
      const { opened, serve, waiting } = open()
      const old = await serve(before)
      const viewers = ['1', '2', '3', 'x', 'y']
      const played: string[] = []
      const play = async (by: Awaited<ReturnType<typeof serve>>) => {
        const id = String(played.length)
        played.push(id)
        for (const viewer of viewers) await by.play(viewer, [id])
      }
      for (let hour = 0; hour < 4; hour++) {
        await play(old)
        opened.clock.advance(HOUR)
      }
      const next = await serve(after)
      await play(next)
      // The worker still has the old shape. It learns of the new shape from the store.
      const oldJob = await old.startJob()
      // The processes restart one by one: for some hours both shapes are written.
      for (let hour = 0; hour < 4; hour++) {
        await play(old)
        await play(next)
        await next.afterHours(oldJob)
        for (const viewer of viewers) expect(await next.unseen(viewer, [...played, 'new'])).toEqual(['new'])
        for (const viewer of viewers) expect(await old.unseen(viewer, [...played, 'new'])).toEqual(['new'])
      }
      await next.afterHours(oldJob, Math.max(before.slots, after.slots))
      expect(await waiting()).toBe(0)
      for (const viewer of viewers) expect(await next.unseen(viewer, [...played, 'new'])).toEqual(['new'])
      expect((await opened.plain.hot.getRingLayouts()).map(({ slots, shards }) => ({ slots, shards }))).toEqual([before, after])
      expect([...old.errors, ...next.errors]).toEqual([])
    },
    60_000,
  )

  test('that was changed during a long downtime of the workers is walked by the first worker that starts', async () => {
    const { opened, serve, waiting } = open()
    const old = await serve({ slots: 12, shards: 8 })
    await old.play('7', ['1'])
    opened.clock.advance(HOUR * 100)
    const next = await serve({ slots: 3, shards: 2 })
    await next.play('8', ['1'])
    opened.clock.advance(HOUR * 100)
    const job = await next.startJob()
    opened.clock.advance(60_000)
    await runOf(opened, job, Math.floor(opened.clock.now() / HOUR))
    expect(await waiting()).toBe(0)
    expect(job.figures()).toMatchObject({ viewers: 2, plays: 2, writes: 2 })
    expect([await next.unseen('7', ['1', '2']), await next.unseen('8', ['1', '2'])]).toEqual([['2'], ['2']])
  })

  test('is known in all its shapes, even if processes with several shapes start in the same millisecond', async () => {
    const { opened } = open()
    const { hot } = opened.plain
    const now = opened.clock.now()
    const announce = (...shapes: RingShape[]) => Promise.all(shapes.map((shape) => announceShape(hot, shape, { now: () => now })))
    await announce({ slots: 3, shards: 8 }, { slots: 9, shards: 2 }, { slots: 3, shards: 8 })
    // A server whose clock is ahead announced this. All later ones choose the millisecond after it.
    await hot.putRingLayout({ slots: 5, shards: 4, since: now + HOUR })
    await announce({ slots: 6, shards: 6 }, { slots: 7, shards: 2 }, { slots: 8, shards: 4 })
    const known = (await hot.getRingLayouts()).map(({ slots, shards }) => `${slots}x${shards}`)
    expect(known.slice(0, 2).toSorted()).toEqual(['3x8', '9x2'])
    expect(known[2]).toBe('5x4')
    expect(known.slice(3).toSorted()).toEqual(['6x6', '7x2', '8x4'])
  })

  test('is in use from its announcement on, although the store may have been unavailable since the first read', async () => {
    const { opened } = open()
    const { hot } = opened.plain
    const { clock } = opened
    await announceShape(hot, { slots: 4, shards: 6 }, clock)
    const away = {
      ...hot,
      getRingLayouts: () => {
        clock.advance(HOUR * 24 * 30)
        return hot.getRingLayouts()
      },
    }
    await announceShape(away, { slots: 3, shards: 2 }, clock)
    const since = (await hot.getRingLayouts()).at(-1)?.since as number
    expect(clock.now() - since).toBeLessThanOrEqual(HOUR * 24 * 30)
    const { live } = shapesOf(await hot.getRingLayouts(), { slots: 3, shards: 2 }, since + HOUR)
    expect(live).toContainEqual({ slots: 4, shards: 6 })
  })

  test('folds a shape that other processes still write for a lap and a day after its change', () => {
    const own = { slots: 6, shards: 4 }
    const layouts = [
      { slots: 12, shards: 4, since: 0 },
      { slots: 48, shards: 4, since: 100 * HOUR },
      { slots: 6, shards: 4, since: 200 * HOUR },
    ]
    const live = (hour: number): number[] => shapesOf(layouts, own, hour * HOUR).live.map(({ slots }) => slots)
    expect(live(210)).toEqual([6, 48])
    expect(live(249)).toEqual([6])
    expect(live(120)).toEqual([6, 12, 48])
    expect(shapesOf(layouts, own, 210 * HOUR).old).toEqual([{ slots: 12, shards: 4 }])
  })
})
