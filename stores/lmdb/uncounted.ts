/**
 * What was never counted, in the memory of this process: a bounded number of entries of the count cache with version 0, the
 * oldest of which leave. They are only a saved look into the record store; losing one costs that look.
 */
export type Uncounted = {
  get(key: Buffer): Buffer | undefined
  set(key: Buffer, value: Buffer): void
  delete(key: Buffer): void
  /** Removes at most `limit` entries whose keys begin so; returns how many. */
  forget(prefix: Buffer, limit: number): number
}

export function makeUncounted(entriesMax: number): Uncounted {
  const entries = new Map<string, Buffer>()
  // One character per byte, so that beginnings of keys are beginnings of names.
  const nameOf = (key: Buffer): string => key.toString('latin1')

  return {
    get: (key) => entries.get(nameOf(key)),
    set(key, value) {
      const name = nameOf(key)
      entries.delete(name)
      entries.set(name, value)
      const [oldest] = entries.keys()
      if (entries.size > entriesMax && oldest !== undefined) entries.delete(oldest)
    },
    delete: (key) => void entries.delete(nameOf(key)),
    forget(prefix, limit) {
      let gone = 0
      for (const name of entries.keys()) {
        if (gone >= limit) break
        if (!name.startsWith(nameOf(prefix))) continue
        entries.delete(name)
        gone += 1
      }
      return gone
    },
  }
}
