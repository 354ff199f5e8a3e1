/**
 * Identical lookups of different requests share one store call. Lookups wait while earlier calls are in flight, and
 * leave as one multi-get that contains each key once.
 *
 * Only waiting lookups are shared, never a call in flight. Such a call may have read before a write that was
 * acknowledged since, and a read after an acknowledgement must see the write. A page of fifty keys is one promise with a
 * countdown, not fifty promises.
 */
import { makeDispatch } from './dispatch.ts'

export type SharedLookupOptions = {
  /** Concurrent store calls. Minimum 1. Default 4. */
  callsMax: number
  /** Keys in one store call. Default 1000. */
  keysMax: number
}

export const LOOKUP_DEFAULTS: SharedLookupOptions = { callsMax: 4, keysMax: 1_000 }

/** `value` is set once its store call has ended. */
type Wanted<K, V> = { key: K; value: V | undefined; lookups: Lookup<K, V>[] }
type Lookup<K, V> = { wanted: Wanted<K, V>[]; left: number; resolve(values: V[]): void; reject(error: unknown): void }

/** `load` answers in key order. `textOf` gives equal texts to equal keys only. */
export function makeSharedLookup<K, V>(
  load: (keys: readonly K[]) => Promise<readonly V[]>,
  textOf: (key: K) => string,
  options = LOOKUP_DEFAULTS,
): (keys: readonly K[]) => Promise<V[]> {
  const waiting = new Map<string, Wanted<K, V>>()
  const planDispatch = makeDispatch({ isEmpty: () => waiting.size === 0, run: () => runCall(takeBatch()) }, options.callsMax)

  function want(key: K, lookup: Lookup<K, V>): Wanted<K, V> {
    const text = textOf(key)
    let wanted = waiting.get(text)
    if (wanted === undefined) waiting.set(text, (wanted = { key, value: undefined, lookups: [lookup] }))
    else if (wanted.lookups.at(-1) === lookup) return wanted
    else wanted.lookups.push(lookup)
    lookup.left++
    return wanted
  }

  function takeBatch(): Wanted<K, V>[] {
    const batch: Wanted<K, V>[] = []
    for (const [text, each] of waiting) {
      if (batch.length === options.keysMax) break
      waiting.delete(text)
      batch.push(each)
    }
    return batch
  }

  async function runCall(batch: readonly Wanted<K, V>[]): Promise<void> {
    try {
      const values = await load(batch.map((each) => each.key))
      batch.forEach((each, index) => {
        each.value = values[index]
        for (const lookup of each.lookups) if (--lookup.left === 0) lookup.resolve(lookup.wanted.map(({ value }) => value as V))
      })
    } catch (error) {
      for (const each of batch) for (const lookup of each.lookups) lookup.reject(error)
    }
  }

  return (keys) =>
    new Promise((resolve, reject) => {
      const lookup: Lookup<K, V> = { wanted: [], left: 0, resolve, reject }
      for (const key of keys) lookup.wanted.push(want(key, lookup))
      if (lookup.left === 0) resolve([])
      planDispatch()
    })
}
