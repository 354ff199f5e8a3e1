/**
 * Puts rows of history into the record store, and from there into the hot store. A page of history begins in the hot store, which does not
 * ask the record store about viewers whose timeline was never truncated. The hot store takes over each row as the record store has it after
 * the merge, because the target may have a newer one.
 */
import type { ProgressRow } from '../../core/domain.ts'
import { persistKeys } from '../../subgraphs/history/persist/persist.ts'
import type { HotStore } from '../../subgraphs/history/stores/hot-store.ts'
import type { RecordStore, SettingsRow } from '../../subgraphs/history/stores/record-store.ts'

export type HistoryTarget = { hot: HotStore; records: RecordStore; timelineCap: number; regions: number; now(): number }

const KEYS_AT_ONCE = 1_000
const PURGE_ROWS = 1_000
const AHEAD_MS = 3_600_000

/** Persists the target's own changes first, so that both stores agree before the first row. */
export async function persistWaiting({ hot, records, timelineCap, regions, now }: HistoryTarget): Promise<void> {
  const all = Array.from({ length: regions }, (_, region) => region)
  for (;;) {
    const keys = await hot.listDirty(all, now() + AHEAD_MS, KEYS_AT_ONCE)
    if (keys.length === 0) return
    await persistKeys({ hot, records }, keys, { timelineCap, purgeRowsMax: PURGE_ROWS })
  }
}

export async function putProgressRows({ hot, records, timelineCap, now }: HistoryTarget, rows: readonly ProgressRow[]): Promise<void> {
  await records.putProgress(rows)
  const stored = await records.getProgressMany(rows.map(({ key }) => key))
  const filled = rows.map(({ key, record }, at) => ({ key, record: stored[at] ?? record }))
  await hot.fillProgress(filled, { now: now(), timelineCap })
}

export async function putSettingsRows({ hot, records, now }: HistoryTarget, rows: readonly SettingsRow[]): Promise<void> {
  await records.putSettings(rows)
  const stored = await records.getSettingsMany(rows.map(({ viewer }) => viewer))
  const filled = rows.map(({ viewer, settings }, at) => ({ viewer, settings: stored[at] ?? settings }))
  await hot.fillSettings(filled, now())
}
