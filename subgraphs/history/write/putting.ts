/** Puts progress into the hot store with the help of the record store. Used by the service and by the replay. */
import { asRepeated } from '../../../core/clock-differences.ts'
import type { ProgressRecord } from '../../../core/domain.ts'
import { saysDown } from '../../../core/outage/degraded.ts'
import type { HotStore, ProgressWrite, PutOptions, PutOutcome } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'

/** Each further read needs a report of another device that is persisted and trimmed in between, so even two are rare. */
export const BASE_READS_MAX = 20

/**
 * Puts the writes. Writes that the hot store cannot decide alone are put again with the rows of the record store. It may ask once more:
 * while a base was read, another device's report may have been persisted and trimmed, and the base is then outdated.
 *
 * If the record store is down, `withoutBase` first notes durably which writes go without. They are then put as if there was nothing to
 * merge with, so that they are readable, and the rows are merged in later. If `withoutBase` rejects or is absent, the put rejects. An
 * outcome remains 'needs-base' only after BASE_READS_MAX reads.
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

/** If the record store was not asked, the base has no age, so that the hot store does not ask again. */
function withBase(
  write: ProgressWrite,
  bases: readonly (ProgressRecord | undefined)[] | undefined,
  place: number,
  asOf: number | undefined,
): ProgressWrite {
  if (bases === undefined || asOf === undefined) return Object.assign({}, write, { base: null })
  return Object.assign({}, write, { base: bases[place] ?? null, baseAsOf: asOf })
}
