/**
 * Point lookups of progress: one multi-get of the hot store. A miss is an answer, because nearly every lookup is for
 * something never watched. Only a miss in a truncated timeline may ask the record store, and only where the viewer's filters of
 * what he played, or what is staged for them, say "probably"; all of those together are one bounded batch. So a storm of misses
 * costs the record store nothing but the filters' error rate. Without filters (`existence.guardsResume`) each such miss asks.
 *
 * The order matters: the hot store is read before the filters. What is trimmed was staged before (`subgraphs/history/persist/persist.ts`), so
 * what the hot store has no more, staging or a filter has already.
 *
 * With the hot store down the record store answers alone, without what was not yet persisted; with the record store down
 * what only it knows is missing. Whoever passes a collector gets that, and its name; otherwise the lookup rejects.
 */
import { saysDown, type Degraded } from '../core/outage/degraded.ts'
import type { ProgressKey, ProgressRecord } from '../core/domain.ts'
import { isTidemarkError } from '../core/errors.ts'
import { concernsSomeOnly } from '../core/outage/part-outage.ts'
import type { HotStore } from '../subgraphs/history/stores/hot-store.ts'
import type { RecordStore } from '../subgraphs/history/stores/record-store.ts'

type Found = (ProgressRecord | undefined)[]

/**
 * In key order: may the viewer have played it? False is certain, of the months that filters are kept for. What it had to do
 * without goes into the collector, and false is a guess then; without one it rejects.
 */
export type MayHavePlayed = (keys: readonly ProgressKey[], degraded?: Degraded) => Promise<boolean[]>

/**
 * In key order; undefined where the viewer never was, or what he did is deleted or cleared. With a collector it rejects
 * only where the hot store is down for some of several viewers: these are to be asked for apart (`apartIfPartIsOut`).
 *
 * Not with `mayHavePlayed` where the keys are known to be in the record store, as a page's are: filters forget months.
 */
export async function getProgressMany(
  hot: HotStore,
  records: RecordStore,
  keys: readonly ProgressKey[],
  degraded?: Degraded,
  mayHavePlayed?: MayHavePlayed,
): Promise<Found> {
  try {
    return await lookUp(hot, records, keys, degraded, mayHavePlayed)
  } catch (error) {
    if (degraded === undefined || !saysDown(error, 'hotStore') || concernsSomeOnly(error, keys)) throw error
    degraded.add('hotStore')
    return lookUpInRecords(records, keys).catch((failure: unknown) => nothingFrom(keys, degraded, failure))
  }
}

async function lookUp(
  hot: HotStore,
  records: RecordStore,
  keys: readonly ProgressKey[],
  degraded: Degraded | undefined,
  mayHavePlayed: MayHavePlayed | undefined,
): Promise<Found> {
  const lookups = await hot.getProgressMany(keys)
  const missed = lookups.flatMap(({ older }, index) =>
    older === undefined ? [] : [{ index, clearedAt: older.clearedAt, key: keys[index] as ProgressKey }],
  )
  const found = lookups.map((lookup) => lookup.record)
  const older = mayHavePlayed === undefined ? missed : await onlyPlayed(missed, mayHavePlayed, degraded)
  if (older.length === 0) return found
  const rows = await records.getProgressMany(older.map(({ key }) => key)).catch((failure: unknown) => nothingFrom(older, degraded, failure))
  older.forEach(({ index, clearedAt }, place) => {
    const row = rows[place]
    if (row !== undefined && !row.deleted && row.viewedAt > clearedAt) found[index] = row
  })
  return found
}

/** Whatever keeps the filters from answering, a lookup is no error for it: a miss stays one, and the collector says so. */
async function onlyPlayed<M extends { key: ProgressKey }>(
  missed: readonly M[],
  mayHavePlayed: MayHavePlayed,
  degraded: Degraded | undefined,
): Promise<M[]> {
  if (missed.length === 0) return []
  try {
    const probable = await mayHavePlayed(
      missed.map(({ key }) => key),
      degraded,
    )
    return missed.filter((_, place) => probable[place])
  } catch (error) {
    if (degraded === undefined || !isTidemarkError(error)) throw error
    degraded.add('recordStore')
    return []
  }
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
