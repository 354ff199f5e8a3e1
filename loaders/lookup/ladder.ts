/**
 * Reads counts down a ladder:
 *
 * 1. the local cache of this process, for hot keys
 * 2. the count cache, by multi-get
 * 3. the record store for the misses, in one batch shared by all waiting requests
 * 4. the last known value
 * 5. null
 */
import { Incomplete, noted } from './incomplete.ts'
import { saysDown, type Degraded, type StoreName } from '../../core/outage/degraded.ts'
import type { Clock } from '../../core/clock.ts'
import type { CachedLoad } from './cache-fill.ts'
import { makeCachedLookup, type CachedLookupFigures } from './cached.ts'
import type { LocalCacheFigures } from '../../core/sieve/local-cache.ts'
import { makeResizableCache } from '../../core/sieve/resizable.ts'
import { makeSharedLookup } from './shared.ts'

/** The rungs below this process's own cache. */
export type LadderStores<K, V> = {
  /** In order; undefined = not cached. */
  getCached(keys: readonly K[]): Promise<readonly (V | undefined)[]>
  /** All values, in order. */
  getStored(keys: readonly K[]): Promise<readonly V[]>
  /** Caches values read from the record store. */
  putCached(keys: readonly K[], values: readonly V[]): Promise<void>
}

export type LadderOptions<K, V> = {
  /** Milliseconds for which this process serves hot keys alone; 0: never. */
  hotTtlMs: number
  /** Bytes the process's own cache may take. */
  bytesMax: number
  /** Asked once for each key of each call. */
  isHot(text: string): boolean
  /** Equal texts for equal keys only. */
  textOf(key: K): string
  /** True if both are the same value; the kept one may then stay. */
  isSame(kept: V, read: V): boolean
}

export type Ladder<K, V> = {
  /** In order; null if no available store knows. Names the stores that are down in the collector. */
  getMany(keys: readonly K[], degraded: Degraded): Promise<(V | null)[]>
  /** As `getMany`, but with the stores' current values. */
  getFresh(keys: readonly K[], degraded: Degraded): Promise<(V | null)[]>
  /**
   * Reports a new value, written by this process or learnt from another. It replaces the cached one and becomes the last
   * known one.
   */
  learn(key: K, value: V): void
  /** Reads the record store, and caches the value if it is newer. */
  reload(keys: readonly K[]): Promise<readonly V[]>
  figures(): LadderFigures
}

export type LadderFigures = {
  local: CachedLookupFigures & Pick<LocalCacheFigures, 'bytes' | 'entries' | 'evictions'>
  /** Keys that were read from the record store. */
  fromRecords: number
  /** Answers that were the last known value. */
  lastKnown: number
}

type Found<V> = V | Incomplete<V | null>

/** A value and its wrapper, roughly. */
const BYTES_PER_VALUE = 96
const BYTES_PER_ENTRY = 256

export function makeLadder<K, V extends { version: number }>(
  clock: Clock,
  { getCached, getStored, putCached }: LadderStores<K, V>,
  options: LadderOptions<K, V>,
): Ladder<K, V> {
  const { isHot, textOf, isSame } = options
  const half = (): number => options.bytesMax / 2
  const entriesOf = (bytes: number): number => Math.max(16, Math.floor(bytes / BYTES_PER_ENTRY))
  const local = makeResizableCache<CachedLoad<Found<V>>>(clock, half, entriesOf)
  /** Invalidation removes the value from the lookup. The newer learnt value is here. */
  const learnt = makeResizableCache<V>(clock, half, entriesOf)
  const figures = { fromRecords: 0, lastKnown: 0 }
  const fromRecords = makeSharedLookup<K, V>(reload, textOf)
  const lookup = makeCachedLookup<K, Found<V>>(clock, local, load, {
    get ttlMs() {
      return options.hotTtlMs
    },
    isHot,
    textOf,
    bytesOf: () => BYTES_PER_VALUE,
    isSame: (kept, read) =>
      !(kept instanceof Incomplete) && !(read instanceof Incomplete) && read.version === kept.version && isSame(kept, read),
  })

  async function reload(keys: readonly K[]): Promise<readonly V[]> {
    const values = await getStored(keys)
    figures.fromRecords += keys.length
    // The breaker reports a cache that refuses them. The next miss tries again.
    await putCached(keys, values).catch(() => undefined)
    return values
  }

  /** Rejects only for errors other than an outage. */
  async function load(keys: readonly K[]): Promise<Found<V>[]> {
    const without = new Set<StoreName>()
    const cached = await unlessDown('hotStore', without, getCached(keys))
    if (cached !== undefined && !cached.includes(undefined)) return cached as V[]
    const missed = keys.flatMap((_, place) => (cached?.[place] === undefined ? [place] : []))
    const rows = await unlessDown('recordStore', without, fromRecords(missed.map((place) => keys[place] as K)))
    const rowOf = new Map(missed.map((place, index) => [place, rows?.[index]]))
    return keys.map((key, place) => {
      const value = cached?.[place] ?? rowOf.get(place)
      if (value === undefined) return lastKnown(key, [...without])
      // The record store's answer lacks nothing. It only took longer.
      return cached === undefined ? new Incomplete<V | null>(value, ['hotStore']) : value
    })
  }

  function lastKnown(key: K, without: readonly StoreName[]): Incomplete<V | null> {
    const found = lookup.lastKnown(key)?.value ?? null
    const read = found instanceof Incomplete ? found.value : found
    const heard = learnt.getStale(textOf(key)) ?? null
    const known = read === null || (heard !== null && heard.version > read.version) ? heard : read
    if (known !== null) figures.lastKnown++
    return new Incomplete<V | null>(known, without)
  }

  return {
    getMany: async (keys, degraded) => noted(await lookup.getMany(keys), degraded),
    getFresh: async (keys, degraded) => noted(await load(keys), degraded),
    learn(key, value) {
      lookup.invalidate(key)
      // A late report, for example from the outbox, may be older than a value learnt since.
      if ((learnt.getStale(textOf(key))?.version ?? 0) <= value.version) learnt.set(textOf(key), value, BYTES_PER_VALUE)
    },
    reload,
    figures() {
      const { bytes, entries, evictions } = local.figures()
      return { local: { ...lookup.figures(), bytes, entries, evictions }, ...figures }
    },
  }
}

async function unlessDown<T>(store: StoreName, without: Set<StoreName>, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (!saysDown(error, store)) throw error
    without.add(store)
    return undefined
  }
}
