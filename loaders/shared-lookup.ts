/**
 * Identical lookups of different requests share one store call.
 *
 * Lookups wait together while earlier calls are under way, and leave as one multi-get in which each key stands once.
 * Only lookups that wait are shared, never the answer of a call that has already begun: such a call may have read before
 * a write that was acknowledged since, and a read that starts after an acknowledgement must see it.
 */
export type SharedLookupOptions = {
  /** Store calls under way at once. Minimum 1. Default 4. */
  callsMax: number
  /** Keys in one store call. Default 1000. */
  keysMax: number
}

type Waiting<K, V> = { key: K; resolvers: { resolve(value: V): void; reject(error: unknown): void }[] }

/** `load` answers in key order. `textOf` gives equal texts to equal keys only. */
export function makeSharedLookup<K, V>(
  load: (keys: readonly K[]) => Promise<readonly V[]>,
  textOf: (key: K) => string,
  options: SharedLookupOptions = { callsMax: 4, keysMax: 1_000 },
): (keys: readonly K[]) => Promise<V[]> {
  const waiting = new Map<string, Waiting<K, V>>()
  let callsUnderWay = 0
  let dispatchPlanned = false

  function lookup(key: K): Promise<V> {
    return new Promise((resolve, reject) => {
      const text = textOf(key)
      const found = waiting.get(text)
      if (found === undefined) waiting.set(text, { key, resolvers: [{ resolve, reject }] })
      else found.resolvers.push({ resolve, reject })
    })
  }

  function planDispatch(): void {
    if (dispatchPlanned || waiting.size === 0 || callsUnderWay >= options.callsMax) return
    dispatchPlanned = true
    // After the microtasks of this turn: requests that arrived together are in the same multi-get.
    setImmediate(dispatch)
  }

  function dispatch(): void {
    dispatchPlanned = false
    const batch: Waiting<K, V>[] = []
    for (const [text, each] of waiting) {
      if (batch.length === options.keysMax) break
      waiting.delete(text)
      batch.push(each)
    }
    callsUnderWay++
    void runCall(batch)
    planDispatch()
  }

  async function runCall(batch: readonly Waiting<K, V>[]): Promise<void> {
    try {
      const values = await load(batch.map((each) => each.key))
      batch.forEach((each, index) => each.resolvers.forEach((resolver) => resolver.resolve(values[index] as V)))
    } catch (error) {
      batch.forEach((each) => each.resolvers.forEach((resolver) => resolver.reject(error)))
    } finally {
      callsUnderWay--
      planDispatch()
    }
  }

  return (keys) => {
    const values = Promise.all(keys.map(lookup))
    planDispatch()
    return values
  }
}
