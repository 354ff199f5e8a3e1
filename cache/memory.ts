/**
 * A node in the memory of the process: SIEVE (`core/sieve/`) with a bound in bytes. An entry counts its key, its value and what the entry
 * itself costs. Values are copied into memory of their own. Without the copy, a small value could keep a large block of a network read alive.
 */
import type { Clock } from '../core/clock.ts'
import type { CacheLayout } from '../config/cache.ts'
import { makeResizableCache } from '../core/sieve/resizable.ts'
import type { Held, NodeClient } from './node-client.ts'
import type { Stamped } from './tiered-cache.ts'

/** Bytes of an entry beside key and value: the objects, the slot of the map, the cell of the queue (49). */
export const ENTRY_BYTES = 256

export type MemoryNodeOptions = {
  /** Minimum 65536. Read at each use. */
  bytesMax: number
}

export function makeMemoryNode(clock: Clock, options: MemoryNodeOptions): NodeClient & { bytes(): number } {
  const entriesOf = (bytesMax: number): number => Math.ceil(bytesMax / ENTRY_BYTES)
  const cache = makeResizableCache<Held>(clock, () => options.bytesMax, entriesOf)
  let state = 0

  function store(key: string, { value, version }: Stamped, endsAt: number): boolean {
    const ttlMs = Math.max(0, endsAt - clock.now())
    const copy = Buffer.allocUnsafeSlow(value.length)
    value.copy(copy)
    return cache.set(key, { value: copy, version, endsAt, state: ++state }, 2 * key.length + value.length + ENTRY_BYTES, ttlMs)
  }

  return {
    bytes: () => cache.figures().bytes,
    getMany: (keys) => Promise.resolve(cache.getMany(keys)),
    set: (key, stamped, endsAt) => Promise.resolve(store(key, stamped, endsAt)),
    cas: (key, stamped, expected, endsAt) => Promise.resolve(cache.get(key)?.state === expected && store(key, stamped, endsAt)),
    setQuietly: (key, stamped, endsAt) => void store(key, stamped, endsAt),
    fillQuietly(key, stamped, expected, endsAt) {
      if (cache.get(key)?.state === expected) store(key, stamped, endsAt)
    },
    connection: () => 0,
    answers: () => 0,
    check: () => Promise.resolve(),
    reset: () => undefined,
    stop() {
      cache.clear()
      return Promise.resolve()
    },
  }
}

/** One pool, in the memory of the process: for `makeTieredCache` with a connection that is `makeMemoryNode`. */
export const MEMORY_LAYOUT: CacheLayout = { main: ['memory:1'], l1: [] }
