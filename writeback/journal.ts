/**
 * Port: the journal. Writes wait in it on this machine's disk while the hot store is down. Each process has a journal of its own. When the
 * hot store is back, the entries are applied to it, oldest first, and removed.
 *
 * Failures surface as `HOT_STORE_UNAVAILABLE` (the journal stands in for the hot store) or `STORE_FULL`.
 */
import type { ViewerId } from '../core/domain.ts'
import type { Traces } from '../core/erasure/traces.ts'

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

/** An entry with its number. Invalid bytes come with the reason. */
export type Journaled = { number: number } & ({ entry: JournalEntry } | { unreadable: string })

export type Parked = Journaled & { reason: string }

export interface Journal {
  /** An earlier process left the entries up to this number. 0: none. */
  readonly leftUntil: number
  /** Durable when it resolves, all entries or none. Entries keep the order of the calls. */
  append(entries: readonly JournalEntry[]): Promise<void>
  /** Oldest first, at most `limit`, strictly after the number `after`. */
  list(after: number, limit: number): Promise<Journaled[]>
  /** Removes applied entries. */
  remove(numbers: readonly number[]): Promise<void>
  /** Parks an entry that can never be applied, with the reason, for an operator. */
  park(number: number, reason: string): Promise<void>
  /** The parked entries, oldest first. */
  listParked(): Promise<Parked[]>
  /** Parked entries wait again, under their old numbers. Returns the numbers that were parked. */
  putBack(numbers: readonly number[]): Promise<number[]>
  /** The numbers of waiting and of parked entries. */
  count(): Promise<{ waiting: number; parked: number }>
  /** Afterwards another process may open it. */
  close(): Promise<void>
}

export interface Journals {
  /** The journal of this process. */
  readonly own: Journal
  /** A journal with entries of a dead process. It belongs to this process until it is closed. Undefined: there is none. */
  adopt(): Promise<Journal | undefined>
  close(): Promise<void>
}

/** A journal for an operator. A process may be using it at the same time. */
export type JournalView = Pick<Journal, 'listParked' | 'putBack' | 'count' | 'close'> & {
  readonly name: string
  /** Waiting and parked entries of a viewer. */
  readonly traces: Traces
}
