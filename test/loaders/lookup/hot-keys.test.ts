import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeHotKeys } from '../../../loaders/lookup/hot-keys.ts'
import { randomBelow, seededRandom, type Random } from '../../../core/random.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

/** The exact contents of the panes: the same window without a sketch. */
function makeExact(windowMs: number, began: number) {
  let panes: [Map<string, number>, Map<string, number>] = [new Map(), new Map()]
  let at = began
  const sum = (pane: Map<string, number>) => [...pane.values()].reduce((all, count) => all + count, 0)
  return {
    add(key: string, now: number, count = 1) {
      this.turn(now)
      panes[0].set(key, (panes[0].get(key) ?? 0) + count)
    },
    turn(now: number) {
      for (; now >= at + windowMs; at += windowMs) panes = [new Map(), panes[0]]
    },
    counts(now: number) {
      this.turn(now)
      const weight = 1 - (now - at) / windowMs
      const keys = new Set([...panes[0].keys(), ...panes[1].keys()])
      const counts = new Map([...keys].map((key) => [key, (panes[0].get(key) ?? 0) + weight * (panes[1].get(key) ?? 0)]))
      return { counts, total: sum(panes[0]) + weight * sum(panes[1]) }
    },
  }
}

/** Keys by the Zipf law: the key of rank r has a weight of r^-exponent. */
function makeZipf(random: Random, count: number, exponent: number): () => string {
  const sums = new Float64Array(count)
  for (let rank = 0, sum = 0; rank < count; rank++) sums[rank] = sum += (rank + 1) ** -exponent
  return () => {
    const wanted = random() * (sums[count - 1] as number)
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] as number) > wanted) high = middle
      else low = middle + 1
    }
    return `video:${low}`
  }
}

function setup(seed = 1, options = {}) {
  const clock = makeSteppedClock()
  return { clock, keys: makeHotKeys(clock, seededRandom(seed), options) }
}

describe('hot keys', () => {
  it.each([1, 2, 3])('find a subject with half of 20,000 reads per second in a tenth of a second, and release it, seed %i', (seed) => {
    const { clock, keys } = setup(seed)
    const random = seededRandom(seed + 100)
    const next = makeZipf(random, 100_000, 0.8)
    const read = (ms: number, burst: boolean, until: () => boolean) => {
      for (let passed = 0; passed < ms; passed++, clock.advance(1)) {
        for (let i = 0; i < 20; i++) keys.add(burst && i % 2 === 0 ? 'video:burst' : next())
        if (until()) return passed
      }
      return ms
    }
    read(3_300, false, () => keys.isHot('video:burst'))
    expect(keys.isHot('video:burst')).toBe(false)
    expect(read(1_000, true, () => keys.isHot('video:burst'))).toBeLessThan(100)
    read(1_700, true, () => !keys.isHot('video:burst'))
    expect(keys.list()[0]).toMatchObject({ key: 'video:burst' })
    expect(keys.list()[0]?.share).toBeCloseTo(0.5, 1)
    expect(keys.list()[0]?.perSecond).toBeGreaterThan(9_000)
    expect(read(4_000, false, () => !keys.isHot('video:burst'))).toBeLessThan(2_000)
    expect(keys.list().map((each) => each.key)).not.toContain('video:burst')
  })

  it('are absent while there are few reads, for any share', () => {
    const { clock, keys } = setup()
    for (let i = 0; i < 99; i++) expect(keys.add('a')).toBe(false)
    expect(keys.add('a')).toBe(true)
    expect(keys.list()).toEqual([{ key: 'a', share: 1, perSecond: 100 }])
    clock.advance(1_500)
    expect(keys.isHot('a')).toBe(false)
    expect(keys.list()).toEqual([])
  })

  it('are absent after a pause, and after the clock was set back for long', () => {
    const { clock, keys } = setup()
    keys.add('a', 500)
    expect(keys.isHot('a')).toBe(true)
    clock.advance(2_000)
    expect(keys.isHot('a')).toBe(false)
    keys.add('a', 500)
    clock.advance(-3_600_000)
    expect(keys.isHot('a')).toBe(true)
    clock.advance(2_000)
    expect(keys.isHot('a')).toBe(false)
    keys.add('b', 500)
    expect(keys.list()).toEqual([{ key: 'b', share: 1, perSecond: 500 }])
  })

  it('are absent for slow reads over a long time, even without queries', () => {
    const { clock, keys } = setup()
    for (let i = 0; i < 1_000; i++, clock.advance(20)) expect(keys.add('a')).toBe(false)
  })

  it('displace the crowd in their buckets, one by one or all at once', () => {
    for (const step of [1, 7, 100_000]) {
      const { keys } = setup(7, { shareMin: 0.5 })
      const random = seededRandom(8)
      // 64 buckets per row, and keys that have taken them all.
      for (let i = 0; i < 2_500; i++) keys.add(`cold:${randomBelow(random, 50_000)}`, 20)
      expect(keys.list()).toEqual([])
      for (let added = 0; added < 100_000; added += step) keys.add('hot', step)
      expect(keys.list().map((each) => each.key)).toEqual(['hot'])
      expect(keys.list()[0]?.perSecond).toBeGreaterThan(99_000)
    }
  })

  it('are not displaced by the crowd in their buckets, added one by one or forty at once', () => {
    for (const step of [1, 40]) {
      const { keys } = setup(9, { shareMin: 0.5 })
      keys.add('hot', 60_000)
      for (let i = 0; i < 50_000 / step; i++) keys.add(`cold:${i}`, step)
      expect(keys.list()).toEqual([{ key: 'hot', share: 60_000 / 110_000, perSecond: 60_000 }])
      const warm = setup(9, { shareMin: 0.5, countMin: 1 }).keys
      warm.add('warm', 200)
      for (let i = 0; i < 200 / step; i++) warm.add(`cold:${i}`, step)
      expect(warm.list()[0]?.perSecond).toBe(200)
    }
  })

  it('are never reported above the exact count, and a key a tenth above the threshold is found, on any Zipf stream', () => {
    const streams = fc.record({
      seed: fc.integer({ min: 1, max: 1_000_000 }),
      exponent: fc.double({ min: 0.5, max: 1.4, noNaN: true }),
      perMs: fc.integer({ min: 1, max: 20 }),
      count: fc.constantFrom(1, 1, 3, 40),
    })
    fc.assert(
      fc.property(streams, ({ seed, exponent, perMs, count }) => {
        const { clock, keys } = setup(seed)
        const exact = makeExact(1_000, clock.now())
        const next = makeZipf(seededRandom(seed + 1), 20_000, exponent)
        for (let ms = 0; ms < 2_600; ms++, clock.advance(1)) {
          // The sketch reads the clock before it counts, as the exact one does.
          keys.isHot('')
          for (let i = 0; i < perMs; i++) {
            const key = next()
            keys.add(key, count)
            exact.add(key, clock.now(), count)
          }
          if (ms % 650 === 649) compare()
        }
        function compare() {
          const { counts, total } = exact.counts(clock.now())
          const threshold = Math.max(100, 0.01 * total)
          const found = new Map(keys.list().map((each) => [each.key, each]))
          for (const { key, share, perSecond } of found.values()) {
            const truth = counts.get(key) as number
            expect(truth).toBeGreaterThanOrEqual(threshold - 1e-6)
            expect(perSecond).toBeLessThanOrEqual(truth + 1e-6)
            expect(perSecond).toBeGreaterThan(0.9 * truth)
            expect(share).toBeCloseTo(perSecond / total, 9)
          }
          for (const [key, truth] of counts) {
            if (truth > 1.1 * threshold) expect(found.has(key) && keys.isHot(key)).toBe(true)
          }
        }
      }),
      { numRuns: 25, seed: 20_261_121 },
    )
  })

  it('are listed within bounds, for any number of former keys', () => {
    const { clock, keys } = setup(3, { shareMin: 0.1, countMin: 10 })
    for (let i = 0; i < 5_000; i++) {
      expect(keys.add(`key:${i}`, 1_000)).toBe(true)
      clock.advance(2_000)
      keys.isHot('')
    }
    keys.add('last', 1_000)
    expect(keys.list().map((each) => each.key)).toEqual(['last'])
  })
})
