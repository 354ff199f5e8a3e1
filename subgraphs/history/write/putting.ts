/** Putting progress into the hot store with the help of the record store: for the service, and for what is replayed. */
import { asRepeated } from '../../../core/clock-differences.ts'
import type { ProgressRecord } from '../../../core/domain.ts'
import { saysDown } from '../../../core/outage/degraded.ts'
import type { HotStore, ProgressWrite, PutOptions, PutOutcome } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'

/** Each further read takes a report of another device, its persisting and its trimming in between: two are rare. */
export const BASE_READS_MAX = 20

/**
 * Puts; what the hot store cannot decide alone is put again with what the record store has. It may ask once more: while
 * a base was read, another device's report may have been persisted and trimmed, and then the base is an old one.
 *
 * With the record store down, `withoutBase` is told first, durably, which writes go without; then they are put as if there
 * was nothing to merge with, so that they are readable. What the record store has is merged in later. Without that function
 * the put rejects. An outcome may be left 'needs-base' only then.
 */
export async function putProgress(
  hot: HotStore,
  records: RecordStore,
  writes: readonly ProgressWrite[],
  options: PutOptions,
  withoutBase?: (writes: readonly ProgressWrite[]) => Promise<void>,
): Promise<PutOutcome[]> {
  const outcomes = await hot.putProgress(writes, options)
  for (let read = 0; read < BASE_READS_MAX; read++) {
    const undecided = outcomes.flatMap((outcome, index) => (outcome.status === 'needs-base' ? [{ index, ...outcome }] : []))
    if (undecided.length === 0) break
    const waiting = undecided.map(({ index }) => writes[index] as ProgressWrite)
    const bases = await records.getProgressMany(waiting).catch(async (error: unknown) => {
      if (withoutBase === undefined || !saysDown(error, 'recordStore')) throw error
      await withoutBase(waiting)
      return undefined
    })
    const again = waiting.map((write, place) => withBase(write, bases, place, undecided[place]?.asOf))
    const decided = await hot.putProgress(again, options)
    undecided.forEach(({ index, repeated }, place) => {
      const outcome = decided[place] as PutOutcome
      outcomes[index] = repeated === true ? asRepeated(outcome) : outcome
    })
    if (bases === undefined) break
  }
  return outcomes
}

/** Where the record store was not asked, no age of the base is told, so that nothing is asked again. */
function withBase(
  write: ProgressWrite,
  bases: readonly (ProgressRecord | undefined)[] | undefined,
  place: number,
  asOf: number | undefined,
): ProgressWrite {
  if (bases === undefined || asOf === undefined) return Object.assign({}, write, { base: null })
  return Object.assign({}, write, { base: bases[place] ?? null, baseAsOf: asOf })
}
