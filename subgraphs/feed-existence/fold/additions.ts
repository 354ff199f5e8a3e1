/** Additions to a filter: subjects become hashes, and a filter of a month that is over is closed with the addition. */
import type { Month, Subject } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { addToFilter } from '../filter/filter.ts'
import { hashSeen, type SeenHashes } from '../filter/hash.ts'
import { FILTER_BYTES_MAX, type FilterKey } from '../stores/record-store.ts'

export type AdditionRules = {
  /** What one filter may hide wrongly. */
  rate: number
  /** Is this month over? */
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

/** What the record store would not take: of a viewer who plays a million things a month. He keeps it staged, and others go on. */
export function tooLarge({ viewer, month }: FilterKey, bytes: number): TidemarkError {
  return new TidemarkError(
    'PLAYS_TOO_MANY',
    `the filter of viewer "${viewer}" and month ${month} would take ${bytes} bytes, more than ${FILTER_BYTES_MAX}: what he plays stays staged until it is full; see who that is`,
  )
}
