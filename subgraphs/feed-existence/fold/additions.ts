/** Additions to a filter: subjects become hashes. If the month is over, the addition also closes the filter. */
import type { Month, Subject } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { addToFilter } from '../filter/filter.ts'
import { hashSeen, type SeenHashes } from '../filter/hash.ts'
import { FILTER_BYTES_MAX, type FilterKey } from '../stores/record-store.ts'

export type AdditionRules = {
  /** The share of unseen subjects that one filter may hide. */
  rate: number
  /** True if this month is over. */
  isOver(month: Month): boolean
}

export type AddSubjects = (filter: Buffer | undefined, month: Month, subjects: readonly Subject[]) => Buffer

export function makeAdditions({ rate, isOver }: AdditionRules): AddSubjects {
  return (filter, month, subjects) => addToFilter(filter, hashAll(subjects), isOver(month) ? { rate, recordsMax: 0 } : { rate })
}

function hashAll(subjects: readonly Subject[]): SeenHashes {
  const hashes = new Uint32Array(subjects.length * 2)
  let at = 0
  for (const [business, some] of Map.groupBy(subjects, (subject) => subject.business)) {
    hashes.set(
      hashSeen(
        business,
        some.map(({ oid }) => oid),
      ),
      at,
    )
    at += some.length * 2
  }
  return hashes
}

/**
 * A filter larger than the record store accepts, for a viewer with a million plays a month. The plays stay staged, and other viewers are
 * unaffected.
 */
export function tooLarge({ viewer, month }: FilterKey, bytes: number): TidemarkError {
  return new TidemarkError(
    'PLAYS_TOO_MANY',
    `the filter of viewer "${viewer}" and month ${month} would take ${bytes} bytes, more than ${FILTER_BYTES_MAX}: the viewer's plays stay staged until staging is full; examine this viewer`,
  )
}
