/**
 * Port: whom viewers follow, each list as one value (`packed/longset.ts`). It is a cache: the marks of follows are the truth, and a missing
 * set is built from them.
 *
 * A builder takes a lease before it reads the marks. A change of the marks forgets the set and ends the lease, so a set that may lack the
 * change is refused. Builders of one viewer share a lease: each of them began after the last change.
 *
 * Every adapter passes `test/contracts/feed/longset-store.ts`. Failures surface as `HOT_STORE_UNAVAILABLE` (retryable) or `STORE_FULL`.
 */
import type { ViewerId } from '../../../core/domain.ts'

export interface LongsetStore {
  /** Undefined: the store has no set, and the caller may build it. */
  get(viewer: ViewerId): Promise<Buffer | undefined>
  /** Whether the set has each id, in their order, without fetching the set. Undefined: there is no set. */
  has(viewer: ViewerId, ids: readonly ViewerId[]): Promise<boolean[] | undefined>
  /** The numbers of ids in the sets, in order. Undefined: there is no set. */
  countMany(viewers: readonly ViewerId[]): Promise<(number | undefined)[]>
  /** The lease of a builder. Call it before the marks are read. */
  beginBuild(viewer: ViewerId): Promise<string>
  /** Stores the set for this time, in one command. False: the lease has ended, and nothing is stored. */
  put(viewer: ViewerId, set: Buffer, lease: string, ttlMs: number): Promise<boolean>
  /**
   * Forgets the sets of these viewers and ends their leases. New leases of the next `refuseMs` are void. A writer of marks calls it before
   * the write with a time, in case it dies, and after the write with 0.
   */
  forget(viewers: readonly ViewerId[], refuseMs: number): Promise<void>
  /** As in the hot store of history. */
  partOf?(viewer: ViewerId): number
  close(): Promise<void>
}

/** The longest time from a lease to the end of its build. */
export const LEASE_MS = 30_000
/** A lease that is void from its beginning. */
export const VOID_LEASE = 'void'
