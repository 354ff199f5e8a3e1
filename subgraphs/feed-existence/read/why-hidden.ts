/** The reasons why a subject is hidden from a viewer, for operators. Read from the stores, past every cache. */
import { MARK_MONTH, decodeMark } from '../migration/progress.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import { openFilter, measureFilter } from '../filter/filter.ts'
import { hashSeen } from '../filter/hash.ts'
import { monthText, monthsRead } from '../model/time-ring.ts'
import type { Month, ProgressKey, ViewerId } from '../../../core/domain.ts'
import type { HistoryRecords } from '../stores/history-records.ts'
import type { SeenRecords } from '../stores/record-store.ts'
import type { SeenStore } from '../stores/hot-store.ts'
import type { PlayedAtLimits } from '../inputs.ts'
import type { LegacyReads } from '../migration/legacy-reads.ts'
import { askAll, isFound } from './probes.ts'
import { withWaiting, type Arrears } from './viewer-reads.ts'

/** For a filter that is not `readable`, only the bytes are known. */
export type FilterAnswer = { month: string; readable: boolean; has: boolean; records: number; bytes: number; rate: number }

export type WhyHidden = {
  hidden: boolean
  issuedAt: number | null
  stagedAt: number | null
  /** Null once the viewer is migrated, and if no legacy store is configured. */
  legacyAt: number | null
  /** The newest month first. */
  filters: FilterAnswer[]
  viewedAt: number | null
}

export type WhyHiddenSources = {
  hot: Pick<SeenStore, 'getSeen'>
  records: Pick<SeenRecords, 'getFilters'>
  history: Pick<HistoryRecords, 'getProgressMany'> | undefined
  legacy: Pick<LegacyReads, 'playedAt'> | undefined
  /** Requests the repair of a filter that cannot be read. */
  onUnreadable(viewer: ViewerId, month: Month): void
  arrears: Pick<Arrears, 'waitingOf'>
}

/** Rejects with the code of a store that does not answer. */
export async function readWhyHidden(
  { hot, records, history, legacy, arrears, onUnreadable }: WhyHiddenSources,
  { viewer, business, oid }: ProgressKey,
  now: number,
  limits: PlayedAtLimits,
): Promise<WhyHidden> {
  const waiting = arrears.waitingOf(viewer, business)
  const { issued, staged } = await hot.getSeen(viewer, business)
  const months = monthsRead(now, limits)
  // Read before the filters, as in every reader (`subgraphs/feed-existence/migration/progress.ts`).
  const [mark] = legacy === undefined ? [] : await records.getFilters([{ viewer, month: MARK_MONTH }])
  const [stored, known] = await Promise.all([
    records.getFilters(months.map((month) => ({ viewer, month }))),
    history?.getProgressMany([{ viewer, business, oid }]),
  ])
  const hashes = hashSeen(business, [oid])
  const filters = months.flatMap((month, at): FilterAnswer[] => {
    const found = stored[at]
    if (found === undefined) return []
    const answer = { month: monthText(month), bytes: found.filter.length }
    try {
      const { records: count, expectedRate } = measureFilter(found.filter)
      const has = isFound(askAll([{ month, probe: openFilter(found.filter) }], hashes), 0)
      return [{ ...answer, readable: true, has, records: count, rate: expectedRate }]
    } catch (error) {
      if (!isTidemarkError(error)) throw error
      onUnreadable(viewer, month)
      return [{ ...answer, readable: false, has: false, records: 0, rate: 0 }]
    }
  })
  const issuedAt = issued.find((each) => each.oid === oid)?.issuedAt ?? null
  const stagedAt = withWaiting(staged, waiting).get(oid) ?? null
  const legacyAt = legacy === undefined ? null : await legacyTimeOf()
  const record = known?.[0]
  return {
    hidden: issuedAt !== null || stagedAt !== null || legacyAt !== null || filters.some(({ has }) => has),
    issuedAt,
    stagedAt,
    legacyAt,
    filters,
    viewedAt: record === undefined || record.deleted ? null : record.viewedAt,
  }

  async function legacyTimeOf(): Promise<number | null> {
    if (decodeMark(mark?.filter).has(business)) return null
    return (await legacy?.playedAt(viewer, business, oid)) ?? null
  }
}
