/**
 * Puts rows of history into the record store and into the hot store.
 *
 * The hot store is the only place in which a page of history begins, and it does not ask the record store about viewers whose timeline was
 * never truncated. So each row is also put there, with the row as the base of the merge, and its dirty mark is cleared if the merged record
 * is the row: the record store has that already. Any other result stays dirty, and a job persists it.
 */
import type { ProgressRecord, ProgressRow, ViewerId, ViewerSettings } from '../../core/domain.ts'
import { settingsKey } from '../../core/progress-key.ts'
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

export async function putProgressRows(target: HistoryTarget, rows: readonly ProgressRow[]): Promise<void> {
  await target.records.putProgress(rows)
  await putHotProgress(target, rows)
}

/** For rows that the record store has. */
export async function putHotProgress({ hot, timelineCap, now }: HistoryTarget, rows: readonly ProgressRow[]): Promise<void> {
  const live = rows.filter(({ record }) => !record.deleted)
  const writes = live.map(({ key, record }) => ({ ...key, record, decisive: true, base: record }))
  const outcomes = await hot.putProgress(writes, { now: now(), timelineCap })
  const clean = live.flatMap(({ key, record }, at) => {
    const outcome = outcomes[at]
    return outcome?.status === 'written' && isSame(outcome.record, record) ? [{ key, version: outcome.record.version }] : []
  })
  await hot.clearDirty(clean, timelineCap)
  await putTombstones(
    hot,
    rows.filter(({ record }) => record.deleted),
    timelineCap,
  )
}

/** A tombstone deletes only what is older. */
async function putTombstones(hot: HotStore, rows: readonly ProgressRow[], timelineCap: number): Promise<void> {
  if (rows.length === 0) return
  const held = await hot.readDirtyProgress(rows.map(({ key }) => key))
  const due = rows.filter(({ record }, at) => {
    const { record: own } = held[at] ?? {}
    return own === undefined || (!own.deleted && own.viewedAt <= record.viewedAt)
  })
  const clean = await Promise.all(
    due.map(async ({ key, record }) => {
      const [deletion] = await hot.deleteProgress([key], record.viewedAt)
      return deletion?.record.viewedAt === record.viewedAt ? [{ key, version: deletion.record.version }] : []
    }),
  )
  await hot.clearDirty(clean.flat(), timelineCap)
}

/** Everything but the version, which the hot store assigns. Its `since` has the viewer's clearing, which is in the settings too. */
function isSame(a: ProgressRecord, b: ProgressRecord): boolean {
  return (
    a.viewedAt === b.viewedAt &&
    a.since >= b.since &&
    a.rank === b.rank &&
    a.position === b.position &&
    a.duration === b.duration &&
    a.device === b.device &&
    a.finished === b.finished &&
    a.deleted === b.deleted
  )
}

/** Before the progress: an entry below a watermark is not put. A timeline with newer entries of the target keeps them. */
export async function putClearings(target: HistoryTarget, rows: readonly SettingsRow[]): Promise<void> {
  const { hot, records } = target
  await records.putSettings(rows)
  const held = await hot.readDirtySettings(rows.map(({ viewer }) => viewer))
  for (const [at, { viewer, settings }] of rows.entries()) {
    for (const [business, clearedAt] of Object.entries(settings.clearedAt)) {
      if (clearedAt <= (held[at]?.clearedAt[Number(business)] ?? 0)) continue
      const { entries } = await hot.listTimeline(viewer, [Number(business)], undefined, 1)
      if ((entries[0]?.record.viewedAt ?? 0) <= clearedAt) await hot.clearProgress(viewer, Number(business), clearedAt)
    }
  }
  await clearSettings(
    target,
    rows.map(({ viewer }) => viewer),
  )
}

/** After the progress: the hot store drops reports of a viewer who paused. */
export async function putPauses(target: HistoryTarget, viewers: readonly ViewerId[]): Promise<void> {
  const { hot, records, now } = target
  const [stored, held] = [await records.getSettingsMany(viewers), await hot.readDirtySettings(viewers)]
  for (const [at, viewer] of viewers.entries()) {
    const paused = stored[at]?.paused ?? false
    if (paused !== (held[at]?.paused ?? false)) await hot.setPaused(viewer, paused, now())
  }
  await clearSettings(target, viewers)
}

/** Clears the dirty marks of settings that the record store has. */
async function clearSettings({ hot, records, timelineCap }: HistoryTarget, viewers: readonly ViewerId[]): Promise<void> {
  const [stored, held] = [await records.getSettingsMany(viewers), await hot.readDirtySettings(viewers)]
  const clean = viewers.flatMap((viewer, at) => {
    const own = held[at]
    return own !== undefined && own.version > 0 && sameSettings(own, stored[at]) ? [{ key: settingsKey(viewer), version: own.version }] : []
  })
  await hot.clearDirty(clean, timelineCap)
}

function sameSettings(a: ViewerSettings, b: ViewerSettings | undefined): boolean {
  if (b === undefined || a.paused !== b.paused) return false
  const names = new Set([...Object.keys(a.clearedAt), ...Object.keys(b.clearedAt)].map(Number))
  return [...names].every((business) => a.clearedAt[business] === b.clearedAt[business])
}
