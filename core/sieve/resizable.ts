/**
 * A cache of this process whose size may change while it is used. Arrays of a cache are allocated once, so another size is another cache,
 * which begins empty: a cache may lose its values at any time.
 */
import type { Clock } from '../clock.ts'
import type { Cacheable, LocalCache } from './local-cache.ts'
import { makeSieveCache } from './sieve.ts'

/** `bytesMaxNow`: the size of the moment. `entriesMaxOf`: the number of entries for such a size. */
export function makeResizableCache<V extends Cacheable>(
  clock: Clock,
  bytesMaxNow: () => number,
  entriesMaxOf: (bytesMax: number) => number,
): LocalCache<V> {
  let bytesMax = bytesMaxNow()
  let held = makeSieveCache<V>(clock, { entriesMax: entriesMaxOf(bytesMax), bytesMax })

  function cache(): LocalCache<V> {
    const now = bytesMaxNow()
    if (now !== bytesMax) {
      bytesMax = now
      held = makeSieveCache<V>(clock, { entriesMax: entriesMaxOf(bytesMax), bytesMax })
    }
    return held
  }

  return {
    get: (key) => cache().get(key),
    getMany: (keys) => cache().getMany(keys),
    getStale: (key) => cache().getStale(key),
    visit: (key) => cache().visit(key),
    set: (key, value, bytes, ttlMs) => cache().set(key, value, bytes, ttlMs),
    delete: (key) => cache().delete(key),
    clear: () => cache().clear(),
    figures: () => cache().figures(),
  }
}
