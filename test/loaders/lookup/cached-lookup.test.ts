import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CachedLoad } from '../../../loaders/lookup/cache-fill.ts'
import { makeCachedLookup, type CachedLookupOptions } from '../../../loaders/lookup/cached.ts'
import { randomBelow, seededRandom } from '../../../core/random.ts'
import { makeSieveCache } from '../../../core/sieve/sieve.ts'
import { makeSteppedClock } from '../../../harness/stepped-clock.ts'

type Call = { keys: readonly string[]; read: Map<string, number>; answer(): void; fail(error: Error): void }

/** A store of versions, read when a load begins. Each load ends when the test ends it. */
function setup(options: Partial<CachedLookupOptions<string, number>> = {}, entriesMax = 100) {
  const clock = makeSteppedClock()
  const store = new Map<string, number>()
  const calls: Call[] = []
  const load = (keys: readonly string[]) =>
    new Promise<number[]>((resolve, reject) => {
      const read = new Map(keys.map((key) => [key, store.get(key) ?? 0]))
      calls.push({ keys, read, answer: () => resolve(keys.map((key) => read.get(key) as number)), fail: reject })
    })
  const cache = makeSieveCache<CachedLoad<number>>(clock, { entriesMax, bytesMax: 1_000_000 })
  const isHot = (text: string) => text.startsWith('hot')
  const lookup = makeCachedLookup(clock, cache, load, { ttlMs: 1_000, isHot, textOf: (key) => key, bytesOf: () => 8, ...options })
  /** A write in the order of writers: first the store, then the caches, then the acknowledgement. */
  const write = (key: string, version: number) => {
    store.set(key, version)
    lookup.invalidate(key)
  }
  const answerAll = () => calls.splice(0).forEach((call) => call.answer())
  const get = async (...keys: string[]) => {
    const values = lookup.getMany(keys)
    answerAll()
    return values
  }
  return { clock, store, calls, cache, lookup, write, get }
}

describe('a cached lookup', () => {
  it('answers in key order, from the cache and from one load, each key once', async () => {
    const { store, calls, lookup, get } = setup()
    store.set('hot a', 1).set('b', 2).set('hot c', 3)
    await get('hot a')
    const values = lookup.getMany(['b', 'hot a', 'hot c', 'b', 'hot c'])
    expect(calls.map((call) => call.keys)).toEqual([['b', 'hot c']])
    calls[0]?.answer()
    expect(await values).toEqual([2, 1, 3, 2, 3])
    expect(lookup.figures()).toEqual({ cached: 1, joined: 0, loaded: 3 })
    expect(await lookup.getMany([])).toEqual([])
  })

  it('serves a hot key for the TTL, counted from the beginning of its load', async () => {
    const { clock, store, calls, lookup } = setup()
    store.set('hot', 1)
    const first = lookup.getMany(['hot'])
    clock.advance(400)
    calls[0]?.answer()
    expect(await first).toEqual([1])
    store.set('hot', 2)
    clock.advance(599)
    expect(await lookup.getMany(['hot'])).toEqual([1])
    clock.advance(1)
    const later = lookup.getMany(['hot'])
    calls[1]?.answer()
    expect(await later).toEqual([2])
  })

  it('does not return to an older value when a key is hot, cold and hot again', async () => {
    let isHot = true
    const { store, get } = setup({ isHot: () => isHot, ttlMs: 10_000 })
    const phases: boolean[] = [true, false, false, true, false, true, true, false, true]
    const seen: number[] = []
    for (const [version, hot] of phases.entries()) {
      store.set('a', version)
      isHot = hot
      seen.push(...(await get('a')))
    }
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    // Only the second of two hot calls in a row is answered from the cache.
    expect(seen).toEqual([0, 1, 2, 3, 4, 5, 5, 7, 8])
  })

  it.each(['after', 'during'])('does not return to the older value of a hot load that began %s a cold one', async (when) => {
    let isHot = false
    const { store, calls, lookup, get } = setup({ isHot: () => isHot, ttlMs: 10_000 })
    const first = lookup.getMany(['a'])
    if (when === 'after') {
      calls[0]?.answer()
      await first
    }
    isHot = true
    const late = lookup.getMany(['a'])
    calls[0]?.answer()
    expect(await first).toEqual([0])
    store.set('a', 1)
    isHot = false
    const cold = lookup.getMany(['a'])
    calls[2]?.answer()
    expect(await cold).toEqual([1])
    calls[1]?.answer()
    expect(await late).toEqual([0])
    isHot = true
    expect(await get('a')).toEqual([1])
  })

  it('starts one load of a hot key for any number of readers', async () => {
    const { calls, lookup } = setup()
    const readers = Array.from({ length: 100 }, () => lookup.getMany(['hot']))
    expect(calls).toHaveLength(1)
    calls[0]?.answer()
    expect(await Promise.all(readers)).toEqual(readers.map(() => [0]))
    expect(lookup.figures()).toEqual({ cached: 0, joined: 99, loaded: 1 })
  })

  it('never answers another key from the cache, nor by a load that began before', async () => {
    const { store, calls, lookup, get } = setup()
    await get('cold')
    const before = lookup.getMany(['cold'])
    store.set('cold', 1)
    const after = lookup.getMany(['cold'])
    expect(calls).toHaveLength(2)
    calls.forEach((call) => call.answer())
    expect([await before, await after]).toEqual([[0], [1]])
  })

  it('does not let a reader after a write join a load from before it', async () => {
    const { calls, lookup, write } = setup()
    const before = lookup.getMany(['hot'])
    write('hot', 1)
    const after = lookup.getMany(['hot'])
    const joined = lookup.getMany(['hot'])
    expect(calls).toHaveLength(2)
    calls[0]?.answer()
    expect(await before).toEqual([0])
    // The end of the older load does not hide the newer one from later readers.
    const last = lookup.getMany(['hot'])
    expect(calls).toHaveLength(2)
    calls[1]?.answer()
    expect(await Promise.all([after, joined, last])).toEqual([[1], [1], [1]])
  })

  it.each(['hot', 'cold'])('does not fill the cache from a load that began before a write: %s', async (key) => {
    const { calls, lookup, cache, write } = setup()
    const before = lookup.getMany([key])
    write(key, 1)
    calls[0]?.answer()
    await before
    expect(cache.figures().entries).toBe(0)
    expect(lookup.lastKnown(key)).toBeUndefined()
  })

  it('forgets a written key, including its last known value', async () => {
    const { calls, lookup, write, get } = setup()
    await get('hot', 'cold')
    write('hot', 1)
    write('cold', 1)
    expect([lookup.lastKnown('hot'), lookup.lastKnown('cold')]).toEqual([undefined, undefined])
    const after = lookup.getMany(['hot'])
    calls[0]?.answer()
    expect(await after).toEqual([1])
  })

  it('forgets everything, including loads under way, when everything is invalidated', async () => {
    const { store, calls, lookup, cache, get } = setup()
    await get('hot a', 'cold')
    const before = lookup.getMany(['hot b'])
    store.set('hot b', 1)
    lookup.invalidateAll()
    calls[0]?.answer()
    expect(await before).toEqual([0])
    expect(cache.figures().entries).toBe(0)
    expect(await get('hot b')).toEqual([1])
  })

  it('keeps last known values with their age, even of keys that were never hot', async () => {
    const { clock, store, lookup, get } = setup()
    store.set('cold', 5)
    await get('cold')
    clock.advance(60_000)
    expect(lookup.lastKnown('cold')).toEqual({ value: 5, ageMs: 60_000 })
    expect(lookup.lastKnown('unknown')).toBeUndefined()
    const sparing = setup({ keepCold: false })
    await sparing.get('cold', 'hot')
    expect(sparing.cache.figures().entries).toBe(1)
  })

  it('keeps the value of a cold key once per second, or again after a write', async () => {
    const { clock, store, lookup, write, get } = setup()
    const readAs = async (version: number) => {
      store.set('cold', version)
      await get('cold')
      return lookup.lastKnown('cold')?.value
    }
    expect(await readAs(1)).toBe(1)
    clock.advance(999)
    expect(await readAs(2)).toBe(1)
    write('cold', 3)
    expect(await readAs(3)).toBe(3)
    lookup.invalidateAll()
    expect(await readAs(4)).toBe(4)
    clock.advance(1_000)
    expect(await readAs(5)).toBe(5)
  })

  it('loads a key that turns hot, because a newer value than the kept one may have been read', async () => {
    const heat = { on: false }
    const { store, get } = setup({ isHot: () => heat.on })
    await get('a')
    store.set('a', 1)
    expect(await get('a')).toEqual([1])
    heat.on = true
    expect(await get('a')).toEqual([1])
    store.set('a', 2)
    expect(await get('a')).toEqual([1])
  })

  it('rejects for all waiting readers when a load fails, keeps the last known value, and retries for the next', async () => {
    const { clock, store, calls, lookup, get } = setup()
    store.set('hot', 1)
    await get('hot')
    clock.advance(1_000)
    const readers = [lookup.getMany(['hot']), lookup.getMany(['hot', 'hot'])]
    calls[0]?.fail(new Error('the store is down'))
    expect((await Promise.allSettled(readers)).map((each) => each.status)).toEqual(['rejected', 'rejected'])
    expect(lookup.lastKnown('hot')).toEqual({ value: 1, ageMs: 1_000 })
    store.set('hot', 2)
    calls.length = 0
    expect(await get('hot')).toEqual([2])
  })

  it('rejects when a load throws at once, or returns too few values', async () => {
    const load = { answer: (): Promise<number[]> => Promise.resolve([1]) }
    const clock = makeSteppedClock()
    const cache = makeSieveCache<CachedLoad<number>>(clock, { entriesMax: 10, bytesMax: 10_000 })
    const options = { ttlMs: 1_000, isHot: () => true, textOf: (key: string) => key, bytesOf: () => 8 }
    const lookup = makeCachedLookup<string, number>(clock, cache, () => load.answer(), options)
    await expect(lookup.getMany(['a', 'b'])).rejects.toThrow('2 keys were loaded, but 1 values returned')
    load.answer = () => {
      throw new Error('at once')
    }
    await expect(lookup.getMany(['a'])).rejects.toThrow('at once')
    expect(cache.figures().entries).toBe(0)
    load.answer = () => Promise.resolve([1])
    expect(await lookup.getMany(['a'])).toEqual([1])
  })

  it('starts and joins nothing for a call with a key without text', async () => {
    const textOf = (key: string) => {
      if (key === '') throw new Error('an empty key')
      return key
    }
    const { calls, lookup } = setup({ textOf })
    const reader = lookup.getMany(['hot'])
    await expect(lookup.getMany(['hot', ''])).rejects.toThrow('an empty key')
    calls[0]?.fail(new Error('the store is down'))
    await expect(reader).rejects.toThrow('down')
    expect(lookup.figures()).toEqual({ cached: 0, joined: 0, loaded: 1 })
  })

  it('does not let a slow load overwrite the value of a later one', async () => {
    const heat = { on: false }
    const { store, calls, lookup } = setup({ isHot: () => heat.on })
    const slow = lookup.getMany(['a'])
    store.set('a', 1)
    heat.on = true
    const quick = lookup.getMany(['a'])
    calls[1]?.answer()
    await quick
    calls[0]?.answer()
    await slow
    expect(await lookup.getMany(['a'])).toEqual([1])
  })

  it('never shows a value from before an own write, nor one older than the TTL or its load, in any order of events', async () => {
    const runs = fc.integer({ min: 1, max: 2 ** 31 })
    await fc.assert(
      fc.asyncProperty(runs, async (seed) => {
        const random = seededRandom(seed)
        const heat = { on: true }
        // Few entries, so that evictions occur. Keys of one letter, so that many events affect the same key.
        const { clock, store, calls, lookup, write } = setup({ isHot: () => heat.on }, 3)
        const history: { key: string; version: number; at: number; isOwn: boolean }[] = []
        const readers: Promise<void>[] = []
        let version = 0
        const read = async (key: string) => {
          const begun = clock.now()
          const isHot = heat.on
          const own = history.findLast((each) => each.key === key && each.isOwn)?.version ?? 0
          const any = history.findLast((each) => each.key === key)?.version ?? 0
          // A load takes less than 300 ms here.
          const old = history.findLast((each) => each.key === key && each.at <= begun - 1_000)?.version ?? 0
          const [value] = await lookup.getMany([key])
          expect(value).toBeGreaterThanOrEqual(isHot ? Math.max(own, old) : any)
        }
        for (let step = 0; step < 150; step++) {
          const key = 'abcd'[randomBelow(random, 4)] as string
          const chance = random()
          if (chance < 0.4) readers.push(read(key))
          else if (chance < 0.6) {
            const isOwn = random() < 0.5
            history.push({ key, version: ++version, at: clock.now(), isOwn })
            if (isOwn) write(key, version)
            else store.set(key, version)
          } else if (chance < 0.85) calls.splice(randomBelow(random, calls.length), 1)[0]?.answer()
          else if (chance < 0.9) heat.on = !heat.on
          else {
            clock.advance(randomBelow(random, 300))
            for (const call of calls.splice(0)) call.answer()
            await new Promise((resolve) => setImmediate(resolve))
          }
          if (random() < 0.5) await Promise.resolve()
        }
        for (const call of calls.splice(0)) call.answer()
        await Promise.all(readers)
      }),
      { numRuns: 200 },
    )
  })
})
