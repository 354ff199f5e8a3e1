import { describe, expect, test } from 'vitest'
import { makeResizableCache } from '../../core/sieve/resizable.ts'
import { makeSteppedClock } from '../../harness/stepped-clock.ts'

describe('a cache that is resized', () => {
  test('begins empty, and holds as much as the new size allows', () => {
    let bytesMax = 20
    const cache = makeResizableCache<string>(
      makeSteppedClock(),
      () => bytesMax,
      (bytes) => bytes / 10,
    )
    for (const key of ['a', 'b', 'c']) cache.set(key, key, 10)
    expect(cache.figures()).toMatchObject({ entries: 2, bytes: 20 })
    bytesMax = 40
    expect(cache.get('c')).toBeUndefined()
    for (const key of ['a', 'b', 'c', 'd', 'e']) cache.set(key, key, 10)
    expect(cache.figures()).toMatchObject({ entries: 4, bytes: 40 })
    bytesMax = 10
    expect(cache.set('a', 'a', 11)).toBe(false)
    cache.set('b', 'b', 10)
    expect([cache.get('a'), cache.get('b'), cache.figures().bytes]).toEqual([undefined, 'b', 10])
  })

  test('with the same size keeps its values', () => {
    const cache = makeResizableCache<string>(
      makeSteppedClock(),
      () => 100,
      () => 5,
    )
    cache.set('a', 'a', 10)
    expect(cache.get('a')).toBe('a')
  })
})
