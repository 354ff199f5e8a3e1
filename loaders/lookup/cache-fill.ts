/**
 * Puts loaded values into the cache of a lookup. A load never replaces the value of a load that began later. The value of a cold key is put
 * there about once per second, because its entry is rarely in the CPU caches: later loads of that second are skipped.
 */
import type { Cacheable, LocalCache } from '../../core/sieve/local-cache.ts'
import { Incomplete } from './incomplete.ts'
import { makeRecent } from './recent.ts'

/**
 * A cached value. Loads are numbered in the order in which they begin. `hot` is false if the key was loaded while it was cold. A later load
 * may then have shown a newer value, so the entry answers no call.
 */
export type CachedLoad<V> = { value: V; load: number; begunAt: number; hot: boolean }
/** `freshMs`: how long the values of its hot keys stay fresh. */
export type EndedLoad = { load: number; begunAt: number; endedAt: number; freshMs: number }

/** The measured overhead of an entry beside its value and its text: the wrapper, a share of the map, the columns of the cache. */
const ENTRY_BYTES = 160
/** While a key is cold, its last known value may be older than the last value read: by this much, plus the duration of a load. */
const COLD_EVERY_MS = 1_000

export function makeCacheFill<V extends Cacheable>(
  cache: LocalCache<CachedLoad<V>>,
  bytesOf: (value: V) => number,
  isSame: (kept: V, loaded: V) => boolean,
  isLoading: (text: string) => boolean,
) {
  const kept = makeRecent(COLD_EVERY_MS)

  return {
    fill(text: string, isHotKey: boolean, value: V, { load, begunAt, endedAt, freshMs }: EndedLoad): void {
      // A value that lacks a store must not keep a whole one out.
      // While a load of the hot key is in flight, no cold load is skipped: it may have begun later and ended earlier.
      if (!isHotKey && (value instanceof Incomplete || (kept.has(text, endedAt) && !isLoading(text)))) return
      // The first load after a hot phase must not be skipped.
      if (isHotKey) kept.forget(text)
      const held = isHotKey ? cache.getStale(text) : cache.visit(text)
      if (held !== undefined && held.load > load) return kept.forget(text)
      const bytes = bytesOf(value)
      if (isHotKey || held === undefined || bytesOf(held.value) !== bytes) {
        cache.set(text, { value, load, begunAt, hot: isHotKey }, bytes + 2 * text.length + ENTRY_BYTES, isHotKey ? freshMs : 0)
        return
      }
      if (!isSame(held.value, value)) held.value = value
      held.load = load
      held.begunAt = begunAt
      held.hot = false
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
