/**
 * A bounded map that drops the least recently used value. It relies on the insertion order of Map: a hit moves its key to the end, and
 * the first key is the oldest.
 */
export type Lru<Value> = {
  get(key: string): Value | undefined
  set(key: string, value: Value): void
  forget(key: string): void
  forgetOldest(): void
  clear(): void
  readonly size: number
}

/** `forgotten` is called for each value that leaves, also for a replaced value. */
export function makeLru<Value>(max: number, forgotten?: (key: string, value: Value) => void): Lru<Value> {
  const values = new Map<string, Value>()
  // The key of the last hit is already the newest. A server that is busy with one operation does not reorder the map.
  let newest: string | undefined

  function forget(key: string): void {
    const value = values.get(key)
    if (values.delete(key)) forgotten?.(key, value as Value)
  }

  function forgetOldest(): void {
    for (const oldest of values.keys()) return forget(oldest)
  }

  return {
    get(key) {
      const value = values.get(key)
      if (value === undefined || key === newest) return value
      values.delete(key)
      values.set(key, value)
      newest = key
      return value
    },
    set(key, value) {
      forget(key)
      values.set(key, value)
      newest = key
      if (values.size > max) forgetOldest()
    },
    forget,
    forgetOldest,
    clear() {
      while (forgotten !== undefined && values.size > 0) forgetOldest()
      values.clear()
      newest = undefined
    },
    get size() {
      return values.size
    },
  }
}
