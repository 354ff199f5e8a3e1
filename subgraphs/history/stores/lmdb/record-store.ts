/**
 * The record store on LMDB: one table with the layout of the hot store's (viewer-keys.ts), but without marks and stats. Tombstones are in
 * the timeline too, with a value that identifies them: clearing then removes them by the same range as everything else.
 *
 * It shares the environment's writer lock with the hot store. Large batches are therefore written in pieces, with reports in between. Rows
 * merge, so an incomplete batch can be repeated without harm.
 */
import { SETTINGS_BUSINESS, type ProgressRow } from '../../../../core/domain.ts'
import type { Place, ProgressRecord, TimelineEntry, ViewerId, ViewerSettings } from '../../../../core/domain.ts'
import { unpackId } from '../../../../core/keys.ts'
import { VERSIONS_PER_MS } from '../../../../core/version.ts'
import { mergeProgress } from '../../model/merge.ts'
import { decodeProgress, decodeSettings, encodeProgress, encodeSettings } from '../../model/record-codec.ts'
import type { RecordStore, SettingsRow } from '../record-store.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import { failingAs } from '../../../../stores/lmdb/failures.ts'
import { listAllProgress, listAllSettings } from './export.ts'
import { mergePlaces } from './read.ts'
import { makeFinder, visitAll, type Entry } from '../../../../stores/lmdb/scan.ts'
import {
  RECORD,
  SETTINGS,
  TIMELINE,
  makeShelf,
  plainKey,
  readTimelineKey,
  readViewerKey,
  recordKey,
  timelineFrom,
  timelineKey,
  timelineRange,
} from '../../../../stores/lmdb/viewer-keys.ts'
import type { Shelf } from '../../../../stores/lmdb/viewer-keys.ts'

const ROWS_PER_WRITE = 500
const LIVE = Buffer.allocUnsafeSlow(0)
const TOMBSTONE = Buffer.from([1])

/** The environment stays open when the store is closed, since others may use it. */
export function openLmdbRecordStore(environment: Environment): RecordStore {
  const table = environment.table('records')
  const findExpired = makeFinder(environment, table, isExpired)
  const calling = <T>(task: () => T | Promise<T>): Promise<T> => failingAs('RECORD_STORE_UNAVAILABLE', environment.folder, task)
  const reading = <T>(action: () => T): Promise<T> => calling(() => environment.read(action))

  async function writePieces<T>(items: readonly T[], writeOne: (item: T) => void): Promise<void> {
    for (let at = 0; at < items.length; at += ROWS_PER_WRITE) {
      await environment.write(() => items.slice(at, at + ROWS_PER_WRITE).forEach(writeOne))
    }
  }

  async function purgeExpired(writtenBefore: number, limit: number): Promise<number> {
    for (;;) {
      const found = await findExpired(writtenBefore, limit)
      if (found.length === 0) return 0
      const removed = await environment.writeToFree(() => removeExpired(table, found, writtenBefore))
      if (removed > 0) return removed
    }
  }

  async function countProgress(): Promise<number> {
    let count = 0
    await visitAll(environment, table, ({ key, value }) => {
      if (value.length === LIVE.length && readViewerKey(key).kind === TIMELINE) count += 1
    })
    return count
  }

  return {
    putProgress: (rows) => calling(() => writePieces(rows, (row) => putRow(table, row))),
    putSettings: (rows) => calling(() => writePieces(rows, (row) => putSettingsRow(table, row))),
    getProgressMany: (keys) => reading(() => keys.map(({ viewer, business, oid }) => readRecord(table, makeShelf(viewer, business), oid))),
    getSettingsMany: (viewers) => reading(() => viewers.map((viewer) => readSettings(table, viewer))),
    listProgress: (viewer, businesses, before, limit) => reading(() => listProgress(table, viewer, businesses, before, limit)),
    purgeCleared: (viewer, business, clearedAt, limit) =>
      calling(() => environment.writeToFree(() => removeCleared(table, makeShelf(viewer, business), clearedAt, limit))),
    purgeExpired: (writtenBefore, limit) => calling(() => purgeExpired(writtenBefore, limit)),
    listAllProgress: (after, limit, viewer) => reading(() => listAllProgress(table, after, limit, viewer)),
    listAllSettings: (after, limit) => calling(() => listAllSettings(environment, table, after, limit)),
    countProgress: () => calling(countProgress),
    check: () => reading(() => undefined),
    close: () => Promise.resolve(),
  }
}

function readRecord(table: Bytes, shelf: Shelf, oid: string): ProgressRecord | undefined {
  const value = table.getBinaryFast(recordKey(shelf, oid))
  return value === undefined ? undefined : decodeProgress(value.subarray(0, value.length))
}

function readSettings(table: Bytes, viewer: ViewerId): ViewerSettings | undefined {
  const value = table.getBinaryFast(plainKey(makeShelf(viewer, SETTINGS_BUSINESS), SETTINGS))
  return value === undefined ? undefined : decodeSettings(value.subarray(0, value.length))
}

function putRow(table: Bytes, { key, record }: ProgressRow): void {
  const shelf = makeShelf(key.viewer, key.business)
  const stored = readRecord(table, shelf, key.oid)
  const merged = mergeProgress(stored, record)
  if (merged === stored) return
  void table.put(recordKey(shelf, key.oid), Buffer.from(encodeProgress(merged)))
  if (stored?.viewedAt === merged.viewedAt && stored.deleted === merged.deleted) return
  if (stored !== undefined && stored.viewedAt !== merged.viewedAt) void table.remove(timelineKey(shelf, stored.viewedAt, key.oid))
  void table.put(timelineKey(shelf, merged.viewedAt, key.oid), merged.deleted ? TOMBSTONE : LIVE)
}

function putSettingsRow(table: Bytes, { viewer, settings }: SettingsRow): void {
  const stored = readSettings(table, viewer)
  if (stored !== undefined && stored.version > settings.version) return
  const clearedAt: Record<number, number> = { ...settings.clearedAt }
  for (const [business, moment] of Object.entries(stored?.clearedAt ?? {}))
    clearedAt[Number(business)] = Math.max(moment, clearedAt[Number(business)] ?? 0)
  const value = encodeSettings({ paused: settings.paused, clearedAt, version: settings.version })
  void table.put(plainKey(makeShelf(viewer, SETTINGS_BUSINESS), SETTINGS), Buffer.from(value))
}

function listProgress(
  table: Bytes,
  viewer: ViewerId,
  businesses: readonly number[],
  before: Place | undefined,
  limit: number,
): TimelineEntry[] {
  const shelves = new Map([...new Set(businesses)].map((business) => [business, makeShelf(viewer, business)]))
  const places = mergePlaces([...shelves.values()].map((shelf) => listLive(table, shelf, before, limit))).slice(0, limit)
  return places.flatMap(({ business, oid }) => {
    const shelf = shelves.get(business)
    const record = shelf === undefined ? undefined : readRecord(table, shelf, oid)
    return record === undefined ? [] : [{ business, oid, record }]
  })
}

function listLive(table: Bytes, shelf: Shelf, before: Place | undefined, limit: number): Place[] {
  const places: Place[] = []
  if (limit <= 0) return places
  for (const { key, value } of table.getRange(timelineRange(shelf, before))) {
    if (value.length !== LIVE.length) continue
    places.push(readTimelineKey(shelf, key))
    if (places.length === limit) break
  }
  return places
}

function removeCleared(table: Bytes, shelf: Shelf, clearedAt: number, limit: number): number {
  const cleared = [...table.getKeys({ ...timelineFrom(shelf, clearedAt), limit })]
  for (const key of cleared) {
    void table.remove(recordKey(shelf, readTimelineKey(shelf, key).oid))
    void table.remove(key)
  }
  return cleared.length
}

function isExpired({ key, value }: Entry, writtenBefore: number): boolean {
  return readViewerKey(key).kind === RECORD && decodeProgress(value).version < writtenBefore * VERSIONS_PER_MS
}

/** The keys were found outside the transaction, so each is examined again. */
function removeExpired(table: Bytes, keys: readonly Buffer[], writtenBefore: number): number {
  let removed = 0
  for (const key of keys) {
    const { viewer, business, restAt } = readViewerKey(key)
    const shelf = makeShelf(viewer, business)
    const oid = unpackId(key, restAt)
    const record = readRecord(table, shelf, oid)
    if (record === undefined || record.version >= writtenBefore * VERSIONS_PER_MS) continue
    void table.remove(recordKey(shelf, oid))
    void table.remove(timelineKey(shelf, record.viewedAt, oid))
    removed += 1
  }
  return removed
}
