/**
 * Lookups of different requests leave together as one store call. `shared.ts` does the same and asks for each key once. Here a key of two
 * requests is asked for twice, which suits keys that belong to one viewer: requests rarely share them. A page of fifty keys is then one
 * entry in a queue. It needs no text, no map and no object per key.
 *
 * A lookup never joins a call in flight, for the reason in `shared.ts`.
 */
import { makeDispatch } from './dispatch.ts'
import { LOOKUP_DEFAULTS } from './shared.ts'

type Lookup<K, V> = { keys: readonly K[]; resolve(values: readonly V[]): void; reject(error: unknown): void }

/** `load` answers in key order. A lookup of more than `keysMax` keys is one call. */
export function makeJoinedLookup<K, V>(
  load: (keys: readonly K[]) => Promise<readonly V[]>,
  { callsMax, keysMax } = LOOKUP_DEFAULTS,
): (keys: readonly K[]) => Promise<readonly V[]> {
  const waiting: Lookup<K, V>[] = []
  const planDispatch = makeDispatch({ isEmpty: () => waiting.length === 0, run: () => runCall(takeBatch()) }, callsMax)

  function takeBatch(): Lookup<K, V>[] {
    let end = 0
    let size = 0
    for (const { keys } of waiting) {
      size += keys.length
      if (size > keysMax && end > 0) break
      end++
    }
    return waiting.splice(0, end)
  }

  async function runCall(batch: readonly Lookup<K, V>[]): Promise<void> {
    try {
      const values = await load(batch.flatMap(({ keys }) => keys))
      let at = 0
      for (const { keys, resolve } of batch) resolve(values.slice(at, (at += keys.length)))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return (keys) =>
    new Promise((resolve, reject) => {
      if (keys.length === 0) return resolve([])
      waiting.push({ keys, resolve, reject })
      planDispatch()
    })
}
