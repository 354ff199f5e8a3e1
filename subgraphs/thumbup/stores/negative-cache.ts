/**
 * Remembers uncounted keys in the memory of this process: a bounded number of values of the count cache with version 0. Beyond the bound
 * the oldest leave. Any client can ask for subjects without marks, and those must not fill a disk, or a Redis with acknowledged marks.
 * Losing a value costs one read of the record store.
 */
export type UncountedOptions = {
  /** The most values. Minimum 1. */
  entriesMax: number
  /** Milliseconds that a value stays. Default: until it is the oldest beyond the bound. */
  ttlMs?: number
}

export type Uncounted<V> = {
  get(name: string): V | undefined
  set(name: string, value: V): void
  delete(name: string): void
  /** Removes at most `limit` values whose names have this prefix. Returns the number removed. */
  forget(prefix: string, limit: number): number
}

export function makeUncounted<V>({ entriesMax, ttlMs = Infinity }: UncountedOptions): Uncounted<V> {
  const entries = new Map<string, { value: V; until: number }>()

  return {
    get(name) {
      const entry = entries.get(name)
      if (entry === undefined || entry.until > performance.now()) return entry?.value
      entries.delete(name)
      return undefined
    },
    set(name, value) {
      entries.delete(name)
      entries.set(name, { value, until: performance.now() + ttlMs })
      const [oldest] = entries.keys()
      if (entries.size > entriesMax && oldest !== undefined) entries.delete(oldest)
    },
    delete: (name) => void entries.delete(name),
    forget(prefix, limit) {
      let gone = 0
      for (const name of entries.keys()) {
        if (gone >= limit) break
        if (!name.startsWith(prefix)) continue
        entries.delete(name)
        gone += 1
      }
      return gone
    },
  }
}
