/**
 * What a page that cannot be recounted is done by: one by one, so that a subject that is damaged, or has more rows than can be
 * counted in time, is named and left out and all others of the page are counted.
 */
import type { MarkRecords } from '../stores/record-store.ts'

/** Rejects if the record store does not answer: then none is to blame, and all of it is to be done again. */
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
