/**
 * Point lookups of progress: one multi-get of the hot store. A miss is an answer, because nearly every lookup is for
 * something never watched; only a miss in a truncated timeline asks the record store, in one bounded batch.
 */
import type { ProgressKey, ProgressRecord } from '../core/domain.ts'
import type { HotStore } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'

/** In key order; undefined where the viewer never was, or what he did is deleted or cleared. */
export async function getProgressMany(
  hot: HotStore,
  records: RecordStore,
  keys: readonly ProgressKey[],
): Promise<(ProgressRecord | undefined)[]> {
  const lookups = await hot.getProgressMany(keys)
  const older = lookups.flatMap((lookup, index) => (lookup.older === undefined ? [] : [{ index, clearedAt: lookup.older.clearedAt }]))
  const found = lookups.map((lookup) => lookup.record)
  if (older.length === 0) return found
  const rows = await records.getProgressMany(older.map(({ index }) => keys[index] as ProgressKey))
  older.forEach(({ index, clearedAt }, place) => {
    const row = rows[place]
    if (row !== undefined && !row.deleted && row.viewedAt > clearedAt) found[index] = row
  })
  return found
}
