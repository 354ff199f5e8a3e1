/** Puts loaded values into the cache of a lookup. Of two loads of a key, the one that began later wins. */
import type { Cacheable, LocalCache } from '../../core/sieve/local-cache.ts'

/** A cached value. Loads are numbered in the order in which they begin. */
export type CachedLoad<V> = { value: V; load: number; begunAt: number }

/** The measured overhead of an entry beside its value and its text: the wrapper, a share of the map, the columns of the cache. */
const ENTRY_BYTES = 160

export function makeCacheFill<V extends Cacheable>(
  cache: LocalCache<CachedLoad<V>>,
  bytesOf: (value: V) => number,
  isSame: (kept: V, loaded: V) => boolean,
) {
  return (text: string, isHotKey: boolean, value: V, load: number, begunAt: number, freshMs: number): void => {
    const held = isHotKey ? cache.getStale(text) : cache.visit(text)
    if (held !== undefined && held.load > load) return
    const bytes = bytesOf(value)
    if (isHotKey || held === undefined || bytesOf(held.value) !== bytes) {
      cache.set(text, { value, load, begunAt }, bytes + 2 * text.length + ENTRY_BYTES, freshMs)
      return
    }
    // It may be fresh for less time than possible. That matters only to a key that turns hot.
    if (!isSame(held.value, value)) held.value = value
    held.load = load
    held.begunAt = begunAt
  }
}
