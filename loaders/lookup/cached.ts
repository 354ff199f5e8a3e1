/**
 * A lookup with a local cache for hot keys. A value may be older than a write of another process: by at most `ttlMs`
 * from the start of its load, or by the duration of one load if that is longer. It is never older than a write of this
 * process, and the cache never returns the value of a load that began before the last one that a caller saw.
 *
 * - A hot key is answered from the cache while its value is fresh. Otherwise the call joins the load of the key that is
 *   in flight, or begins one. Keys of one call that need loading leave as one load. A load has its own deadline.
 * - Every other key is loaded. It never joins a load in flight, because that load may have read before a write that
 *   another process acknowledged since. Only hot keys may be that old. (`loaders/lookup/shared.ts` shares lookups that
 *   still wait.) Unless `keepCold` is false, the value is also kept as the last known value, once per second and key.
 *
 * The race with writes of this process:
 *   1. A load begins and reads the old value.
 *   2. The write reaches the store, calls `invalidate`, and is acknowledged.
 *   3. A reader comes. It must not join the load of step 1.
 *   4. The load of step 1 ends. It must not fill the cache.
 * Changes are therefore numbered (`changes.ts`). A load knows the number at its start. It is joined, and it fills the
 * cache, only for keys without a later change. Another key of the same stripe costs a load, never a wrong answer. A load
 * never replaces the value of a load that began later.
 *
 * Nearly all keys are cold. The entry of a cold key is updated in place.
 */
import assert from 'node:assert/strict'
import type { Clock } from '../../core/clock.ts'
import type { Cacheable, LocalCache } from '../../core/sieve/local-cache.ts'
import { makeCacheFill, type CachedLoad } from './cache-fill.ts'
import { makeChanges } from './changes.ts'

export type CachedLookupOptions<K, V> = {
  /** Milliseconds. Minimum 0. */
  ttlMs: number
  /** Asked once for each key of each call, so it may count them: `(text) => hotKeys.add(text)`. */
  isHot(text: string): boolean
  /** Equal texts for equal keys only. */
  textOf(key: K): string
  /** Whole bytes, without the key. */
  bytesOf(value: V): number
  /**
   * True if the loaded value equals the kept one. The kept one then stays, and the garbage collector need not move the other. Default: they
   * are the same object.
   */
  isSame?(kept: V, loaded: V): boolean
  /** Keep the values of cold keys too, as last known values. Default true. */
  keepCold?: boolean
}

export type CachedLookupFigures = {
  /** Keys answered from the cache, by a load in flight, and by their own load. */
  cached: number
  joined: number
  loaded: number
}

export type CachedLookup<K, V> = {
  /** In key order. Callers share the values and must not change them. Rejects if a load rejects. */
  getMany(keys: readonly K[]): Promise<V[]>
  /**
   * Call it after a write of this process has reached the store and before the acknowledgement. Removes the last known
   * value too.
   */
  invalidate(key: K): void
  /** For a write with unknown keys. */
  invalidateAll(): void
  /** For the time when no store answers. */
  lastKnown(key: K): { value: V; ageMs: number } | undefined
  figures(): CachedLookupFigures
}

/** The keys of one load as columns, a row per key. `places`: positions in the call. `again`: repeated keys. */
type Wanted<K> = { keys: K[]; texts: string[]; hot: boolean[]; places: number[]; again: { row: number; place: number }[]; since: number }
type Flight<V> = { since: number; index: number; values: Promise<readonly V[]> }

export function makeCachedLookup<K, V extends Cacheable>(
  clock: Clock,
  cache: LocalCache<CachedLoad<V>>,
  load: (keys: readonly K[]) => Promise<readonly V[]>,
  options: CachedLookupOptions<K, V>,
): CachedLookup<K, V> {
  const { isHot, textOf, bytesOf, isSame = Object.is, keepCold = true } = options
  const { latest, note, noteAll, hasChanged } = makeChanges()
  const flights = new Map<string, Flight<V>>()
  const { fill, forget, forgetAll } = makeCacheFill(cache, bytesOf, isSame, (text) => flights.has(text))
  const figures: CachedLookupFigures = { cached: 0, joined: 0, loaded: 0 }
  let loads = 0

  async function getMany(keys: readonly K[]): Promise<V[]> {
    const values = Array.from<V>({ length: keys.length })
    const joined: Promise<unknown>[] = []
    const wanted: Wanted<K> = { keys: [], texts: [], hot: [], places: [], again: [], since: latest() }
    const rows = new Map<string, number>()
    // All texts first: if one fails, no load has begun.
    const texts = keys.map((key) => textOf(key))
    texts.forEach((text, place) => {
      const hot = isHot(text)
      const cached = hot ? cache.get(text) : undefined
      if (cached?.hot === true) {
        figures.cached++
        values[place] = cached.value
        return
      }
      const row = rows.get(text)
      if (row !== undefined) return void wanted.again.push({ row, place })
      const flight = hot ? flights.get(text) : undefined
      if (flight === undefined || hasChanged(text, flight.since)) {
        rows.set(text, wanted.keys.push(keys[place] as K) - 1)
        wanted.texts.push(text)
        wanted.hot.push(hot)
        wanted.places.push(place)
        return
      }
      figures.joined++
      joined.push(flight.values.then((answers) => (values[place] = answers[flight.index] as V)))
    })
    if (wanted.keys.length > 0) joined.push(loadInto(values, wanted))
    if (joined.length > 0) await Promise.all(joined)
    return values
  }

  async function loadInto(values: V[], wanted: Wanted<K>): Promise<void> {
    const answers = await begin(wanted)
    wanted.places.forEach((place, row) => (values[place] = answers[row] as V))
    for (const { row, place } of wanted.again) values[place] = answers[row] as V
  }

  /** Registers the flights before other code can run, and fills the cache before a caller sees the values. */
  function begin(wanted: Wanted<K>): Promise<readonly V[]> {
    figures.loaded += wanted.keys.length
    const number = ++loads
    const begunAt = clock.now()
    const values = valuesOf(wanted.keys, load).then((answers) => {
      const endedAt = clock.now()
      const ended = { load: number, begunAt, endedAt, freshMs: Math.max(0, options.ttlMs - Math.max(0, endedAt - begunAt)) }
      wanted.texts.forEach((text, row) => {
        if (hasChanged(text, wanted.since)) return
        const isHotKey = wanted.hot[row] === true
        if (isHotKey || keepCold) fill(text, isHotKey, answers[row] as V, ended)
      })
      return answers
    })
    if (!wanted.hot.includes(true)) return values
    const own = wanted.texts.flatMap((text, index) => (wanted.hot[index] ? [{ text, flight: { since: wanted.since, index, values } }] : []))
    for (const { text, flight } of own) flights.set(text, flight)
    return values.finally(() => {
      for (const { text, flight } of own) if (flights.get(text) === flight) flights.delete(text)
    })
  }

  return {
    getMany,
    invalidate(key) {
      const text = textOf(key)
      note(text)
      forget(text)
    },
    invalidateAll() {
      noteAll()
      forgetAll()
    },
    lastKnown(key) {
      const held = cache.getStale(textOf(key))
      return held === undefined ? undefined : { value: held.value, ageMs: Math.max(0, clock.now() - held.begunAt) }
    },
    figures: () => ({ ...figures }),
  }
}

async function valuesOf<K, V>(keys: readonly K[], load: (keys: readonly K[]) => Promise<readonly V[]>): Promise<readonly V[]> {
  const values = await load(keys)
  assert(values.length === keys.length, `${keys.length} keys were loaded, but ${values.length} values returned`)
  return values
}
