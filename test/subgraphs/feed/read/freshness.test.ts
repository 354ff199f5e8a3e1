import { describe, expect, it } from 'vitest'
import type { Degraded } from '../../../../core/outage/degraded.ts'
import { PartOutage } from '../../../../core/outage/part-outage.ts'
import { TidemarkError } from '../../../../core/errors.ts'
import { contentKey, headKey, inboxKey, outboxKey } from '../../../../subgraphs/feed/model/cache-keys.ts'
import { POST_EPOCH_MS, TICKS_PER_MS, postIdOf } from '../../../../subgraphs/feed/packed/post-id.ts'
import { makeFreshness } from '../../../../subgraphs/feed/read/freshness.ts'
import type { ChangedKey, RegionChanges } from '../../../../subgraphs/feed/stores/hot-store.ts'
import { makeSteppedClock } from '../../../../harness/stepped-clock.ts'

const REMEMBER_MS = 60_000

/** A hot store whose answers the test gives one by one. `asked`: the ticks of each question. */
function heldStore() {
  const asked: Map<number, number>[] = []
  const answers: PromiseWithResolvers<RegionChanges[]>[] = []
  return {
    asked,
    listChanges(since: ReadonlyMap<number, number>) {
      asked.push(new Map(since))
      const answer = Promise.withResolvers<RegionChanges[]>()
      answers.push(answer)
      return answer.promise
    },
    answer: (...changes: RegionChanges[]) => answers.shift()?.resolve(changes),
    fail: (error: Error) => answers.shift()?.reject(error),
  }
}

function changes(region: number, version: number, ...keys: string[]): RegionChanges {
  const changed = keys.map((key): ChangedKey => ({ key, version }))
  return { region, changed, version, isPartial: false }
}

const open = (notesMax?: number) => {
  const clock = makeSteppedClock()
  const hot = heldStore()
  const options = { rememberMs: REMEMBER_MS, ...(notesMax === undefined ? {} : { notesMax }) }
  const freshness = makeFreshness(hot, 4, clock, options, (error) => expect.unreachable(String(error)))
  const nowTick = (): number => (clock.now() - POST_EPOCH_MS) * TICKS_PER_MS
  /** Looks with this answer. */
  async function lookWith(...answers: RegionChanges[]) {
    const looked = freshness.look(new Set())
    hot.answer(...answers)
    return looked
  }
  return { clock, hot, freshness, nowTick, lookWith }
}

describe('freshness', () => {
  it('requires the noted version of a changed key, and none of others', async () => {
    const { lookWith, nowTick } = open()
    const floorOf = await lookWith(changes(1, nowTick(), headKey('5'), inboxKey('1')))
    expect(floorOf(headKey('5'))).toBe(nowTick())
    expect(floorOf(inboxKey('1'))).toBe(nowTick())
    expect(floorOf(headKey('1'))).toBe(0)
  })

  it('takes a change of a head as one of the outbox', async () => {
    const { lookWith, nowTick } = open()
    expect((await lookWith(changes(1, nowTick(), headKey('5'))))(outboxKey('5'))).toBe(nowTick())
  })

  it('does not answer a page by a question that began before the page', async () => {
    const { hot, freshness, nowTick } = open()
    const first = freshness.look(new Set())
    const second = freshness.look(new Set())
    const third = freshness.look(new Set())
    expect(hot.asked).toHaveLength(1)
    hot.answer()
    await first
    await expect.poll(() => hot.asked.length).toBe(2)
    hot.answer(changes(1, nowTick(), headKey('5')))
    expect((await second)(headKey('5'))).toBe(nowTick())
    await third
    expect(hot.asked).toHaveLength(2)
  })

  it('answers all reads of a request by one question that began after the request', async () => {
    const { hot, freshness, lookWith, nowTick } = open()
    await lookWith()
    const asOf = freshness.moment()
    const reads = [freshness.look(new Set(), asOf), freshness.look(new Set(), asOf)]
    expect(hot.asked).toHaveLength(2)
    hot.answer(changes(1, nowTick(), headKey('5')))
    for (const floorOf of await Promise.all(reads)) expect(floorOf(headKey('5'))).toBe(nowTick())
    await freshness.look(new Set(), asOf)
    expect(hot.asked).toHaveLength(2)
    void freshness.look(new Set(), freshness.moment())
    expect(hot.asked).toHaveLength(3)
  })

  it('names the hot store for each read of a request whose question it did not answer', async () => {
    const { hot, freshness } = open()
    const asOf = freshness.moment()
    const degraded: Degraded[] = [new Set(), new Set()]
    for (const own of degraded) {
      const looked = freshness.look(own, asOf)
      hot.fail(new TidemarkError('HOT_STORE_UNAVAILABLE', 'down'))
      await looked
    }
    expect(degraded).toStrictEqual([new Set(['hotStore']), new Set(['hotStore'])])
    expect(hot.asked).toHaveLength(1)
  })

  it('asks each region from its last answer on, and a new process for the time that values live', async () => {
    const { hot, lookWith, clock, nowTick } = open()
    const start = nowTick() - REMEMBER_MS * TICKS_PER_MS
    const newest = nowTick() + 7
    await lookWith(changes(2, newest, headKey('2')))
    await lookWith()
    clock.advance(2 * REMEMBER_MS)
    await lookWith()
    const later = nowTick() - REMEMBER_MS * TICKS_PER_MS
    expect(hot.asked.map((ticks) => [...ticks.values()])).toStrictEqual([
      [start, start, start, start],
      [start, start, newest, start],
      [later, later, later, later],
    ])
  })

  it('names the hot store while it is down, keeps what is known, and asks for the missed changes afterwards', async () => {
    const { hot, freshness, lookWith, nowTick } = open()
    const version = nowTick()
    await lookWith(changes(1, version, headKey('5')))
    const degraded: Degraded = new Set()
    const looked = freshness.look(degraded)
    hot.fail(new TidemarkError('HOT_STORE_UNAVAILABLE', 'down'))
    expect((await looked)(headKey('5'))).toBe(version)
    expect([...degraded]).toStrictEqual(['hotStore'])
    await lookWith(changes(3, version + 9, headKey('3')))
    expect(hot.asked[2]?.get(1)).toBe(version)
    expect(hot.asked[2]?.get(3)).toBe(hot.asked[0]?.get(3))
    expect(freshness.floorOf(headKey('3'))).toBe(version + 9)
  })

  it('rejects with an error of another kind, and asks again for the next page', async () => {
    const { hot, freshness, lookWith } = open()
    const looked = freshness.look(new Set())
    hot.fail(new Error('a bug'))
    await expect(looked).rejects.toThrow('a bug')
    expect(typeof (await lookWith())).toBe('function')
  })

  it('suspects all values of a region whose older changes are forgotten', async () => {
    const { lookWith, nowTick, clock } = open()
    const version = nowTick()
    const floorOf = await lookWith({ ...changes(1, version), isPartial: true })
    const post = postIdOf(5, 1)
    expect([headKey('1'), outboxKey('5'), inboxKey('9'), contentKey(post)].map(floorOf)).toStrictEqual(Array(4).fill(version))
    expect([headKey('2'), contentKey(postIdOf(5, 2))].map(floorOf)).toStrictEqual([0, 0])
    clock.advance(REMEMBER_MS)
    await lookWith({ ...changes(2, nowTick()), isPartial: true })
    expect(floorOf(headKey('1'))).toBe(version)
  })

  it('keeps a note for its time, and then forgets it', async () => {
    const { lookWith, nowTick, clock, freshness } = open()
    const version = nowTick()
    const floorOf = await lookWith(changes(1, version, headKey('5')))
    clock.advance(REMEMBER_MS - 1)
    await lookWith(changes(2, nowTick(), headKey('2')))
    expect(floorOf(headKey('5'))).toBe(version)
    for (let round = 0; round < 2; round++) {
      clock.advance(REMEMBER_MS)
      await lookWith(changes(2, nowTick(), headKey('2')))
    }
    expect(floorOf(headKey('5'))).toBe(0)
    expect(freshness.figures().notes).toBe(2)
  })

  it('suspects the region of a note that was forgotten early, because there were too many', async () => {
    const { lookWith, nowTick, freshness } = open(10)
    const version = nowTick()
    const floorOf = await lookWith(changes(1, version, headKey('1')))
    await lookWith(changes(2, version + 1, ...Array.from({ length: 100 }, (_, at) => headKey(String(at * 4 + 2)))))
    expect(freshness.figures().notes).toBeLessThanOrEqual(20)
    expect(floorOf(headKey('1'))).toBe(version)
    expect(floorOf(headKey('5'))).toBe(version)
    expect(floorOf(headKey('2'))).toBe(version + 1)
    expect(floorOf(headKey('3'))).toBe(0)
  })

  it('passes each change to followers once, and asks once per second while there is a follower', async () => {
    const { hot, freshness, clock, lookWith, nowTick } = open()
    const seen: string[] = []
    const unfollow = freshness.follow((answers) => seen.push(...answers.flatMap(({ changed }) => changed.map(({ key }) => key))))
    await lookWith(changes(1, nowTick(), headKey('5')))
    clock.advance(1_000)
    expect(hot.asked).toHaveLength(2)
    hot.answer(changes(1, nowTick() + 1, headKey('1')))
    await expect.poll(() => seen).toStrictEqual([headKey('5'), headKey('1')])
    await expect.poll(() => clock.pending()).toBe(1)
    unfollow()
    clock.advance(1_000)
    hot.answer()
    await expect.poll(() => clock.pending()).toBe(0)
    clock.advance(10_000)
    expect(hot.asked).toHaveLength(3)
    await freshness.stop()
  })

  it('learns the changes of the parts that answer, and names the hot store for the others', async () => {
    const { hot, freshness, nowTick, lookWith } = open()
    const degraded: Degraded = new Set()
    const looked = freshness.look(degraded)
    hot.fail(new PartOutage(new Error('a master is lost'), (viewer) => viewer === '1' || viewer === '2'))
    await expect.poll(() => hot.asked.length).toBe(2)
    expect([...(hot.asked[1]?.keys() ?? [])]).toStrictEqual([0, 3])
    hot.answer(changes(3, nowTick(), headKey('3')))
    expect((await looked)(headKey('3'))).toBe(nowTick())
    expect([...degraded]).toStrictEqual(['hotStore'])
    await lookWith()
    expect(hot.asked[2]?.get(1)).toBe(hot.asked[0]?.get(1))
  })

  it('goes on for followers after the hot store was down', async () => {
    const { hot, freshness, clock } = open()
    const seen: number[] = []
    freshness.follow((answers) => seen.push(...answers.map(({ version }) => version)))
    clock.advance(1_000)
    hot.fail(new TidemarkError('HOT_STORE_UNAVAILABLE', 'down'))
    await expect.poll(() => clock.pending()).toBe(1)
    clock.advance(1_000)
    hot.answer(changes(0, 77, headKey('4')))
    await expect.poll(() => seen).toStrictEqual([77])
    await freshness.stop()
  })
})
