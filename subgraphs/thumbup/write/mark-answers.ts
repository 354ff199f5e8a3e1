/** The answer to one mark, from the outcome of its write. */
import type { Mark, MarkKey } from '../../../core/domain.ts'
import type { MarkWrite } from '../stores/hot-store.ts'
import type { Pipeline } from './pipeline.ts'
import { rejectedBy, type Rejected } from '../../user-errors.ts'
import type { MarkWriteOutcome } from './writes.ts'

/** One answer per input. */
export type MarkAnswer =
  | {
      outcome: 'ACCEPTED'
      key: MarkKey
      /** Undefined if no store could tell. */
      old: Mark | undefined
      mark: Mark
      /** Only the journal has this mark. The stores do not count it yet, so reads add it. */
      journaled?: true
    }
  /** The store has a newer mark, or this very mark. */
  | { outcome: 'STALE'; key: MarkKey; mark: Mark }
  | Rejected

/** Also hands the key of a stored mark to the aggregator. */
export function answerOf({ aggregate }: Pick<Pipeline, 'aggregate'>, write: MarkWrite, outcome: MarkWriteOutcome): MarkAnswer {
  const { viewer, business, oid } = write
  const key: MarkKey = { viewer, business, oid }
  if (outcome.status === 'journaled') return { outcome: 'ACCEPTED', key, old: undefined, mark: outcome.mark, journaled: true }
  if (outcome.status === 'unreadable') return rejectedBy(outcome.error)
  if (outcome.status === 'stale') {
    const { record, repeated } = outcome
    // An earlier put may have stored this mark and lost its answer: the key was never flushed.
    const isStored = record.mark === write.mark && (repeated === true || record.markedAt === write.markedAt)
    if (isStored) aggregate(key)
    return isStored && repeated === true
      ? { outcome: 'ACCEPTED', key, old: undefined, mark: record.mark }
      : { outcome: 'STALE', key, mark: record.mark }
  }
  aggregate(key)
  return { outcome: 'ACCEPTED', key, old: outcome.blind ? undefined : outcome.old, mark: outcome.record.mark }
}
