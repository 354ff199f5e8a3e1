/**
 * Point lookups of progress: one multi-get of the hot store. A miss is an answer, because nearly every lookup is for a subject that the
 * viewer never watched. A miss in a truncated timeline may read the record store, if the viewer's played filters or staged plays say
 * "probably". All such reads of a call are one bounded batch. A storm of misses therefore costs the record store only the filters' error
 * rate. Without filters (`existence.guardsResume`), each such miss is read.
 *
 * The order matters: the hot store is read before the filters. Trimming stages an entry first (`subgraphs/history/persist/persist.ts`), so
 * staging or a filter already has every entry that the hot store lost.
 *
 * If the hot store is down, the record store answers alone, without unpersisted changes. If the record store is down, its records are
 * missing. The lookup returns the partial answer and names the missing store in the collector.
 */
import { saysDown, type Degraded, noteOrThrow } from '../core/outage/degraded.ts'
import type { ProgressKey, ProgressRecord } from '../core/domain.ts'
import { isTidemarkError } from '../core/errors.ts'
import { concernsSomeOnly } from '../core/outage/part-outage.ts'
import type { HotStore } from '../subgraphs/history/stores/hot-store.ts'
import type { RecordStore } from '../subgraphs/history/stores/record-store.ts'

type Found = (ProgressRecord | undefined)[]

/**
 * In key order: true if the viewer may have played it. False is certain within the months of the filters. If a store is missing, its name
 * is in the collector, and false is a guess.
 */
export type MayHavePlayed = (keys: readonly ProgressKey[], degraded: Degraded) => Promise<boolean[]>

/**
 * In key order; undefined if the viewer has no progress, or the progress is deleted or cleared. It rejects only if the hot store is down
 * for some of several viewers, or its data of some keys is damaged: read these separately (`apartIfPartIsOut`, `apartIfDamaged`).
 *
 * Do not pass `mayHavePlayed` for keys that are known to be in the record store, such as those of a page: filters forget months.
 */
export async function getProgressMany(
  hot: HotStore,
  records: RecordStore,
  keys: readonly ProgressKey[],
  degraded: Degraded,
  mayHavePlayed?: MayHavePlayed,
): Promise<Found> {
  try {
    return await lookUp(hot, records, keys, degraded, mayHavePlayed)
  } catch (error) {
    if (!saysDown(error, 'hotStore') || concernsSomeOnly(error, keys)) throw error
    degraded.add('hotStore')
    return lookUpInRecords(records, keys).catch((failure: unknown) => nothingFrom(keys, degraded, failure))
  }
}

async function lookUp(
  hot: HotStore,
  records: RecordStore,
  keys: readonly ProgressKey[],
  degraded: Degraded,
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

/** A failure of the filters is no error of the lookup. The miss stays a miss, and the collector notes the store. */
async function onlyPlayed<M extends { key: ProgressKey }>(
  missed: readonly M[],
  mayHavePlayed: MayHavePlayed,
  degraded: Degraded,
): Promise<M[]> {
  if (missed.length === 0) return []
  try {
    const probable = await mayHavePlayed(
      missed.map(({ key }) => key),
      degraded,
    )
    return missed.filter((_, place) => probable[place])
  } catch (error) {
    if (!isTidemarkError(error)) throw error
    degraded.add('recordStore')
    return []
  }
}

/** The records of the record store alone. Rejects with its code. */
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

function nothingFrom(asked: readonly unknown[], degraded: Degraded, failure: unknown): undefined[] {
  noteOrThrow(failure, 'recordStore', degraded)
  return asked.map(() => undefined)
}
