/** Closes the filters of months that are over, for viewers whose first filter of a later month was just written. */
import type { Month } from '../../../core/domain.ts'
import type { makePortions } from '../../../core/event-loop-yield.ts'
import type { FilterKey, FilterWrite, SeenRecords } from '../stores/record-store.ts'
import type { AddSubjects } from './additions.ts'

export type ClosingRules = {
  /** Months before a newly begun one whose filters are closed. */
  monthsBefore: number
  isOver(month: Month): boolean
  expiryOf(month: Month): number
}

/** Returns the number of closed filters. A filter that is not closed takes more bytes and is otherwise unaffected. */
export async function closeEarlier(
  records: Pick<SeenRecords, 'getFilters' | 'putFilters'>,
  begun: readonly FilterKey[],
  add: AddSubjects,
  turnFor: ReturnType<typeof makePortions>,
  { monthsBefore, isOver, expiryOf }: ClosingRules,
): Promise<number> {
  const earlier = Array.from({ length: monthsBefore }, (_, at) => at + 1)
  const oldest = begun.reduce((newest, { month }) => Math.max(newest, month), 0) - monthsBefore
  const keys = distinct(begun.flatMap(({ viewer, month }) => earlier.map((back) => ({ viewer, month: month - back })))).filter(
    ({ month }) => month >= oldest && isOver(month),
  )
  if (keys.length === 0) return 0
  const stored = await records.getFilters(keys)
  const writes: FilterWrite[] = []
  for (const [place, { viewer, month }] of keys.entries()) {
    const found = stored[place]
    if (found === undefined) continue
    const turn = turnFor(found.filter.length)
    if (turn !== undefined) await turn
    try {
      const filter = add(found.filter, month, [])
      if (!found.filter.equals(filter)) writes.push({ viewer, month, filter, expected: found.version, expiresAt: expiryOf(month) })
    } catch {
      // The reader of this filter reports it and has it repaired.
    }
  }
  return writes.length === 0 ? 0 : (await records.putFilters(writes)).filter(Boolean).length
}

/** A viewer who begins two months at once has the earlier months in both. */
function distinct(keys: readonly FilterKey[]): FilterKey[] {
  return [...new Map(keys.map((key) => [`${key.month}:${key.viewer}`, key])).values()]
}
