/** Archiving, purging, deleting and measuring in the model of the record store. */
import type { MarkKey } from '../../../core/domain.ts'
import { keyText } from '../../../core/progress-key.ts'
import type { BusinessSize, MarkRow } from '../../../subgraphs/thumbup/stores/record-store.ts'
import { put, rowsOf, type MarkRecordsState, type Tier } from './record-rows.ts'

export function archiveMarks(state: MarkRecordsState, markedBefore: number, limit: number): number {
  const { recent, archived } = state
  const moving = [...recent.values()].flatMap((rows) =>
    [...rows.values()].filter(({ key, record }) => record.markedAt < markedBefore && (record.mark !== 'NONE' || isCovering(state, key))),
  )
  for (const { key, record } of moving.slice(0, limit)) {
    if (record.mark === 'NONE') {
      archived.get(key.business)?.delete(keyText(key))
    } else {
      put(archived, { key, record: { ...record, version: 0 } })
      recent.get(key.business)?.delete(keyText(key))
    }
  }
  return Math.min(moving.length, limit)
}

export function purgeUndone(state: MarkRecordsState, undoneBefore: number, limit: number): number {
  let removed = 0
  for (const rows of state.recent.values()) {
    const isDone = ({ key, record }: MarkRow): boolean =>
      record.mark === 'NONE' && record.markedAt < undoneBefore && !isCovering(state, key)
    removed += remove(rows, isDone, limit - removed)
  }
  return removed
}

function isCovering({ archived }: MarkRecordsState, key: MarkKey): boolean {
  return archived.get(key.business)?.has(keyText(key)) ?? false
}

export function deleteBusiness({ recent, archived, counts, owners, sums }: MarkRecordsState, business: number, limit: number): number {
  let removed = 0
  for (const tier of [recent, archived]) removed += remove(rowsOf(tier, business), () => true, limit - removed)
  const isOwn = (item: { business: number }): boolean => item.business === business
  removed += remove(counts, isOwn, limit - removed)
  removed += remove(owners, isOwn, limit - removed)
  return removed + remove(sums, isOwn, limit - removed)
}

export function measureMarks({ recent, archived }: MarkRecordsState) {
  const live = (tier: Tier): MarkRow[] =>
    [...tier.values()].flatMap((rows) => [...rows.values()].filter(({ record }) => record.mark !== 'NONE'))
  const bytes = (tier: Tier, each: number): number => [...tier.values()].reduce((sum, rows) => sum + rows.size * each, 0)
  const uncovered = live(archived).filter(({ key }) => !recent.get(key.business)?.has(keyText(key)))
  return { recent: live(recent).length, archived: uncovered.length, recentBytes: bytes(recent, 100), archivedBytes: bytes(archived, 12) }
}

export function measureBusiness({ recent, archived, counts, owners, sums }: MarkRecordsState, business: number): BusinessSize {
  const own = (items: Iterable<{ business: number; oid?: string }>) => [...items].filter((item) => item.business === business)
  const subjects = new Set([...own(counts.values()), ...own(owners.values())].map(({ oid }) => oid))
  return {
    rows: rowsOf(recent, business).size,
    blocks: rowsOf(archived, business).size,
    subjects: subjects.size,
    owners: own(sums.values()).length,
  }
}

function remove<K, V>(map: Map<K, V>, matches: (value: V) => boolean, limit: number): number {
  const gone = [...map].filter(([, value]) => matches(value)).slice(0, Math.max(0, limit))
  for (const [key] of gone) map.delete(key)
  return gone.length
}
