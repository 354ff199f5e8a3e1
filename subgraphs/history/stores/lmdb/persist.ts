/** Dirty keys for the persist step and the sweeper, and rewards that wait for the log. */
import type { ProgressKey, ViewerId, ViewerSettings } from '../../../../core/domain.ts'
import { isSettingsKey, settingsKey } from '../../../../core/progress-key.ts'
import type { DirtyProgress } from '../hot-store.ts'
import { dirtyMark } from '../../../../stores/lmdb/dirty-marks.ts'
import { countEntries } from '../../../../stores/lmdb/scan.ts'
import { readEach, trimTimelines } from './read.ts'
import { cleanSettings, readHeld, shelfWork, viewerWork } from './work.ts'
import type { HotTables, HotWork, ShelfWork } from './work.ts'
import { encodeHeldProgress } from './values.ts'
import { recordKey } from '../../../../stores/lmdb/viewer-keys.ts'

/** Decodes settings and stats too: `clearDirty` needs them, and would fail for all keys of the call. */
export function readDirty(work: HotWork, keys: readonly ProgressKey[]): DirtyProgress[] {
  return readEach(keys, (key) => {
    const shelf = shelfWork(work, viewerWork(work, key.viewer), key.business)
    return { key, record: readHeld(work, shelf, key.oid)?.content }
  })
}

export function readDirtySettings(work: HotWork, viewers: readonly ViewerId[]): ViewerSettings[] {
  return readEach(viewers.map(settingsKey), ({ viewer }) => viewerWork(work, viewer).settings.content)
}

/** Clears the marks whose versions have not moved, then trims their timelines. */
export function clearDirty(work: HotWork, marks: readonly { key: ProgressKey; version: number }[], timelineCap: number): void {
  const touched = new Set<ShelfWork>()
  for (const { key, version } of marks) {
    const owner = viewerWork(work, key.viewer)
    if (isSettingsKey(key)) {
      if (owner.settings.dirtySince > 0 && owner.settings.content.version === version) cleanSettings(work, owner)
      continue
    }
    const shelf = shelfWork(work, owner, key.business)
    const held = readHeld(work, shelf, key.oid)
    if (held === undefined || held.dirtySince === 0 || held.content.version !== version) continue
    void work.tables.dirty.remove(dirtyMark(held.dirtySince, owner.region, key))
    void work.tables.viewers.put(recordKey(shelf, key.oid), encodeHeldProgress(0, held.content))
    touched.add(shelf)
  }
  trimTimelines(work, touched, timelineCap)
}

export function countDirty(tables: HotTables): number {
  return countEntries(tables.dirty)
}
