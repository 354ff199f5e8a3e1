/**
 * Port: the journal, where writes wait on this machine's disk while the hot store is down. A process has one of its own;
 * when it is back, what the journal holds is applied to the hot store, oldest first, and removed.
 *
 * Failures surface as `HOT_STORE_UNAVAILABLE` (it stands in for the hot store) or `STORE_FULL`.
 */
import type { BusinessNumber, ProgressKey, ViewerId } from '../core/domain.ts'
import type { ProgressWrite } from '../subgraphs/history/stores/hot-store.ts'
import type { MarkWrite } from '../subgraphs/thumbup/stores/hot-store.ts'

/**
 * A call of the hot store that could not be made. `now` is the server's clock when the caller got his answer. Everything
 * in an entry is one viewer's, so that an entry is applied or not, and a viewer's entries have one order.
 */
export type JournalEntry =
  | { kind: 'put'; now: number; writes: readonly ProgressWrite[] }
  | { kind: 'delete'; now: number; keys: readonly ProgressKey[] }
  | { kind: 'clear'; now: number; viewer: ViewerId; business: BusinessNumber }
  | { kind: 'pause'; now: number; viewer: ViewerId; paused: boolean }
  /** These were put without what the record store has for them, because it was down: merge it in once it answers. */
  | { kind: 'base'; now: number; keys: readonly ProgressKey[] }
  /** Of thumbup, in a journal of its own. */
  | { kind: 'mark'; now: number; writes: readonly MarkWrite[] }

/** An entry under its number; what cannot be decoded comes with the reason. */
export type Journaled = { number: number } & ({ entry: JournalEntry } | { unreadable: string })

export type Parked = Journaled & { reason: string }

export interface Journal {
  /** Entries up to this number were there when it was opened: an earlier process left them. 0 = none. */
  readonly leftUntil: number
  /** Durable when it resolves, all of them or none. Entries keep the order of the calls. */
  append(entries: readonly JournalEntry[]): Promise<void>
  /** Oldest first, at most `limit`, strictly after the number `after`. */
  list(after: number, limit: number): Promise<Journaled[]>
  /** They were applied. */
  remove(numbers: readonly number[]): Promise<void>
  /** Sets an entry aside that can never be applied, with the reason, for an operator to look at. */
  park(number: number, reason: string): Promise<void>
  /** What was set aside, oldest first. */
  listParked(): Promise<Parked[]>
  /** They wait again, under their old numbers. Returns those that were set aside. */
  putBack(numbers: readonly number[]): Promise<number[]>
  /** Entries that wait, and those set aside. */
  count(): Promise<{ waiting: number; parked: number }>
  /** Another process may have it from here on. */
  close(): Promise<void>
}

export interface Journals {
  /** This process's own. */
  readonly own: Journal
  /** Another one that a dead process left entries in; it is this process's until closed. Undefined = there is none. */
  adopt(): Promise<Journal | undefined>
  close(): Promise<void>
}

/** A journal as an operator sees it, beside the process that may be using it. */
export type JournalView = Pick<Journal, 'listParked' | 'putBack' | 'count' | 'close'> & { readonly name: string }
