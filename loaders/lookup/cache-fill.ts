/**
 * Puts loaded values into the cache of a lookup. Of two loads of a key, the one that began later wins. The value of a cold key is put there
 * once per second, because its entry is rarely in a cache of the processor.
 */
import type { Cacheable, LocalCache } from '../../core/sieve/local-cache.ts'
import { makeRecent } from './recent.ts'

/** A cached value. Loads are numbered in the order in which they begin. */
export type CachedLoad<V> = { value: V; load: number; begunAt: number }

/** The measured overhead of an entry beside its value and its text: the wrapper, a share of the map, the columns of the cache. */
const ENTRY_BYTES = 160
/** While a key is cold, its last known value may be this much older than the last value that was read. */
const COLD_EVERY_MS = 1_000

export function makeCacheFill<V extends Cacheable>(
  cache: LocalCache<CachedLoad<V>>,
  bytesOf: (value: V) => number,
  isSame: (kept: V, loaded: V) => boolean,
) {
  const kept = makeRecent(COLD_EVERY_MS)

  return {
    fill(text: string, isHotKey: boolean, value: V, load: number, begunAt: number, now: number, freshMs: number): void {
      if (!isHotKey && kept.has(text, now)) return
      const held = isHotKey ? cache.getStale(text) : cache.visit(text)
      if (held !== undefined && held.load > load) return
      const bytes = bytesOf(value)
      if (isHotKey || held === undefined || bytesOf(held.value) !== bytes) {
        // If a cold key turns hot, a newer value than this one may have been read meanwhile.
        cache.set(text, { value, load, begunAt }, bytes + 2 * text.length + ENTRY_BYTES, isHotKey ? freshMs : 0)
        return
      }
      if (!isSame(held.value, value)) held.value = value
      held.load = load
      held.begunAt = begunAt
    },
    forget(text: string): void {
      kept.forget(text)
      cache.delete(text)
    },
    forgetAll(): void {
      kept.clear()
      cache.clear()
    },
  }
}
