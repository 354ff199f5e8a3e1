/**
 * Deletions, clearings and switches from a journal. The port's calls mean "as of now", while an entry means "as of its moment". Each change
 * therefore reads the stored records first, and spares later changes: a record viewed *and* written after the moment (its version shows
 * when), or a later switch. Changes by earlier entries of the same replay do not count as later, whatever their versions are: `own`
 * remembers them.
 *
 * A race remains: 1. The replay reads. 2. Another process puts a report of this viewer. 3. The replay deletes. Two calls of one process lie
 * between 1 and 3. Closing that gap takes a port whose deletions have a moment of their own.
 */
import type { BusinessNumber, FlushedKey, Place, ProgressKey, ProgressRecord, ViewerId } from '../../../core/domain.ts'
import { keyText, settingsKey } from '../../../core/progress-key.ts'
import { placeOf } from '../read/timeline.ts'
import type { HotStore } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'

export type DatedChangeHooks = {
  /** The hot store has this key's change, so it may be flushed. */
  aggregate(key: FlushedKey): void
  /** A change came too late to count: a newer one is stored. */
  dropped(count: number): void
}

const PAGE = 200

/** `own`: versions that this replay has written, by key. */
export function makeDatedChanges(hot: HotStore, records: RecordStore, own: Map<string, number>, hooks: DatedChangeHooks) {
  function isLater(key: ProgressKey, record: ProgressRecord | undefined, now: number): boolean {
    if (record === undefined || record.deleted || record.viewedAt <= now) return false
    return momentOf(record.version) > now && own.get(keyText(key)) !== record.version
  }

  async function remove(keys: readonly ProgressKey[], now: number): Promise<void> {
    if (keys.length === 0) return
    const stored = await hot.readDirtyProgress(keys)
    const due = keys.filter((key, index) => !isLater(key, stored[index]?.record, now))
    hooks.dropped(keys.length - due.length)
    if (due.length > 0) await hot.deleteProgress(due, now)
    due.forEach(hooks.aggregate)
  }

  async function clear(viewer: ViewerId, business: BusinessNumber, now: number): Promise<void> {
    const settings = await hot.getSettings(viewer)
    if ((settings.clearedAt[business] ?? 0) < now) {
      if (await hasLater(viewer, business, now)) return removeAll(viewer, business, now)
      await hot.clearProgress(viewer, business, now)
      own.set(keyText(settingsKey(viewer)), (await hot.getSettings(viewer)).version)
    }
    hooks.aggregate(settingsKey(viewer))
  }

  async function hasLater(viewer: ViewerId, business: BusinessNumber, now: number): Promise<boolean> {
    for (let before: Place | undefined; ;) {
      const { entries } = await hot.listTimeline(viewer, [business], before, PAGE)
      if (entries.some(({ oid, record }) => isLater({ viewer, business, oid }, record, now))) return true
      const last = entries[entries.length - 1]
      if (entries.length < PAGE || last === undefined || last.record.viewedAt <= now) return false
      before = placeOf(last)
    }
  }

  /** Clearing has one watermark, which would cover later changes too. Everything that is not later is therefore deleted one by one. */
  async function removeAll(viewer: ViewerId, business: BusinessNumber, now: number): Promise<void> {
    const pages = [
      async (before: Place | undefined) => (await hot.listTimeline(viewer, [business], before, PAGE)).entries,
      (before: Place | undefined) => records.listProgress(viewer, [business], before, PAGE),
    ]
    for (const page of pages) {
      for (let before: Place | undefined; ;) {
        const entries = await page(before)
        const due = entries.filter(({ oid, record }) => !isLater({ viewer, business, oid }, record, now))
        await remove(
          due.map(({ oid }) => ({ viewer, business, oid })),
          now,
        )
        const last = entries[entries.length - 1]
        if (entries.length < PAGE || last === undefined) break
        before = placeOf(last)
      }
    }
  }

  async function setPaused(viewer: ViewerId, paused: boolean, now: number): Promise<void> {
    const key = settingsKey(viewer)
    const settings = await hot.getSettings(viewer)
    if (settings.paused !== paused) {
      const changedAt = momentOf(settings.version)
      const clearedAt = Math.max(0, ...Object.values(settings.clearedAt))
      // The version does not tell which setting changed. A clearing as new as the version is the change.
      if (changedAt > now && clearedAt < changedAt && own.get(keyText(key)) !== settings.version) return hooks.dropped(1)
      own.set(keyText(key), (await hot.setPaused(viewer, paused, now)).version)
    }
    hooks.aggregate(key)
  }

  return { remove, clear, setPaused }
}

function momentOf(version: number): number {
  return Math.floor(version / 1_024)
}
