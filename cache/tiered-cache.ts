/**
 * Port: a cache of pools in tiers, for values that everybody reads. Memcached in the distributed shape, memory in the process in the embedded
 * one. `tiers.ts` implements it.
 *
 *   Read:  a random group of L1, then Main, then Backup, then `load`. Tiers that missed get the value.
 *   Write: Main, then all others. If Main fails: Backup, then the groups of L1. If both fail, the write fails and L1 is not touched.
 *
 * A pool may be late, wrong, empty or gone. Three things keep an answer right:
 *
 * - `minVersion` says how new a value must be. An older value is a miss.
 * - `isIntact` finds values with damaged bytes. They are misses too.
 * - Every value can be loaded again.
 *
 * A node that fails or stalls costs a read a bounded time and never an error.
 */

/** A cached value with its version. The bytes belong to the cache: callers do not change them. */
export type Stamped = { readonly value: Buffer; readonly version: number }

/** A value that was read. `endsAt`: the time at which it leaves all pools, in ms since 1970. Only for a value that a pool had. */
export type Found = Stamped & { readonly endsAt?: number | undefined }

/** Returned by `gets`, accepted by `cas`. Valid in this process only. */
export type CasToken = {
  readonly pool: 'main' | 'backup'
  /** The node that has the value, the number of its connection, and its number for the stored state. */
  readonly node: object
  readonly connection: number
  readonly state: number
}

/**
 * Loads values that no pool has, in key order. Undefined: the value does not exist. The version is at least the newest that `minVersion` named
 * before the load began; a value with an older one is returned, but not cached. May reject: then `getMany` rejects.
 */
export type Load = (missing: readonly string[]) => Promise<(Stamped | undefined)[]>

/** A cached value with an older version counts as a miss. */
export type MinVersion = (key: string) => number

/** False: the bytes of a cached value are damaged. It counts as a miss, and the next tier or the load replaces it. Must not throw. */
export type IsIntact = (key: string, value: Buffer) => boolean

export type TieredCache = {
  /**
   * Values in key order; a key may be repeated. Concurrent calls share the load of a key. A call joins a load that began earlier, unless
   * `minVersion` has grown for the key since. That a value does not exist is remembered for a short time, in the process.
   */
  getMany(keys: readonly string[], load: Load, minVersion?: MinVersion, isIntact?: IsIntact): Promise<(Found | undefined)[]>
  /** The value of Main, else of Backup, never of L1; undefined if neither has it. For a change by `cas`. */
  gets(key: string): Promise<{ stamped: Stamped; token: CasToken } | undefined>
  /**
   * Replaces the value if it has not changed since `gets`, then sets it in all other pools. False: it has changed, it is gone, the layout
   * moved the key, or the node did not answer. In the last case it may be stored.
   */
  cas(key: string, stamped: Stamped, token: CasToken): Promise<boolean>
  /** False: neither Main nor Backup took it. Pools may then have an older value. */
  set(key: string, stamped: Stamped): Promise<boolean>
  figures(): CacheFigures
  /** Waits for calls under way, then closes the connections. Idempotent. */
  stop(): Promise<void>
}

/** Sums since the start. Keys, unless another unit is named. */
export type ClassFigures = {
  l1: number
  main: number
  backup: number
  /** Known not to exist. */
  absent: number
  /** No pool had a value that was new enough. The sum of `joined` and `loaded`. */
  misses: number
  /** Answered by a load of another call. */
  joined: number
  loaded: number
  /** Values below `minVersion`, counted in each pool that had one. */
  stale: number
  /** Values whose bytes were damaged, counted in each pool that had one. */
  damaged: number
  /** Bytes of values that pools returned. */
  bytes: number
  /** Calls of `getMany`, and the sum of their durations in ms. A call counts for the class of its first key. */
  calls: number
  ms: number
}

export type NodeFigures = {
  /** `main`, `backup`, or `l1-0`, `l1-1` and so on. */
  pool: string
  address: string
  /** The breaker is open: the node is not asked. */
  isDown: boolean
  /** The number of times that the breaker opened. */
  opened: number
  /** Keys that were read from it, since the last change of the layout. */
  reads: number
  /** Its part of the reads of its pool, 0 to 1. */
  share: number
}

/** Classes are the first letters of keys. */
export type CacheFigures = { classes: Record<string, ClassFigures>; nodes: NodeFigures[] }
