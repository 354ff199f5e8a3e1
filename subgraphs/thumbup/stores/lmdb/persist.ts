/** The persist step's and the sweeper's side of the store: dirty marks, persisted marks, and tombstones that may leave. */
import type { MarkKey } from '../../../../core/domain.ts'
import type { PersistedMark } from '../hot-store.ts'
import { dropMark, markShelf, readMark, replaceMark, trimMarks, type MarkShelf, type MarkWork } from './work.ts'

export function clearDirtyMarks(work: MarkWork, persisted: readonly PersistedMark[], cap: number): void {
  const touched = new Set<MarkShelf>()
  for (const { key, version, record } of persisted) {
    const shelf = markShelf(work, key)
    const held = readMark(work, shelf, key.oid)
    if (held === undefined) continue
    if (held.record.version === version) {
      replaceMark(work, shelf, key.oid, held, { record, counted: record.mark, countedAt: record.markedAt, dirtySince: 0 })
      touched.add(shelf)
    } else if (held.dirtySince > 0 && record.markedAt >= held.countedAt) {
      // A clean mark is counted as it is. A dirty mark is counted by the newest row: an older row here is a late call, after the one of a
      // newer version.
      replaceMark(work, shelf, key.oid, held, { ...held, counted: record.mark, countedAt: record.markedAt })
    }
  }
  for (const shelf of touched) trimMarks(work, shelf, cap)
}

/** Drops marks that are still clean tombstones of that time or older. Returns the number dropped. */
export function dropUndone(work: MarkWork, keys: readonly MarkKey[], undoneBefore: number): number {
  let gone = 0
  for (const key of keys) {
    const shelf = markShelf(work, key)
    const held = readMark(work, shelf, key.oid)
    if (held === undefined || held.dirtySince > 0 || held.record.mark !== 'NONE' || held.record.markedAt > undoneBefore) continue
    dropMark(work, shelf, key.oid, held)
    gone += 1
  }
  return gone
}
