/** Counters of subjects as types, and the key under which changed counters travel through the log. */
import type { BusinessNumber, FlushedKey, Subject } from '../../../core/domain.ts'
import type { CounterSchema } from '../packed/counter-schema.ts'

/** The counters of a subject by name: whole numbers, 0 to 2^53 - 1. */
export type Counts = Readonly<Record<string, number>>

/** The counters of each business that has any. */
export type CounterSchemas = ReadonlyMap<BusinessNumber, CounterSchema<string>>

/** A change of one counter of one subject. An event with the same id, subject and counter is the same event. */
export type CountEvent = {
  /** 1 to 64 bytes of UTF-8. */
  id: string
  subject: Subject
  counter: string
  /** Whole, within ±(2^31 - 1). */
  delta: number
}

/** The totals of a subject. `version`: a hybrid clock as in `ProgressRecord`, of the region of the subject's id. */
export type VersionedCounts = { counts: Counts; version: number }
export type CountRow = VersionedCounts & { subject: Subject }

export const DELTA_MAX = 2 ** 31 - 1

const COUNTS_OID = 'counts'

/** The counters of a subject belong to the region of its id. Number 0 is no business, so keys of posts and words are others. */
export function flushedCountsOf({ business, oid }: Subject): FlushedKey {
  return { viewer: oid, business, oid: COUNTS_OID }
}

/** Undefined: the key is not of counters. */
export function countedSubjectOf({ viewer, business, oid }: FlushedKey): Subject | undefined {
  return business !== 0 && oid === COUNTS_OID ? { business, oid: viewer } : undefined
}

export function zeroCounts({ names }: Pick<CounterSchema<string>, 'names'>): Counts {
  return Object.fromEntries(names.map((name) => [name, 0]))
}
