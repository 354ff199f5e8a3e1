import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LocalCache } from '../../core/sieve/local-cache.ts'
import { makeSieveCache } from '../../core/sieve/sieve.ts'
import { makeSteppedClock } from '../../harness/stepped-clock.ts'

function setup(entriesMax = 3, bytesMax = 1_000) {
  const clock = makeSteppedClock()
  return { clock, cache: makeSieveCache<string>(clock, { entriesMax, bytesMax }) }
}

const held = (cache: LocalCache<string>, keys: string) =>
  keys
    .split('')
    .filter((key) => cache.getStale(key) !== undefined)
    .join('')

describe('a SIEVE cache', () => {
  it('takes memory for its entries, not for its maximum', () => {
    const before = process.memoryUsage().heapUsed
    const { cache } = setup(4_000_000, 1_000_000_000)
    cache.set('a', 'a', 1)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(8_000_000)
    expect(cache.get('a')).toBe('a')
  })

  it('evicts the oldest unvisited entry, and visited entries keep their place', () => {
    const { cache } = setup()
    for (const key of 'abc') cache.set(key, key, 1)
    cache.get('a')
    cache.set('d', 'd', 1)
    expect(held(cache, 'abcd')).toBe('acd')
    // The hand is at c: a is safe until the hand comes round, although its bit is cleared.
    cache.set('e', 'e', 1)
    expect(held(cache, 'abcde')).toBe('ade')
    cache.set('f', 'f', 1)
    expect(held(cache, 'abcdef')).toBe('aef')
    cache.set('g', 'g', 1)
    expect(held(cache, 'abcdefg')).toBe('afg')
  })

  it('returns many values as one by one', () => {
    const { cache, clock } = setup()
    cache.set('a', 'a', 1)
    cache.set('b', 'b', 1, 100)
    expect(cache.getMany(['b', 'c', 'a', 'b'])).toStrictEqual(['b', undefined, 'a', 'b'])
    clock.advance(100)
    expect(cache.getMany(['a', 'b'])).toStrictEqual(['a', undefined])
    expect(cache.figures()).toMatchObject({ hits: 4, misses: 2 })
  })

  it('evicts for bytes as well as for entries, and never the entry being added', () => {
    const { cache } = setup(10, 100)
    cache.set('a', 'a', 40)
    cache.set('b', 'b', 40)
    cache.set('a', 'A', 90)
    expect(cache.get('a')).toBe('A')
    expect(cache.get('b')).toBeUndefined()
    expect(cache.figures()).toEqual({ hits: 1, misses: 1, evictions: 1, entries: 1, bytes: 90 })
  })

  it('accepts nothing larger than itself, and then forgets the old value of the key', () => {
    const { cache } = setup(10, 100)
    cache.set('a', 'old', 40)
    expect(cache.set('a', 'new', 101)).toBe(false)
    expect(cache.getStale('a')).toBeUndefined()
    expect(cache.figures()).toMatchObject({ entries: 0, bytes: 0 })
    expect(() => cache.set('a', 'a', Number.NaN)).toThrow('is not valid')
  })

  it('returns an expired value only as the last known one', () => {
    const { clock, cache } = setup()
    cache.set('a', 'a', 1, 1_000)
    clock.advance(999)
    expect(cache.get('a')).toBe('a')
    clock.advance(1)
    expect(cache.get('a')).toBeUndefined()
    expect(cache.getStale('a')).toBe('a')
    expect(cache.figures()).toMatchObject({ hits: 1, misses: 1, entries: 1 })
    cache.set('a', 'again', 1)
    clock.advance(10 ** 9)
    expect(cache.get('a')).toBe('again')
  })

  it('does not keep a value alive because the clock was set back', () => {
    const { clock, cache } = setup()
    cache.set('a', 'a', 1, 1_000)
    clock.advance(-3_600_000)
    expect(cache.get('a')).toBeUndefined()
  })

  it('forgets deleted entries at any position of the hand, and everything when cleared', () => {
    const { cache } = setup()
    for (const key of 'abcd') cache.set(key, key, 1)
    expect(cache.delete('b')).toBe(true)
    expect(cache.delete('b')).toBe(false)
    for (const key of 'efg') cache.set(key, key, 1)
    expect(cache.figures()).toMatchObject({ entries: 3, bytes: 3 })
    cache.clear()
    expect(held(cache, 'abcdefg')).toBe('')
    for (const key of 'hij') cache.set(key, key, 1)
    expect(held(cache, 'hij')).toBe('hij')
  })

  it('equals the twenty lines of the paper for any operations', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j')
    const step = fc.oneof(
      fc.record({ do: fc.constant('get' as const), key }),
      fc.record({ do: fc.constant('set' as const), key, size: fc.integer({ min: 0, max: 60 }) }),
      fc.record({ do: fc.constant('delete' as const), key }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 6 }), (steps, entriesMax) => {
        const { cache } = setup(entriesMax, 100)
        const model = makeModel(entriesMax, 100)
        for (const each of steps) {
          if (each.do === 'get') expect(cache.get(each.key) !== undefined).toBe(model.get(each.key))
          if (each.do === 'set') {
            cache.set(each.key, each.key, each.size)
            model.set(each.key, each.size)
          }
          if (each.do === 'delete') expect(cache.delete(each.key)).toBe(model.delete(each.key))
          expect(held(cache, 'abcdefghij')).toBe(model.keys())
          expect(cache.figures()).toMatchObject({ bytes: model.bytes(), entries: model.keys().length })
        }
      }),
      { numRuns: 300 },
    )
  })
})

/** A plain array, oldest first. The hand is an index. */
function makeModel(entriesMax: number, bytesMax: number) {
  let queue: { key: string; size: number; visited: boolean }[] = []
  let hand = 0
  const find = (key: string) => queue.find((each) => each.key === key)
  const bytes = () => queue.reduce((sum, each) => sum + each.size, 0)
  const drop = (key: string): boolean => {
    const index = queue.findIndex((each) => each.key === key)
    if (index < 0) return false
    queue = queue.filter((_, other) => other !== index)
    if (index < hand) hand--
    // Past the newest entry the hand starts again, so it does not point at the next new entry.
    if (hand === queue.length) hand = 0
    return true
  }
  const evict = (kept: string) => {
    for (;;) {
      const each = queue[hand]
      if (each !== undefined && !each.visited && each.key !== kept) return drop(each.key)
      if (each !== undefined) each.visited = false
      hand = (hand + 1) % queue.length
    }
  }
  return {
    bytes,
    drop,
    delete: drop,
    get(key: string) {
      const found = find(key)
      if (found !== undefined) found.visited = true
      return found !== undefined
    },
    set(key: string, size: number) {
      const found = find(key)
      if (found !== undefined) found.size = 0
      while (bytes() + size > bytesMax || (found === undefined && queue.length === entriesMax)) evict(key)
      if (found === undefined) queue.push({ key, size, visited: false })
      else Object.assign(found, { size, visited: true })
    },
    keys: () =>
      queue
        .map((each) => each.key)
        .sort()
        .join(''),
  }
}
