/**
 * Walks over the record store for exports, in the order of keys. Records, timelines and settings share a table, so a walk over records
 * steps over the timelines. A walk over settings seeks from viewer to viewer.
 */
import { setImmediate } from 'node:timers/promises'
import { SETTINGS_BUSINESS, type ProgressKey, type ProgressRow, type ViewerId } from '../../../../core/domain.ts'
import { unpackId } from '../../../../core/keys.ts'
import type { Bytes, Environment } from '../../../../stores/lmdb/environment.ts'
import { RECORD, SETTINGS, afterViewer, makeShelf, plainKey, readViewerKey, recordKey } from '../../../../stores/lmdb/viewer-keys.ts'
import { decodeProgress, decodeSettings } from '../../model/record-codec.ts'
import type { SettingsRow } from '../record-store.ts'

const VIEWERS_PER_STEP = 1_000

export function listAllProgress(table: Bytes, after: ProgressKey | undefined, limit: number, viewer: ViewerId | undefined): ProgressRow[] {
  const rows: ProgressRow[] = []
  if (limit <= 0) return rows
  const range = {
    start: startOf(after, viewer),
    ...(viewer !== undefined && { end: afterViewer(viewer) }),
    exclusiveStart: after !== undefined,
  }
  for (const { key, value } of table.getRange(range)) {
    const { viewer: owner, business, kind, restAt } = readViewerKey(key)
    if (kind !== RECORD) continue
    rows.push({ key: { viewer: owner, business, oid: unpackId(key, restAt) }, record: decodeProgress(value) })
    if (rows.length === limit) break
  }
  return rows
}

function startOf(after: ProgressKey | undefined, viewer: ViewerId | undefined): Buffer {
  if (after !== undefined) return Buffer.from(recordKey(makeShelf(after.viewer, after.business), after.oid))
  return viewer === undefined ? Buffer.alloc(0) : Buffer.from(plainKey(makeShelf(viewer, SETTINGS_BUSINESS), 0))
}

/** Yields to the event loop: most viewers have no settings. */
export async function listAllSettings(
  environment: Environment,
  table: Bytes,
  after: ViewerId | undefined,
  limit: number,
): Promise<SettingsRow[]> {
  const rows: SettingsRow[] = []
  let start: Buffer | undefined = after === undefined ? Buffer.alloc(0) : afterViewer(after)
  while (start !== undefined && rows.length < limit) {
    const from: Buffer = start
    start = environment.read(() => readSettings(table, from, limit, rows))
    await setImmediate()
  }
  return rows
}

/** Adds to `rows`. Returns the start of the next step, undefined at the end. */
function readSettings(table: Bytes, from: Buffer, limit: number, rows: SettingsRow[]): Buffer | undefined {
  let start = from
  for (let viewers = 0; viewers < VIEWERS_PER_STEP && rows.length < limit; viewers += 1) {
    const [first] = [...table.getKeys({ start, limit: 1 })]
    if (first === undefined) return undefined
    const { viewer } = readViewerKey(first)
    const value = table.getBinary(plainKey(makeShelf(viewer, SETTINGS_BUSINESS), SETTINGS))
    if (value !== undefined) rows.push({ viewer, settings: decodeSettings(value) })
    start = afterViewer(viewer)
  }
  return start
}
