/** Puts filters of feed existence into the record store. A stored filter of the same month is merged with that of the export. */
import { mergeFilters } from '../../subgraphs/feed-existence/filter/filter.ts'
import { MARK_MONTH } from '../../subgraphs/feed-existence/migration/progress.ts'
import type { FilterWrite, SeenRecords, StoredFilter } from '../../subgraphs/feed-existence/stores/record-store.ts'
import type { RowOf } from './rows.ts'

const TRIES_MAX = 5

/** A fold that comes in between changes the version: the filters are then read again. */
export async function putFilterRows(records: SeenRecords, rows: readonly RowOf<'filter'>[]): Promise<void> {
  let waiting: readonly RowOf<'filter'>[] = rows
  for (let tries = 1; waiting.length > 0; tries += 1) {
    if (tries > TRIES_MAX) throw new Error(`${waiting.length} filters changed at each of ${TRIES_MAX} tries`)
    const stored = await records.getFilters(waiting)
    const writes = waiting.flatMap((row, at) => writeOf(row, stored[at]) ?? [])
    const written = await records.putFilters(writes)
    const refused = new Set(writes.filter((_, at) => written[at] === false).map(({ viewer, month }) => `${month}:${viewer}`))
    waiting = waiting.filter(({ viewer, month }) => refused.has(`${month}:${viewer}`))
  }
}

/** Undefined if nothing changes. The note of a migration (month 0) is kept if the target has one. */
function writeOf({ viewer, month, expiresAt, filter }: RowOf<'filter'>, stored: StoredFilter | undefined): FilterWrite | undefined {
  const own = Buffer.from(filter, 'base64')
  if (stored === undefined) return { viewer, month, expiresAt, filter: own, expected: 0 }
  if (month === MARK_MONTH) return undefined
  const merged = mergeFilters(stored.filter, own)
  return merged === stored.filter ? undefined : { viewer, month, expiresAt, filter: merged, expected: stored.version }
}
