/**
 * Recounts a failed page one item at a time. An item that is damaged, or has too many rows to count in time, is reported and skipped. All
 * others are counted.
 */
import type { MarkRecords } from '../stores/record-store.ts'

/** Rejects if the record store does not answer. The whole page must be repeated then. */
export async function recountOneByOne<T, D>(
  records: Pick<MarkRecords, 'check'>,
  items: readonly T[],
  recount: (items: readonly T[]) => Promise<D[]>,
  leftOut: (item: T, error: unknown) => void,
): Promise<D[]> {
  const drift: D[] = []
  for (const item of items) {
    try {
      drift.push(...(await recount([item])))
    } catch (error) {
      await records.check()
      leftOut(item, error)
    }
  }
  return drift
}
