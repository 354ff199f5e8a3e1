import { afterEach, describe, expect, it } from 'vitest'
import { type FeedSwitch, type FeedSwitchOptions, makeFeedSwitch } from '../../../../subgraphs/thumbup/change-feed/feed-switch.ts'
import { randomBelow, seededRandom } from '../../../../core/random.ts'
import type { CountChanges } from '../../../../subgraphs/thumbup/change-feed/count-feed.ts'
import { makeSimulatedFeed } from '../../../support/simulated-feed.ts'
import { makeSteppedClock } from '../../../../harness/stepped-clock.ts'

const BOUNDS = { staleAfterMs: 1_000, backAfterMs: 3_000, restartAfterMs: 500 }

const change = (oid: string, version: number): CountChanges => ({
  counts: [{ business: 1, oid, counts: { likes: version, dislikes: 0, version } }],
  owners: [],
})
const sumOf = (owner: string, version: number): CountChanges => ({ counts: [], owners: [{ business: 1, owner, likes: version, version }] })
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('the switch between two feeds', () => {
  let opened: FeedSwitch | undefined
  afterEach(async () => {
    await opened?.stop()
    opened = undefined
  })

  async function open(more: FeedSwitchOptions = {}, refusal?: Error) {
    const clock = makeSteppedClock()
    const [primary, fallback] = [makeSimulatedFeed(), makeSimulatedFeed()]
    primary.refuse(refusal)
    const got: string[] = []
    const [switched, reloads]: [string[], string[]] = [[], []]
    let rejects = 0
    const feed = await makeFeedSwitch(
      clock,
      primary,
      fallback,
      async ({ counts, owners }) => {
        if (rejects > 0 && rejects--) throw new Error('not now')
        got.push(...counts.map((each) => `${each.oid}@${each.counts.version}`), ...owners.map((each) => `${each.owner}@${each.version}`))
      },
      { onSwitch: (active, reason) => switched.push(`${active}: ${reason}`), onReload: (reason) => reloads.push(reason) },
      { ...BOUNDS, ...more },
    )
    opened = feed
    /** Advances the clock, and the primary feed with it unless it is stalled. */
    async function pass(ms: number, isStalled = false) {
      for (let left = ms; left > 0; left -= 100) {
        clock.advance(Math.min(100, left))
        if (!isStalled && primary.isRunning()) primary.readTo(clock.now())
        await settle()
      }
    }
    return { clock, primary, fallback, feed, got, switched, reloads, pass, reject: (times: number) => void (rejects = times) }
  }

  it('while the change feed is fresh, events wait and are dropped once it has passed them', async () => {
    const { primary, fallback, feed, got, pass, switched } = await open()
    await pass(100)
    await fallback.bring(change('a', 1))
    await primary.bring(change('a', 1))
    expect(got).toEqual(['a@1'])
    expect(feed.figures().buffered).toBe(1)
    await pass(200)
    expect(feed.figures()).toMatchObject({ buffered: 0, active: 'primary', switches: 0 })
    expect(switched).toEqual([])
  })

  it('when the change feed stalls, events take over within the bound, starting with those it had not passed', async () => {
    const { primary, fallback, feed, got, pass, switched, reloads } = await open()
    await pass(100)
    await primary.bring(change('a', 1))
    await fallback.bring(change('a', 1))
    await pass(100, true)
    await fallback.bring(change('a', 2))
    await fallback.bring(change('b', 1))
    expect(got).toEqual(['a@1'])
    await pass(BOUNDS.staleAfterMs, true)
    expect(got).toEqual(['a@1', 'a@2', 'b@1'])
    await fallback.bring(change('a', 3))
    expect(got.at(-1)).toBe('a@3')
    expect(feed.figures()).toMatchObject({ active: 'fallback', switches: 1, repeated: 1, buffered: 0 })
    expect(switched).toEqual([expect.stringMatching(/^fallback: the change feed has made no progress for 1\d\d\d ms/)])
    expect(reloads).toEqual([])
  })

  it('a recovered change feed repeats nothing, fills gaps of the events, and takes over again after a while', async () => {
    const { primary, fallback, feed, got, pass, switched } = await open()
    await pass(100)
    await pass(1_500, true)
    await fallback.bring(change('a', 1))
    await fallback.bring(change('a', 2))
    await primary.bring(change('a', 1))
    await primary.bring(sumOf('owner', 1))
    await primary.bring(change('a', 2))
    expect(got).toEqual(['a@1', 'a@2', 'owner@1'])
    await pass(BOUNDS.backAfterMs - 200)
    expect(feed.figures().active).toBe('fallback')
    await pass(600)
    expect(feed.figures()).toMatchObject({ active: 'primary', switches: 2 })
    expect(switched[1]).toMatch(/^primary: the change feed has been fresh for/)
    await fallback.bring(change('a', 3))
    expect(got).not.toContain('a@3')
    await primary.bring(change('a', 3))
    expect(got).toEqual(['a@1', 'a@2', 'owner@1', 'a@3'])
  })

  it('a change feed that recovers only briefly does not take over', async () => {
    const { feed, pass } = await open()
    await pass(100)
    for (let round = 0; round < 4; round++) {
      await pass(1_500, true)
      await pass(BOUNDS.backAfterMs / 2)
    }
    expect(feed.figures()).toMatchObject({ active: 'fallback', switches: 1 })
  })

  it('a change feed that ends is replaced at once, restarted, and takes over when it is fresh', async () => {
    const { primary, fallback, feed, got, pass, switched } = await open()
    await pass(100)
    primary.end(new Error('no rights any more'))
    await settle()
    expect(switched).toEqual(['fallback: no rights any more'])
    expect(primary.stops()).toBe(1)
    await fallback.bring(change('a', 1))
    expect(got).toEqual(['a@1'])
    await pass(BOUNDS.restartAfterMs + BOUNDS.backAfterMs + 500)
    expect(primary.starts()).toBe(2)
    expect(feed.figures().active).toBe('primary')
  })

  it('a change feed that never starts leaves the work to events, causes one reload, and is retried', async () => {
    const { primary, fallback, feed, got, pass, reloads } = await open({}, new Error('the server writes no binary log'))
    expect(feed.figures()).toMatchObject({ active: 'fallback', switches: 1 })
    expect(reloads).toHaveLength(1)
    await fallback.bring(change('a', 1))
    expect(got).toEqual(['a@1'])
    await pass(1_700)
    expect(primary.starts()).toBeGreaterThanOrEqual(3)
    primary.refuse(undefined)
    await pass(BOUNDS.backAfterMs + 1_200)
    expect(feed.figures().active).toBe('primary')
    expect(reloads).toHaveLength(1)
  })

  it('a rejected change is not counted as applied and is delivered again, from either feed', async () => {
    const { primary, fallback, got, pass, reject } = await open()
    await pass(100)
    reject(1)
    await expect(primary.bring(change('a', 1))).rejects.toThrow('not now')
    await primary.bring(change('a', 1))
    await pass(100, true)
    await fallback.bring(change('a', 2))
    reject(3)
    await pass(1_500, true)
    expect(got).toEqual(['a@1', 'a@2'])
    reject(1)
    await expect(fallback.bring(change('a', 3))).rejects.toThrow('not now')
    await fallback.bring(change('a', 3))
    expect(got).toEqual(['a@1', 'a@2', 'a@3'])
  })

  it('an overflow of waiting events causes a reload only if they were needed', async () => {
    const { fallback, got, pass, reloads, feed } = await open({ bufferMax: 3 })
    await pass(100)
    for (let version = 1; version <= 5; version++) await fallback.bring(change('a', version))
    expect(feed.figures().buffered).toBe(3)
    await pass(300)
    await pass(1_500, true)
    expect(reloads).toEqual([])
    await pass(BOUNDS.backAfterMs + 1_000)
    await pass(100, true)
    for (let version = 6; version <= 10; version++) await fallback.bring(change('a', version))
    await pass(1_500, true)
    expect(reloads).toEqual([expect.stringMatching(/more than 3 events/)])
    expect(got).toEqual(['a@8', 'a@9', 'a@10'])
  })

  it('an overflow of remembered subjects during a stall causes a reload after it', async () => {
    const { primary, fallback, pass, reloads, feed } = await open({ keysMax: 3 })
    await pass(100)
    await pass(1_500, true)
    for (const oid of ['a', 'b', 'c', 'd', 'e']) await fallback.bring(change(oid, 1))
    expect(reloads).toEqual([])
    for (const oid of ['a', 'b', 'c', 'd', 'e']) await primary.bring(change(oid, 1))
    await pass(BOUNDS.backAfterMs + 1_000)
    expect(feed.figures().active).toBe('primary')
    expect(reloads).toEqual([expect.stringMatching(/more than 3 subjects/)])
  })

  it('forgetting subjects that the change feed has passed causes no reload', async () => {
    const { primary, pass, reloads } = await open({ keysMax: 3 })
    await pass(100)
    for (const oid of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await primary.bring(change(oid, 1))
      await pass(200)
    }
    expect(reloads).toEqual([])
  })

  it('a gap of a feed is passed on, and an older version than the last one is dropped', async () => {
    const { primary, got, pass, reloads } = await open()
    await pass(100)
    primary.gap('purged')
    expect(reloads).toEqual(['purged'])
    await primary.bring(change('a', 7))
    await primary.bring(change('a', 1))
    expect(got).toEqual(['a@7'])
  })

  it('reports the freshness of the active feed', async () => {
    const { clock, fallback, feed, pass } = await open()
    await pass(1_000)
    clock.advance(70)
    expect(feed.figures()).toMatchObject({ active: 'primary', freshnessMs: 70, primaryLagMs: 70 })
    await pass(1_500, true)
    fallback.readTo(clock.now() - 5)
    expect(feed.figures()).toMatchObject({ active: 'fallback', freshnessMs: 5, primaryLagMs: 1_570 })
  })

  it('leaves no timer behind', async () => {
    const { clock, pass } = await open()
    await pass(500)
    await opened?.stop()
    expect(clock.pending()).toBe(0)
  })

  it.each(Array.from({ length: 300 }, (_, seed) => seed))(
    'random stalls, ends and rejections lose no version and deliver none twice (seed %i)',
    async (seed) => {
      const random = seededRandom(seed)
      const { clock, primary, fallback, got, reloads, feed, reject, pass } = await open()
      await pass(100)
      const committed: { oid: string; version: number; at: number }[] = []
      const versions = new Map<string, number>()
      /** How many of `committed` each feed has delivered. */
      let [binlog, log] = [0, 0]
      let stalledSteps = 0
      const brought = async (source: typeof primary, next: number): Promise<number> => {
        const some = committed.slice(next, next + 1 + randomBelow(random, 4))
        // Sometimes the feed repeats earlier changes.
        const from = randomBelow(random, 10) === 0 ? Math.max(0, next - 3) : next
        const all = [...committed.slice(from, next), ...some]
        if (all.length === 0) return next
        const taken = source.bring({ counts: all.map(({ oid, version }) => change(oid, version).counts[0]!), owners: [] })
        return taken.then(
          () => next + some.length,
          () => next,
        )
      }
      const step = async (isLast: boolean) => {
        clock.advance(1 + randomBelow(random, 90))
        if (!isLast && randomBelow(random, 3) > 0) {
          const oid = `s${randomBelow(random, 5)}`
          const version = (versions.get(oid) ?? 0) + 1
          versions.set(oid, version)
          committed.push({ oid, version, at: clock.now() })
        }
        if (!isLast && stalledSteps === 0 && randomBelow(random, 60) === 0) stalledSteps = 10 + randomBelow(random, 120)
        if (!isLast && randomBelow(random, 150) === 0) primary.end(new Error('ended'))
        if (!isLast && randomBelow(random, 40) === 0) reject(1 + randomBelow(random, 3))
        if (isLast) {
          stalledSteps = 0
          reject(0)
        }
        if (stalledSteps > 0) stalledSteps--
        else if (primary.isRunning()) {
          const now = clock.now()
          binlog = await brought(primary, binlog)
          primary.readTo(Math.min(now, committed[binlog]?.at ?? now))
        }
        if (fallback.isRunning() && randomBelow(random, 3) > 0) log = await brought(fallback, log)
        await settle()
      }
      for (let index = 0; index < 400; index++) await step(false)
      for (let index = 0; index < 400; index++) await step(true)
      expect(feed.figures().active).toBe('primary')
      expect(new Set(got).size).toBe(got.length)
      for (const [oid, version] of versions) {
        const its = got.filter((text) => text.startsWith(`${oid}@`))
        expect(its).toEqual(Array.from({ length: version }, (_, index) => `${oid}@${index + 1}`))
      }
      expect(reloads).toEqual([])
    },
  )
})
