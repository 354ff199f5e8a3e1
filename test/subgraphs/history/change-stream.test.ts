import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeAggregator } from '../../../writeback/aggregator.ts'
import { makeBusinesses } from '../../../config/businesses.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { ProgressChange } from '../../../core/domain.ts'
import type { HotStore } from '../../../subgraphs/history/stores/hot-store.ts'
import type { DayClaim } from '../../../core/rewards.ts'
import { versionOf } from '../../../subgraphs/history/read/change-sequence.ts'
import { openChangeStream, tokenOf } from '../../../subgraphs/history/read/change-stream.ts'
import { makeHistoryService } from '../../../subgraphs/history/write/service.ts'
import { makeSteppedClock, type SteppedClock } from '../../../harness/stepped-clock.ts'
import { makeSwitchedStores, type SwitchedStores } from '../switched-stores.ts'

const viewer = { id: '7', scopes: [] }
const businesses = makeBusinesses([
  { number: 1, name: 'video', entity: 'Video', conflict: 'newest', glanceMax: 5_000, finishedPercent: 95 },
])

describe('a change stream', () => {
  let stores: SwitchedStores
  let clock: SteppedClock
  let hot: HotStore
  /** The number of listeners of the hot store. */
  let following: number
  /** Reports a gap to the newest follower. */
  let gap: ((side: 'begins' | 'ends') => void) | undefined
  beforeEach(() => {
    stores = makeSwitchedStores()
    clock = makeSteppedClock()
    following = 0
    hot = {
      ...stores.hot,
      async followProgress(id, listener, onGap) {
        const unfollow = await stores.hot.followProgress(id, listener)
        gap = onGap
        following++
        return () => {
          following--
          unfollow()
        }
      },
    }
  })

  function open(since?: string, over: HotStore = hot, degraded: Degraded = new Set()) {
    const aggregator = makeAggregator(clock, () => undefined, { keysMax: 10, ageMaxMs: 1_000, heldMax: 10 })
    const options = { regions: 4, timelineCap: 10 }
    const service = makeHistoryService(clock, businesses, over, stores.records, aggregator, () => undefined, options)
    return openChangeStream(service, over, businesses, clock, viewer, since, degraded)
  }
  /** Reports a millisecond later than the report before. Returns the change as followers receive it. */
  function watch(oid: string, position: number, business = 1, claim: DayClaim = {}): ProgressChange {
    clock.advance(1)
    const viewedAt = clock.now()
    const record = { viewedAt, since: 0, rank: viewedAt, version: 0, position, duration: 0, device: '', finished: false, deleted: false }
    const outcome = stores.state.put({ viewer: '7', business, oid, record, decisive: true, ...claim }, { now: viewedAt, timelineCap: 10 })
    if (outcome.status !== 'written') throw new Error(`the report was ${outcome.status}`)
    return { kind: 'put', viewer: '7', business, oid, record: outcome.record }
  }
  /** Takes the queued changes without waiting for more. */
  async function taken(stream: AsyncIterableIterator<ProgressChange>): Promise<unknown[]> {
    const found: unknown[] = []
    for (;;) {
      const next = await Promise.race([stream.next(), settle().then(() => undefined)])
      if (next === undefined || next.done === true) return found
      found.push('record' in next.value ? [next.value.kind, next.value.oid, next.value.record.position] : next.value.kind)
    }
  }
  async function settle(): Promise<void> {
    for (let i = 0; i < 5; i++) await turn()
  }

  test('delivers each change to a waiting subscriber', async () => {
    const stream = await open()
    const first = stream.next()
    const change = watch('a', 1)
    expect(await first).toEqual({ done: false, value: change })
    const second = stream.next()
    stores.state.remove({ viewer: '7', business: 1, oid: 'a' }, clock.now() + 1)
    expect((await second).value).toMatchObject({ kind: 'deleted', oid: 'a' })
    await stream.return?.()
  })

  test('stops following when the subscriber returns it, and ends the pending reads', async () => {
    const stream = await open()
    expect(following).toBe(1)
    const waiting = stream.next()
    await stream.return?.()
    expect(following).toBe(0)
    expect(await waiting).toEqual({ done: true, value: undefined })
    watch('a', 1)
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    await stream.return?.()
    expect(following).toBe(0)
  })

  test('stops following when the loop over it ends, although changes are queued', async () => {
    const stream = await open()
    watch('a', 1)
    watch('b', 2)
    for await (const change of stream) {
      expect(change).toMatchObject({ oid: 'a' })
      break
    }
    expect(following).toBe(0)
  })

  test('follows nothing if the missed changes cannot be read', async () => {
    const broken: HotStore = { ...hot, listChanges: () => Promise.reject(new Error('no page')) }
    await expect(open(tokenOf(watch('a', 1)), broken)).rejects.toThrow('no page')
    expect(following).toBe(0)
  })

  test('keeps only the newest change of each key for a slow subscriber', async () => {
    const stream = await open()
    for (let position = 1; position <= 500; position++) watch('a', position)
    watch('b', 7)
    watch('a', 501)
    stores.state.remove({ viewer: '7', business: 1, oid: 'b' }, clock.now())
    expect(await taken(stream)).toEqual([
      ['put', 'a', 501],
      ['deleted', 'b', 0],
    ])
    await stream.return?.()
  })

  test('keeps a clearing beside the queued keys, and only the newest of several clearings', async () => {
    const stream = await open()
    watch('a', 1)
    stores.state.clear('7', 1, clock.now() + 1)
    stores.state.clear('7', 1, clock.now() + 2)
    expect(await taken(stream)).toEqual([['put', 'a', 1], 'cleared'])
    await stream.return?.()
  })

  test('skips changes of an unconfigured business and of another viewer', async () => {
    const stream = await open()
    watch('a', 1, 9)
    stores.state.setPaused('8', true, clock.now())
    stores.state.clear('8', 1, clock.now())
    watch('b', 2)
    expect(await taken(stream)).toEqual([['put', 'b', 2]])
    await stream.return?.()
  })

  test('begins with the changes that are strictly newer than the token, oldest first', async () => {
    watch('a', 1)
    watch('d', 4)
    const seen = watch('b', 2)
    watch('c', 3)
    watch('d', 5)
    const stream = await open(tokenOf(seen))
    expect(await taken(stream)).toEqual([
      ['put', 'c', 3],
      ['put', 'd', 5],
    ])
    await stream.return?.()
  })

  test('begins with missed deletions and clearings too, and a clearing does not advance the token', async () => {
    watch('gone', 1)
    const seen = watch('a', 2)
    stores.state.remove({ viewer: '7', business: 1, oid: 'gone' }, clock.now() + 1)
    clock.advance(2)
    stores.state.clear('7', 1, clock.now())
    watch('b', 3)
    const stream = await open(tokenOf(seen))
    const first = await stream.next()
    expect(first.value).toMatchObject({ kind: 'cleared', clearedAt: clock.now() - 1 })
    expect(tokenOf(first.value as ProgressChange)).toBe(tokenOf(seen))
    expect(await taken(stream)).toEqual(['paused', ['put', 'b', 3]])
    await stream.return?.()
    stores.state.remove({ viewer: '7', business: 1, oid: 'b' }, clock.now() + 1)
    const again = await open(tokenOf(seen))
    await again.next()
    expect(await taken(again)).toEqual(['paused', ['deleted', 'b', 0]])
    await again.return?.()
  })

  test('has the switch and a claimed day, each once, and only the newest switch waits', async () => {
    const stream = await open()
    stores.state.setPaused('7', true, clock.now())
    stores.state.setPaused('7', false, clock.now())
    const change = watch('a', 1, 1, { day: 20_000 })
    watch('b', 2, 1, { day: 20_000 })
    watch('c', 3, 1, { day: 20_000, dayForAll: true })
    const found = []
    for (let at = 0; at < 6; at++) found.push((await stream.next()).value)
    const [paused, put, day, , , dayForAll] = found
    expect(paused).toMatchObject({ kind: 'paused', business: 0, paused: false })
    expect([put, day]).toMatchObject([change, { kind: 'day', business: 1, day: 20_000, version: versionOf(change) }])
    expect(dayForAll).toMatchObject({ kind: 'day', business: 0, day: 20_000 })
    expect(await taken(stream)).toEqual([])
    await stream.return?.()
  })

  test('begins with the present switch if it may have changed since the token, and without the days', async () => {
    const seen = watch('a', 1, 1, { day: 20_000 })
    stores.state.setPaused('7', true, clock.now() + 1)
    const stream = await open(tokenOf(seen))
    const first = await stream.next()
    expect(first.value).toMatchObject({ kind: 'paused', paused: true })
    expect(tokenOf(first.value as ProgressChange)).toBe(tokenOf(seen))
    expect(await taken(stream)).toEqual([])
    await stream.return?.()
  })

  test('serves concurrent reads in their order', async () => {
    const stream = await open()
    const waiting = [stream.next(), stream.next(), stream.next()]
    const changes = [watch('a', 1), watch('b', 2)]
    expect((await Promise.all(waiting.slice(0, 2))).map((each) => each.value as unknown)).toEqual(changes)
    await stream.return?.()
    expect((await waiting[2])?.done).toBe(true)
  })

  test('begins with nothing if no change is newer than the token, or without a token', async () => {
    const last = watch('a', 1)
    for (const since of [tokenOf(last), undefined]) {
      const stream = await open(since)
      expect(await taken(stream)).toEqual([])
      await stream.return?.()
    }
    expect(following).toBe(0)
  })

  test('sends each change that arrives between following and reading once', async () => {
    const seen = watch('a', 1)
    let isBetween = true
    const racing: HotStore = {
      ...hot,
      async listChanges(...args) {
        if (isBetween) watch('b', 2)
        isBetween = false
        const page = await hot.listChanges(...args)
        watch('c', 3)
        watch('b', 4)
        return page
      },
    }
    const stream = await open(tokenOf(seen), racing)
    expect(await taken(stream)).toEqual([
      ['put', 'c', 3],
      ['put', 'b', 4],
    ])
    await stream.return?.()
  })

  test('a subscriber that resumes with the token of a received change gets every later change', async () => {
    const seen = watch('a', 1)
    const racing: HotStore = {
      ...hot,
      async listChanges(...args) {
        watch('b', 2)
        const page = await hot.listChanges(...args)
        watch('c', 3)
        return page
      },
    }
    const stream = await open(tokenOf(seen), racing)
    const first = await stream.next()
    await stream.return?.()
    expect(first.value).toMatchObject({ oid: 'b' })
    const again = await open(tokenOf(first.value as ProgressChange))
    expect(await taken(again)).toEqual([['put', 'c', 3]])
    await again.return?.()
  })

  test('a change that arrives before following is confirmed does not hide the missed changes', async () => {
    const seen = watch('a', 1)
    watch('missed', 2)
    const hasty: HotStore = {
      ...hot,
      async followProgress(...args) {
        const unfollow = await hot.followProgress(...args)
        watch('early', 3)
        return unfollow
      },
    }
    const stream = await open(tokenOf(seen), hasty)
    expect(await taken(stream)).toEqual([
      ['put', 'missed', 2],
      ['put', 'early', 3],
    ])
    await stream.return?.()
  })

  test('delivers a change from a process with a slow clock to a new subscriber', async () => {
    clock.advance(10_000)
    const stream = await open()
    clock.advance(-5_000)
    watch('behind', 1)
    expect(await taken(stream)).toEqual([['put', 'behind', 1]])
    await stream.return?.()
  })

  test('sends the changes missed during an interruption once, and before later changes', async () => {
    let connected = true
    const flaky: HotStore = {
      ...hot,
      followProgress: (id, listener, onGap) => hot.followProgress(id, (change) => void (connected && listener(change)), onGap),
    }
    const stream = await open(undefined, flaky)
    watch('a', 1)
    connected = false
    watch('missed', 2)
    stores.state.remove({ viewer: '7', business: 1, oid: 'gone' }, clock.now() + 1)
    clock.advance(2)
    connected = true
    gap?.('begins')
    watch('after', 3)
    watch('missed', 4)
    await settle()
    gap?.('ends')
    await settle()
    watch('last', 5)
    expect(await taken(stream)).toEqual([
      ['put', 'a', 1],
      ['deleted', 'gone', 0],
      ['put', 'after', 3],
      ['put', 'missed', 4],
      ['put', 'last', 5],
    ])
    await stream.return?.()
  })

  test('reads missed changes again after a failed read, and no later change overtakes them', async () => {
    const stream = await open()
    watch('a', 1)
    gap?.('begins')
    stores.set('hot', 'down')
    gap?.('ends')
    await settle()
    watch('b', 2)
    clock.advance(1_000)
    await settle()
    stores.set('hot', 'up')
    clock.advance(1_000)
    await settle()
    expect(await taken(stream)).toEqual([
      ['put', 'a', 1],
      ['put', 'b', 2],
    ])
    await stream.return?.()
    expect(clock.pending()).toBe(0)
  })

  test('refuses an invalid token before it follows', async () => {
    // The last two would be versions of 1970 and of 2083.
    for (const since of ['', 'A', '-1', 'zzzzzzzzzzzz', '1.5', 'zzz', 'zzzzzzzzzz'])
      await expect(open(since), since).rejects.toMatchObject({
        code: 'CURSOR_INVALID',
        message: `since "${since}" was not made by this API: send the token of the last event, or leave since out`,
      })
    expect(following).toBe(0)
  })

  test('with the hot store down, it retries, begins with the changes since then, and leaves no timer', async () => {
    stores.set('hot', 'down')
    const degraded: Degraded = new Set()
    watch('before', 1)
    clock.advance(1)
    const stream = await open(undefined, hot, degraded)
    expect([...degraded]).toEqual(['hotStore'])
    watch('a', 1)
    clock.advance(1_000)
    await settle()
    expect(following).toBe(0)
    stores.set('hot', 'up')
    clock.advance(1_000)
    await settle()
    expect(await taken(stream)).toEqual([['put', 'a', 1]])
    await stream.return?.()
    expect([following, clock.pending()]).toEqual([0, 0])
  })

  test('makes no more attempts if it is returned while the hot store is down', async () => {
    stores.set('hot', 'down')
    const stream = await open(undefined, hot, new Set())
    await stream.return?.()
    expect(clock.pending()).toBe(0)
    stores.set('hot', 'up')
    clock.advance(10_000)
    await settle()
    expect(following).toBe(0)
  })

  test('stops following if it is returned while an attempt to follow is under way', async () => {
    stores.set('hot', 'down')
    const stream = await open(undefined, hot, new Set())
    stores.set('hot', 'up')
    clock.advance(1_000)
    await stream.return?.()
    await settle()
    expect([following, clock.pending()]).toEqual([0, 0])
  })
})
