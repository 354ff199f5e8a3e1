/**
 * The traces of a viewer in one store, for an erasure and for the look afterwards. Each capability has adapters of this port for its own
 * tables and keys, and the composition root joins them.
 *
 * An erasure ends with the moment of its last pass. Writes from before its beginning are gone, writes during it may go or stay, and later
 * writes are new data. `upTo` is the beginning of a pass: a store keeps what it knows to be newer.
 */
import type { ViewerId } from '../domain.ts'

export interface Traces {
  /**
   * Removes the entries of the viewer from this store. Returns the number of removed entries. May be repeated, also after a failure, and
   * while the viewer writes. Rejects with the code of the store.
   */
  erase(viewer: ViewerId, upTo: number): Promise<number>
  /** The number of entries of the viewer. Changes nothing. */
  count(viewer: ViewerId): Promise<number>
}
