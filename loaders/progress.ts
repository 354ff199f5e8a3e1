/**
 * Point lookups of progress: one multi-get of the hot store. A miss is an answer, because nearly every lookup is for
 * something never watched; only a miss in a truncated timeline asks the record store, in one bounded batch.
 *
 * With the hot store down the record store answers alone, without what was not yet persisted; with the record store down
 * what only it knows is missing. Whoever passes a collector gets that, and its name; otherwise the lookup rejects.
 */
import { saysDown, type Degraded } from '../core/degraded.ts'
import type { ProgressKey, ProgressRecord } from '../core/domain.ts'
import { concernsSomeOnly } from '../core/part-outage.ts'
import type { HotStore } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'

type Found = (ProgressRecord | undefined)[]

/**
 * In key order; undefined where the viewer never was, or what he did is deleted or cleared. With a collector it rejects
 * only where the hot store is down for some of several viewers: these are to be asked for apart (`apartIfPartIsOut`).
 */
export async function getProgressMany(
  hot: HotStore,
  records: RecordStore,
  keys: readonly ProgressKey[],
  degraded?: Degraded,
): Promise<Found> {
  try {
    return await lookUp(hot, records, keys, degraded)
  } catch (error) {
    if (degraded === undefined || !saysDown(error, 'hotStore') || concernsSomeOnly(error, keys)) throw error
    degraded.add('hotStore')
    return lookUpInRecords(records, keys).catch((failure: unknown) => nothingFrom(keys, degraded, failure))
  }
}

async function lookUp(hot: HotStore, records: RecordStore, keys: readonly ProgressKey[], degraded: Degraded | undefined): Promise<Found> {
  const lookups = await hot.getProgressMany(keys)
  const older = lookups.flatMap((lookup, index) => (lookup.older === undefined ? [] : [{ index, clearedAt: lookup.older.clearedAt }]))
  const found = lookups.map((lookup) => lookup.record)
  if (older.length === 0) return found
  const rows = await records
    .getProgressMany(older.map(({ index }) => keys[index] as ProgressKey))
    .catch((failure: unknown) => nothingFrom(older, degraded, failure))
  older.forEach(({ index, clearedAt }, place) => {
    const row = rows[place]
    if (row !== undefined && !row.deleted && row.viewedAt > clearedAt) found[index] = row
  })
  return found
}

/** What the record store alone shows of these. Rejects with its code. */
export async function lookUpInRecords(records: RecordStore, keys: readonly ProgressKey[]): Promise<Found> {
  const viewers = [...new Set(keys.map((key) => key.viewer))]
  const [rows, settings] = await Promise.all([records.getProgressMany(keys), records.getSettingsMany(viewers)])
  const clearedOf = new Map(viewers.map((viewer, index) => [viewer, settings[index]?.clearedAt]))
  return keys.map(({ viewer, business }, index) => {
    const row = rows[index]
    const isShown = row !== undefined && !row.deleted && row.viewedAt > (clearedOf.get(viewer)?.[business] ?? 0)
    return isShown ? row : undefined
  })
}

function nothingFrom(asked: readonly unknown[], degraded: Degraded | undefined, failure: unknown): undefined[] {
  if (degraded === undefined || !saysDown(failure, 'recordStore')) throw failure
  degraded.add('recordStore')
  return asked.map(() => undefined)
}
