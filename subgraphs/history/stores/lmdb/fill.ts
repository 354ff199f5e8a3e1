/** Takes over rows and settings of the record store inside the call's transaction, as the port describes. */
import type { ProgressRow } from '../../../../core/domain.ts'
import { passVersion } from '../../../../stores/lmdb/version-counter.ts'
import { mergeProgress } from '../../model/merge.ts'
import type { SettingsRow } from '../record-store.ts'
import { removeUntil } from './put.ts'
import { trimTimelines } from './read.ts'
import { clearedAtOf, readHeld, replaceRecord, shelfWork, viewerWork, writeSettings, type HotWork, type ShelfWork } from './work.ts'

export function fillProgress(work: HotWork, rows: readonly ProgressRow[], timelineCap: number): void {
  const filled = new Set<ShelfWork>()
  for (const { key, record } of rows) {
    const shelf = shelfWork(work, viewerWork(work, key.viewer), key.business)
    if (record.viewedAt <= clearedAtOf(shelf)) continue
    const held = readHeld(work, shelf, key.oid)
    const merged = mergeProgress(held?.content, record)
    if (merged === held?.content) continue
    passVersion(work.versions, merged.version)
    replaceRecord(work, shelf, key.oid, held, { dirtySince: held?.dirtySince ?? 0, content: merged })
    filled.add(shelf)
  }
  trimTimelines(work, filled, timelineCap)
}

export function fillSettings(work: HotWork, { viewer, settings: row }: SettingsRow): void {
  const owner = viewerWork(work, viewer)
  const { dirtySince, content: held } = owner.settings
  const clearedAt = { ...held.clearedAt }
  for (const [name, moment] of Object.entries(row.clearedAt)) {
    const business = Number(name)
    if (moment <= (held.clearedAt[business] ?? 0)) continue
    clearedAt[business] = moment
    removeUntil(work, shelfWork(work, owner, business), moment)
  }
  const paused = dirtySince === 0 || row.version > held.version ? row.paused : held.paused
  const version = Math.max(row.version, held.version)
  passVersion(work.versions, version)
  owner.settings = { dirtySince, content: { paused, clearedAt, version } }
  writeSettings(work, owner)
}
