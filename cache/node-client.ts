/**
 * Port: a connection to one node of a pool. Adapters: Memcached (`memcached/client.ts`) and memory of the process (`memory.ts`).
 *
 * Requests of one connection take effect in the order of the calls. A read after a quiet write therefore sees the write. Keys are any
 * strings of well-formed Unicode; the adapter encodes them.
 */
import type { Stamped } from './tiered-cache.ts'

/**
 * A value in a node. `endsAt` is the time of its end, in ms since 1970: it goes with the value from pool to pool, or a value would begin a new
 * life with each fill. `state` is the node's number for the stored state of the key: every store of the key changes it. It means nothing to
 * another connection.
 */
export type Held = Stamped & { readonly endsAt: number; readonly state: number }

export type NodeClient = {
  /** In key order, undefined for a miss. Rejects if the node does not answer, or answers what is not of its protocol. */
  getMany(keys: readonly string[]): Promise<(Held | undefined)[]>
  /** False: the node answered that it cannot store this value: it is full, or the value is too large. Rejects as `getMany`. */
  set(key: string, stamped: Stamped, endsAt: number): Promise<boolean>
  /** False: the stored state is another one, or there is none. Rejects as `getMany`. */
  cas(key: string, stamped: Stamped, state: number, endsAt: number): Promise<boolean>
  /** As `set`, without an answer. May be lost. */
  setQuietly(key: string, stamped: Stamped, endsAt: number): void
  /** Stores the value if the key has none (`state` undefined), or if it has this state. Without an answer. May be lost. */
  fillQuietly(key: string, stamped: Stamped, state: number | undefined, endsAt: number): void
  /** Grows with each new connection. A state of an earlier connection may mean another one now: the node may have been restarted. */
  connection(): number
  /** The number of complete answers. While it grows, the node works. */
  answers(): number
  /** Resolves if the node answers. */
  check(): Promise<void>
  /** Ends the connection: pending requests reject. The next request connects again. */
  reset(reason: Error): void
  /** Ends the connection for good. */
  stop(): Promise<void>
}
