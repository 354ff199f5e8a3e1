/**
 * Checks that every play in a viewer's legacy sets is in Tidemark: staged, or in a filter. The check reads like a service without a legacy
 * store. A missing play can be staged again with its time in the legacy store.
 */
import type { Clock } from '../../core/clock.ts'
import type { BusinessNumber, Play, ViewerId } from '../../core/domain.ts'
import { isTidemarkError } from '../../core/errors.ts'
import { MARK_MONTH, decodeMark } from '../../subgraphs/feed-existence/migration/progress.ts'
import { openFilter } from '../../subgraphs/feed-existence/filter/filter.ts'
import { hashSeen } from '../../subgraphs/feed-existence/filter/hash.ts'
import { monthsRead } from '../../subgraphs/feed-existence/model/time-ring.ts'
import type { LegacyPlays } from '../../subgraphs/feed-existence/stores/legacy-plays.ts'
import type { SeenRecords } from '../../subgraphs/feed-existence/stores/record-store.ts'
import type { SeenStore } from '../../subgraphs/feed-existence/stores/hot-store.ts'
import { askAll, isFound } from '../../subgraphs/feed-existence/read/probes.ts'

export type VerifySources = { hot: Pick<SeenStore, 'getSeen'>; records: Pick<SeenRecords, 'getFilters'>; legacy: LegacyPlays }

export type VerifyRules = { monthsBefore: number; futureMaxMs: number; isLive(playedAt: number): boolean }

export type Verified = {
  /** Whether the viewer is marked as migrated. If not, nothing else is checked. */
  isMigrated: boolean
  /** Members with a time that counts; the missing ones of them; members that are not ids. */
  checked: number
  missing: Play[]
  invalid: string[]
  /** The reason why the set or a filter could not be read. */
  mistake: string | undefined
}

const PAGE = 5_000

/** Rejects with the code of a store that does not answer. */
export async function verifyViewer(
  clock: Clock,
  { hot, records, legacy }: VerifySources,
  viewer: ViewerId,
  business: BusinessNumber,
  { monthsBefore, futureMaxMs, isLive }: VerifyRules,
): Promise<Verified> {
  const verified: Verified = { isMigrated: false, checked: 0, missing: [], invalid: [], mistake: undefined }
  const [marked] = await records.getFilters([{ viewer, month: MARK_MONTH }])
  verified.isMigrated = decodeMark(marked?.filter).has(business)
  if (!verified.isMigrated) return verified
  try {
    for (let page: string | undefined; ;) {
      const found = await legacy.listPlays(viewer, business, page, PAGE)
      const live = found.plays.filter(({ playedAt }) => isLive(playedAt))
      verified.checked += live.length
      verified.invalid.push(...found.invalid)
      verified.missing.push(...(await missingOf(live.map((play) => ({ viewer, business, ...play })))))
      page = found.next
      if (page === undefined) return verified
    }
  } catch (error) {
    if (!isTidemarkError(error) || (error.code !== 'LEGACY_INVALID' && error.code !== 'DATA_DAMAGED')) throw error
    // Only this viewer is affected. The others are still checked.
    verified.mistake = `${error.code}: viewer "${viewer}": ${error.message}`
    return verified
  }

  /** Reads staged plays first, as every reader does: plays that are folded meanwhile are in the filters, which are read afterwards. */
  async function missingOf(plays: readonly Play[]): Promise<Play[]> {
    const { staged } = await hot.getSeen(viewer, business)
    const months = monthsRead(clock.now(), { monthsBefore, futureMaxMs })
    const stored = await records.getFilters(months.map((month) => ({ viewer, month })))
    const filters = stored.flatMap((found, at) =>
      found === undefined ? [] : [{ month: months[at] as number, probe: openFilter(found.filter) }],
    )
    const stagedOids = new Set(staged.map(({ oid }) => oid))
    const found = askAll(
      filters,
      hashSeen(
        business,
        plays.map(({ oid }) => oid),
      ),
    )
    return plays.filter(({ oid }, at) => !stagedOids.has(oid) && !isFound(found, at))
  }
}
