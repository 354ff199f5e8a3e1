/**
 * A bounded map that forgets what was not asked for the longest time. It rests on the insertion order of Map: a hit
 * moves its key to the end, the first key is the oldest.
 */
export type Lru<Value> = {
  get(key: string): Value | undefined
  set(key: string, value: Value): void
  clear(): void
  readonly size: number
}

export function makeLru<Value>(max: number): Lru<Value> {
  const values = new Map<string, Value>()
  // The key of the last hit is the newest already: a server busy with one operation does not shuffle the map.
  let newest: string | undefined
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
      values.delete(key)
      values.set(key, value)
      newest = key
      if (values.size <= max) return
      for (const oldest of values.keys()) {
        values.delete(oldest)
        break
      }
    },
    clear() {
      values.clear()
      newest = undefined
    },
    get size() {
      return values.size
    },
  }
}
