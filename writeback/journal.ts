/**
 * Port: the journal. Writes wait in it on this machine's disk while the hot store is down. Each process has a journal of its own. When the
 * hot store is back, the entries are applied to it, oldest first, and removed.
 *
 * Failures surface as `HOT_STORE_UNAVAILABLE` (the journal stands in for the hot store) or `STORE_FULL`.
 */
import type { ViewerId } from '../core/domain.ts'

/** A call of the hot store that could not be made. The capability that made it knows the rest. */
export type JournaledChange = { readonly kind: string }

/** The changes of one viewer in one call. An entry is applied as a whole, and the entries of a viewer keep their order. */
export type JournalEntry = {
  readonly viewer: ViewerId
  /** The server's clock when the caller got the answer. */
  readonly now: number
  /** True: the entry waits for the record store alone, and delays no later write of its viewer. */
  readonly isBackground?: boolean
  readonly change: JournaledChange
}

/** An entry under its number. Bytes that are no entry come with the reason. */
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
