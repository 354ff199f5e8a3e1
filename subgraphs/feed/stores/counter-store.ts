/**
 * Port: the hot store of counters. It has the live totals of every subject that it was given. Events change
 * totals at once and atomically, each event once. Changed totals are dirty until the persist step has written them to the record store.
 *
 * A subject that the store does not know needs its base, the totals in the record store. Its events are not applied: the caller reads the
 * base, gives it to `fillTotals`, and sends the events again. Filled totals never leave the store, so a late `fillTotals` of a known subject changes
 * nothing and no lease is needed.
 *
 * The store remembers an event for at least `rememberMs` (default one hour). A repetition within that time changes nothing.
 *
 * Every adapter passes `test/contracts/feed/counter-store.ts`. Failures surface as in the hot store of the feed. A failed call may have
 * been executed for some events. Every call may be repeated.
 */
import type { Subject, ViewerId } from '../../../core/domain.ts'
import type { CountEvent, CountRow, Counts } from '../model/counts.ts'

export type CountOutcome =
  /** The total has changed and is dirty. */
  | 'counted'
  /** The event was counted before. Nothing changed. */
  | 'repeated'
  /** The total would leave 0 to 2^53 - 1. Nothing changed, and the event is not remembered. */
  | 'invalid'
  /** The subject is not in the store. Nothing changed, and the event is not remembered. */
  | 'needs-base'

/** `counts` is undefined if the store lost them. */
export type DirtyCounts = { counts: Counts | undefined; version: number }

export interface CounterStore {
  /**
   * Applies events in order. In order of the events. Atomic per event. Every business has a schema, every counter is in it, and deltas are in
   * range. `now`: ms since the epoch, of a clock within `rememberMs` of all others.
   */
  adjust(events: readonly CountEvent[], now: number): Promise<CountOutcome[]>
  /** Stores the totals of subjects that the store does not know. Later versions of them are above `version` (0: none was ever persisted). */
  fillTotals(bases: readonly CountRow[]): Promise<void>
  /** Multi-get in order; undefined: the store does not know the subject. */
  getMany(subjects: readonly Subject[]): Promise<(Counts | undefined)[]>

  /** The dirty totals in order; undefined: not dirty. The totals have at least all changes up to the version. */
  readDirty(subjects: readonly Subject[]): Promise<(DirtyCounts | undefined)[]>
  /** Removes each dirty mark whose version has not moved. */
  clearDirty(persisted: readonly { subject: Subject; version: number }[]): Promise<void>
  /** Subjects of these regions that are dirty since this moment or longer, at most `limit`, the oldest of each region first. */
  listDirty(regions: readonly number[], dirtyBefore: number, limit: number): Promise<Subject[]>
  /** The number of dirty subjects. */
  countDirty(): Promise<number>

  /** Resolves if the store answers and accepts writes. With a part: checks that part only. */
  check(part?: number): Promise<void>
  /** The region of a subject's id, for a store in parts. */
  partOf?(oid: ViewerId): number
  close(): Promise<void>
}

export const REMEMBER_MS = 3_600_000
