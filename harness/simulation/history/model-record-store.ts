/** The record store as the port describes it: rows in a map, merged one by one. */
import type { ProgressKey, ProgressRecord, TimelineEntry, ViewerId, ViewerSettings, ProgressRow } from '../../../core/domain.ts'
import { mergeProgress } from '../../../subgraphs/history/model/merge.ts'
import { comparePlaces } from '../../../subgraphs/history/model/places.ts'
import { compareIds } from '../../../core/keys.ts'
import { keyText } from '../../../core/progress-key.ts'
import type { RecordStore, SettingsRow } from '../../../subgraphs/history/stores/record-store.ts'
import { atOnce, type Gate } from '../gate.ts'

export type RecordState = {
  rows: Map<string, ProgressRow>
  settings: Map<ViewerId, ViewerSettings>
}

export function makeRecordState(): RecordState {
  return { rows: new Map(), settings: new Map() }
}

/** The port of one process. A statement of several rows may happen row by row. */
export function openModelRecordStore({ rows, settings }: RecordState, gate: Gate): RecordStore {
  const once = <T>(name: string, args: readonly unknown[], act: () => T): Promise<T> => atOnce(gate, 'records', name, args, act)

  function put({ key, record }: ProgressRow): void {
    const text = keyText(key)
    const stored = rows.get(text)?.record
    const merged = mergeProgress(stored, record)
    if (merged !== stored) rows.set(text, { key, record: merged })
  }

  function putSettings({ viewer, settings: incoming }: SettingsRow): void {
    const stored = settings.get(viewer)
    const newest = stored !== undefined && stored.version > incoming.version ? stored : incoming
    const clearedAt: Record<number, number> = { ...stored?.clearedAt }
    for (const [business, moment] of Object.entries(incoming.clearedAt))
      clearedAt[Number(business)] = Math.max(moment, clearedAt[Number(business)] ?? 0)
    settings.set(viewer, { ...newest, clearedAt })
  }

  function removeWhere(limit: number, matches: (row: ProgressRow) => boolean): number {
    let removed = 0
    for (const [text, row] of rows) {
      if (removed === limit) break
      if (!matches(row)) continue
      rows.delete(text)
      removed++
    }
    return removed
  }

  function list(
    viewer: ViewerId,
    businesses: readonly number[],
    before: Parameters<RecordStore['listProgress']>[2],
    limit: number,
  ): TimelineEntry[] {
    const found: TimelineEntry[] = []
    for (const { key, record } of rows.values()) {
      if (key.viewer !== viewer || record.deleted || !businesses.includes(key.business)) continue
      if (before === undefined || comparePlaces(before, placeOf(key, record)) < 0)
        found.push({ business: key.business, oid: key.oid, record })
    }
    found.sort((a, b) => comparePlaces(placeOf(a, a.record), placeOf(b, b.record)))
    return found.slice(0, limit)
  }

  return {
    readsAtOnceMax: 2,
    putProgress: (incoming) =>
      gate.call(
        'records',
        'putProgress',
        [incoming],
        incoming.map((row) => () => put(row)),
        () => undefined,
      ),
    putSettings: (incoming) =>
      gate.call(
        'records',
        'putSettings',
        [incoming],
        incoming.map((row) => () => putSettings(row)),
        () => undefined,
      ),
    getProgressMany: (keys) => once('getProgressMany', [keys], () => keys.map((key) => rows.get(keyText(key))?.record)),
    getSettingsMany: (viewers) => once('getSettingsMany', [viewers], () => viewers.map((viewer) => settings.get(viewer))),
    listProgress: (viewer, businesses, before, limit) =>
      once('listProgress', [viewer, businesses, before, limit], () => list(viewer, businesses, before, limit)),
    purgeCleared: (viewer, business, clearedAt, limit) =>
      once('purgeCleared', [viewer, business, clearedAt], () =>
        removeWhere(limit, ({ key, record }) => key.viewer === viewer && key.business === business && record.viewedAt <= clearedAt),
      ),
    purgeExpired: (writtenBefore, limit) =>
      once('purgeExpired', [writtenBefore], () => removeWhere(limit, ({ record }) => record.version < writtenBefore * 1024)),
    listAllProgress: (after, limit, viewer) =>
      once('listAllProgress', [after, limit, viewer], () =>
        [...rows.values()]
          .filter(({ key }) => (viewer === undefined || key.viewer === viewer) && (after === undefined || compareKeys(key, after) > 0))
          .toSorted((a, b) => compareKeys(a.key, b.key))
          .slice(0, limit),
      ),
    listAllSettings: (after, limit) =>
      once('listAllSettings', [after, limit], () =>
        Array.from(settings, ([viewer, own]) => ({ viewer, settings: own }))
          .filter(({ viewer }) => after === undefined || compareIds(viewer, after) > 0)
          .toSorted((a, b) => compareIds(a.viewer, b.viewer))
          .slice(0, limit),
      ),
    countProgress: () => once('countProgress', [], () => [...rows.values()].filter((row) => !row.record.deleted).length),
    check: () => once('check', [], () => undefined),
    close: () => Promise.resolve(),
  }
}

function compareKeys(a: ProgressKey, b: ProgressKey): number {
  return compareIds(a.viewer, b.viewer) || a.business - b.business || compareIds(a.oid, b.oid)
}

function placeOf(key: Pick<ProgressKey, 'business' | 'oid'>, record: ProgressRecord) {
  return { viewedAt: record.viewedAt, business: key.business, oid: key.oid }
}
