/**
 * A cache of this process. Its values may be older than writes of other processes, for as long as the caller allows. This interface hides
 * the eviction policy. `sieve.ts` is the only implementation.
 *
 * An expired entry is a miss, but it stays until the policy evicts it: it is the last known value, for the time when no store answers. One
 * structure for both uses costs no memory beyond the bounds, and it keeps popular entries longest.
 */
export type LocalCacheFigures = {
  hits: number
  /** Expired entries included. */
  misses: number
  /** Entries evicted for lack of room. */
  evictions: number
  entries: number
  /** The sum of the sizes given. */
  bytes: number
}

/** A cacheable value. A known absence is `null`, because `undefined` means unknown. */
export type Cacheable = NonNullable<unknown> | null

export interface LocalCache<V extends Cacheable> {
  /** Undefined if there is none, or if it has expired. */
  get(key: string): V | undefined
  /** As `get`, in key order. The clock is read once. */
  getMany(keys: readonly string[]): (V | undefined)[]
  /** The last known value, expired or not. Changes neither the figures nor the order of eviction. */
  getStale(key: string): V | undefined
  /** As `getStale`, but counts as a visit: for a value that is updated in place. */
  visit(key: string): V | undefined
  /**
   * Replaces the key's value. A value of `bytes` is fresh for `ttlMs`, or forever without it. False if it is larger than the whole cache;
   * the key then has no value.
   */
  set(key: string, value: V, bytes: number, ttlMs?: number): boolean
  /** False if there was none. */
  delete(key: string): boolean
  clear(): void
  figures(): LocalCacheFigures
}
