import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeAggregator, type RegionKeys } from '../../writeback/aggregator.ts'
import { keyText } from '../../core/progress-key.ts'
import { makeSteppedClock } from '../../harness/stepped-clock.ts'

const key = (oid: string, viewer = '1') => ({ viewer, business: 1, oid })

function makeWatched(options: { keysMax: number; ageMaxMs: number; heldMax: number }) {
  const clock = makeSteppedClock()
  const flushed: RegionKeys[][] = []
  const aggregator = makeAggregator(clock, (regions) => flushed.push([...regions]), options)
  const oids = () => flushed.map((regions) => regions.map(({ region, keys }) => [region, ...keys.map((each) => each.oid)]))
  return { clock, aggregator, flushed, oids }
}

describe('aggregator', () => {
  test('a key reported a hundred times leaves once', () => {
    const { aggregator, clock, oids } = makeWatched({ keysMax: 10, ageMaxMs: 1_000, heldMax: 100 })
    for (let i = 0; i < 100; i++) aggregator.add(3, key('a'))
    clock.advance(1_000)
    expect(oids()).toEqual([[[3, 'a']]])
    expect(aggregator.figures()).toEqual({ added: 100, flushed: 1, dropped: 0, held: 0 })
  })

  test('a key keeps the newest day on which its play was staged, regardless of other reports', () => {
    const { aggregator, flushed } = makeWatched({ keysMax: 10, ageMaxMs: 1_000, heldMax: 100 })
    for (const stagedOn of [undefined, 20_000, undefined, 20_001, undefined]) {
      aggregator.add(3, stagedOn === undefined ? key('a') : { ...key('a'), stagedOn })
    }
    aggregator.flushAll()
    expect(flushed).toEqual([[{ region: 3, keys: [{ ...key('a'), stagedOn: 20_001 }] }]])
  })

  test('a region is flushed alone as soon as it has keysMax keys', () => {
    const { aggregator, oids } = makeWatched({ keysMax: 2, ageMaxMs: 1_000, heldMax: 100 })
    aggregator.add(1, key('a'))
    aggregator.add(2, key('b'))
    aggregator.add(1, key('c'))
    expect(oids()).toEqual([[[1, 'a', 'c']]])
    expect(aggregator.figures().held).toBe(1)
  })

  test('a region leaves when its oldest key is ageMaxMs old, not its newest', () => {
    const { aggregator, clock, oids } = makeWatched({ keysMax: 10, ageMaxMs: 1_000, heldMax: 100 })
    aggregator.add(1, key('a'))
    clock.advance(999)
    aggregator.add(1, key('b'))
    expect(oids()).toEqual([])
    clock.advance(1)
    expect(oids()).toEqual([[[1, 'a', 'b']]])
  })

  test('another age holds for the waiting keys too, from the next key on', () => {
    const options = { keysMax: 10, ageMaxMs: 60_000, heldMax: 100 }
    const { aggregator, clock, oids } = makeWatched(options)
    aggregator.add(1, key('a'))
    clock.advance(500)
    options.ageMaxMs = 1_000
    aggregator.add(2, key('b'))
    clock.advance(499)
    expect(oids()).toEqual([])
    clock.advance(1)
    expect(oids()).toEqual([[[1, 'a']]])
    options.ageMaxMs = 3_000
    aggregator.add(3, key('c'))
    clock.advance(2_499)
    expect(oids()).toHaveLength(1)
    clock.advance(1)
    expect(oids()[1]).toEqual([[2, 'b']])
    aggregator.flushAll()
    expect(clock.pending()).toBe(0)
  })

  test('regions that fall due together leave in one call, younger ones later', () => {
    const { aggregator, clock, oids } = makeWatched({ keysMax: 10, ageMaxMs: 1_000, heldMax: 100 })
    aggregator.add(1, key('a'))
    aggregator.add(2, key('b'))
    clock.advance(500)
    aggregator.add(3, key('c'))
    clock.advance(500)
    expect(oids()).toEqual([
      [
        [1, 'a'],
        [2, 'b'],
      ],
    ])
    clock.advance(500)
    expect(oids()[1]).toEqual([[3, 'c']])
  })

  test('when full it drops new keys, counts them, and never refuses a held key', () => {
    const { aggregator, oids } = makeWatched({ keysMax: 10, ageMaxMs: 1_000, heldMax: 2 })
    for (const oid of ['a', 'b', 'c', 'a']) aggregator.add(1, key(oid))
    expect(aggregator.figures()).toMatchObject({ added: 4, dropped: 1, held: 2 })
    aggregator.flushAll()
    expect(oids()).toEqual([[[1, 'a', 'b']]])
  })

  test('flushAll leaves neither a key nor a timer behind', () => {
    const { aggregator, clock, flushed } = makeWatched({ keysMax: 10, ageMaxMs: 1_000, heldMax: 100 })
    aggregator.add(1, key('a'))
    aggregator.flushAll()
    expect(clock.pending()).toBe(0)
    expect(aggregator.figures().held).toBe(0)
    clock.advance(10_000)
    expect(flushed).toHaveLength(1)
  })

  test('equal ids of two businesses and of two viewers are different keys', () => {
    const { aggregator } = makeWatched({ keysMax: 10, ageMaxMs: 1_000, heldMax: 100 })
    aggregator.add(1, { viewer: '1', business: 1, oid: '1' })
    aggregator.add(1, { viewer: '1', business: 2, oid: '1' })
    aggregator.add(1, { viewer: '11', business: 1, oid: '1' })
    expect(aggregator.figures().held).toBe(3)
  })

  test('in any order of events, every key leaves at least once after its last report, and none waits longer than ageMaxMs', () => {
    const step = fc.record({ region: fc.nat(2), oid: fc.constantFrom('a', 'b', 'c', 'd'), wait: fc.nat(700) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (steps, keysMax) => {
        const clock = makeSteppedClock()
        const reported = new Map<string, number>()
        let lateness = 0
        const aggregator = makeAggregator(
          clock,
          (regions) => {
            for (const { region, keys } of regions) {
              expect(keys.length).toBeLessThanOrEqual(keysMax)
              for (const each of keys) {
                const text = `${region}/${keyText(each)}`
                lateness = Math.max(lateness, clock.now() - (reported.get(text) as number))
                reported.delete(text)
              }
            }
          },
          { keysMax, ageMaxMs: 1_000, heldMax: 1_000 },
        )
        for (const { region, oid, wait } of steps) {
          const text = `${region}/${keyText(key(oid))}`
          if (!reported.has(text)) reported.set(text, clock.now())
          aggregator.add(region, key(oid))
          clock.advance(wait)
        }
        clock.advance(1_000)
        expect(reported.size).toBe(0)
        expect(lateness).toBeLessThanOrEqual(1_000)
        expect(clock.pending()).toBe(0)
      }),
    )
  })
})
