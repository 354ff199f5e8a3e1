import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Degraded } from '../../../../core/outage/degraded.ts'
import { graphKey } from '../../../../subgraphs/feed/model/cache-keys.ts'
import type { Post } from '../../../../subgraphs/feed/model/post.ts'
import { makeWaiting } from '../../../../subgraphs/feed/read/waiting.ts'
import { openFeed } from './opened-feed.ts'

async function open(since?: string) {
  const { world, process, publish } = openFeed({ stepMs: 10 })
  /** Lets some seconds pass, so that the changes are seen and counted. */
  async function pass(seconds = 3): Promise<void> {
    for (; seconds > 0; seconds--) {
      world.clock.advance(1_000)
      for (let turns = 10; turns > 0; turns--) await setImmediate()
    }
  }
  world.follows.set('1', new Set(['2', '3']))
  const before = await publish('2')
  const degraded: Degraded = new Set()
  async function subscribe(from = since) {
    const stream = await process.waiting('1', from, degraded)
    const events: { waiting: number; newest: string | null }[] = []
    const ended = (async () => {
      for await (const event of stream) events.push(event)
    })()
    onTestFinished(async () => {
      await stream.return?.()
      await ended
      await process.freshness.stop()
    })
    return { events, stream }
  }
  return { world, process, publish, pass, before, subscribe, degraded }
}

describe('the subscription to waiting posts', () => {
  it('counts the posts of followed users and of the inbox since it began, and no others', async () => {
    const { publish, pass, subscribe } = await open()
    const { events } = await subscribe()
    await pass()
    expect(events).toStrictEqual([])
    const first = await publish('2')
    await pass()
    await publish('4')
    await publish('1')
    await pass()
    const second = await publish('4', 'for you', ['1'])
    await pass()
    expect(events).toStrictEqual([
      { waiting: 1, newest: first.id },
      { waiting: 2, newest: second.id },
    ])
  })

  it('begins with the posts above `since`', async () => {
    const { publish, pass, subscribe, before } = await open()
    await publish('2')
    const { id } = await publish('3')
    const { events } = await subscribe(before.id)
    await pass()
    expect(events).toStrictEqual([{ waiting: 2, newest: id }])
  })

  it('sends one event for many posts of a second, and counts up to 100', async () => {
    const { publish, pass, subscribe } = await open()
    const { events } = await subscribe()
    let last: Post | undefined
    for (let left = 130; left > 0; left--) last = await publish(left % 2 === 0 ? '2' : '3')
    await pass(5)
    expect(events.at(-1)).toStrictEqual({ waiting: 100, newest: last?.id })
    expect(events.length).toBeLessThanOrEqual(5)
  })

  it('does not count deleted and filtered posts, and sends the lower count', async () => {
    const { world, publish, pass, subscribe } = await open()
    const { events } = await subscribe()
    const post = await publish('2')
    await publish('2', 'spoiler')
    await pass()
    await world.hot.setWords('1', ['spoiler'], world.options())
    await pass()
    await world.hot.delete(post, world.options())
    await pass()
    expect(events.map(({ waiting }) => waiting)).toStrictEqual([2, 1, 0])
    expect(events.at(-1)?.newest).toBeNull()
  })

  it('follows the authors of the viewer as they change', async () => {
    const { world, publish, pass, subscribe } = await open()
    const { events } = await subscribe()
    world.follows.set('1', new Set(['3', '5']))
    await world.hot.noteChange('1', graphKey('1'), world.options())
    await pass()
    const { id } = await publish('5')
    await pass()
    await publish('2')
    await pass()
    expect(events).toStrictEqual([{ waiting: 1, newest: id }])
  })

  it('is silent while the hot store is down, and then counts what came before and after', async () => {
    const { world, publish, pass, subscribe } = await open()
    const { events } = await subscribe()
    await publish('2')
    world.down.hotStore = true
    await pass()
    expect(events).toStrictEqual([])
    world.down.hotStore = false
    const { id } = await publish('3')
    await pass()
    expect(events.at(-1)).toStrictEqual({ waiting: 2, newest: id })
    expect(world.failures).toStrictEqual([])
  })

  it('opens while the hot store is down, names it, and counts from the first page that it can read', async () => {
    const { world, publish, pass, subscribe, degraded } = await open()
    world.down.hotStore = true
    const { events } = await subscribe()
    expect([...degraded]).toStrictEqual(['hotStore'])
    world.down.hotStore = false
    await pass(5)
    expect(events).toStrictEqual([])
    const { id } = await publish('2')
    await pass(5)
    expect(events).toStrictEqual([{ waiting: 1, newest: id }])
  })

  it('sends the newest count to a slow subscriber, and ends when it returns', async () => {
    const { world, process, publish, pass } = await open()
    const stream = await process.waiting('1', undefined, new Set())
    for (let left = 3; left > 0; left--) {
      await publish('2')
      await pass(2)
    }
    expect((await stream.next()).value).toMatchObject({ waiting: 3 })
    await stream.return?.()
    expect(await stream.next()).toStrictEqual({ done: true, value: undefined })
    await pass(3)
    expect(process.freshness.figures().followers).toBe(0)
    expect(world.clock.pending()).toBe(0)
  })

  it('one publication for 100 open streams counts in many turns of the event loop, a few at once, and reaches all', async () => {
    const { world, process, publish } = await open()
    let [begun, running, atOnce] = [0, 0, 0]
    const newest: typeof process.newest = async (...args) => {
      begun++
      atOnce = Math.max(atOnce, ++running)
      await setImmediate()
      await setImmediate()
      return process.newest(...args).finally(() => running--)
    }
    const viewers = Array.from({ length: 100 }, (_, at) => String(10 + at))
    for (const viewer of viewers) world.follows.set(viewer, new Set(['2']))
    const following = { following: async () => ['2'] }
    const waiting = makeWaiting(following, process.freshness, { newest }, world.clock, 1_000, (error) => world.failures.push(error))
    const streams = await Promise.all(viewers.map((viewer) => waiting(viewer, undefined, new Set())))
    const { id } = await publish('2')
    begun = atOnce = 0
    world.clock.advance(1_000)
    await setImmediate()
    world.clock.advance(1_000)
    const perTurn = [begun]
    for (let before = begun; begun < 100; before = begun) {
      await setImmediate()
      perTurn.push(begun - before)
    }
    expect(Math.max(...perTurn)).toBe(1)
    expect(atOnce).toBeLessThanOrEqual(4)
    for (const stream of streams) {
      expect((await stream.next()).value).toStrictEqual({ waiting: 1, newest: id })
      await stream.return?.()
    }
    await process.freshness.stop()
  })
})
