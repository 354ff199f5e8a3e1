/**
 * The checker's rules for journals (line 6). An entry leaves a journal only after its change has reached the hot store. A record that was
 * put without a base is right once the journal reports the merge.
 */
import { keyText } from '../../../core/progress-key.ts'
import type { HistoryJournalEntry } from '../../../subgraphs/history/write/journaled-changes.ts'
import type { JournalEntry } from '../../../writeback/journal.ts'
import type { KeyModels } from './key-models.ts'
import type { HotState } from './model-hot-state.ts'
import type { JournalObserver } from '../model-journals.ts'
import type { Fail } from '../violation.ts'
import type { RecordState } from './model-record-store.ts'
import type { Reports } from './put-rules.ts'
import { nameOf, textOf, type KeyModel } from './shown.ts'

/** `journaled`: reports that were durable in a journal, by their device. These rules add to it. */
export function makeJournalRules(
  models: KeyModels,
  fail: Fail,
  { landed }: Reports,
  journaled: Set<string>,
): (hot: HotState, records: RecordState) => JournalObserver {
  const { viewerOf, keyOf, voidedOf, change, mayBeExpired } = models
  /** Entries with the tick at which they became durable. */
  const entriesSince = new Map<JournalEntry, number>()

  function journalObserver(hot: HotState, records: RecordState): JournalObserver {
    return {
      appended(entry) {
        entriesSince.set(entry, models.nextTick())
        const { change } = entry as HistoryJournalEntry
        if (change.kind === 'put') for (const { record } of change.writes) journaled.add(record.device)
        if (change.kind === 'base') for (const key of change.keys) keyOf(key).merges++
      },
      removed(entry) {
        const since = entriesSince.get(entry) ?? 0
        entriesSince.delete(entry)
        const { change } = entry as HistoryJournalEntry
        if (change.kind === 'base') for (const key of change.keys) merged(keyOf(key), hot, records)
        const missing = missingOf(entry as HistoryJournalEntry, since, hot)
        if (missing !== undefined) fail(`line 6: a journal removes ${missing}, which never reached the hot store`, entry.viewer)
      },
    }
  }

  /** The part of this entry that never reached the hot store. */
  function missingOf({ viewer, now, change }: HistoryJournalEntry, since: number, hot: HotState): string | undefined {
    if (change.kind === 'put') {
      const lost = change.writes.find(({ record }) => (landed.get(record.device) ?? -1) < since)
      return lost === undefined ? undefined : `report ${lost.record.device}`
    }
    const isLeft = ({ shown, guesses }: KeyModel): boolean =>
      guesses === 0 && shown !== undefined && shown.viewedAt <= now && !mayBeExpired(shown)
    if (change.kind === 'delete') {
      const lost = change.keys.find((key) => keyOf(key).voided < now && isLeft(keyOf(key)))
      return lost === undefined ? undefined : `the deletion of ${nameOf(lost)}`
    }
    if (change.kind === 'clear') {
      const { clearedAt, keys } = viewerOf(viewer)
      if ((clearedAt[change.business] ?? 0) >= now) return undefined
      // Records that came meanwhile came after the clearing read the timeline.
      const wasThere = (model: KeyModel): boolean => (model.changes.at(-1)?.tick ?? 0) < since && model.doubtfulUntil < since
      const lost = [...keys.values()].find((model) => model.key.business === change.business && isLeft(model) && wasThere(model))
      return lost === undefined ? undefined : `the clearing of business ${change.business}`
    }
    if (change.kind === 'base') return undefined
    const { paused, switchedAt } = viewerOf(viewer)
    const isOvertaken = switchedAt > since || hot.settingsOf(viewer).version / 1024 > now
    return paused === change.paused || isOvertaken ? undefined : `that paused is ${change.paused}`
  }

  /** All pending merges of the key are done, so the stores must now have the right record. */
  function merged(model: KeyModel, hot: HotState, records: RecordState): void {
    if (--model.merges > 0 || model.guesses === 0) return
    const found = hot.recordOf(model.key) ?? records.rows.get(keyText(model.key))?.record
    const visible = found === undefined || found.deleted || found.viewedAt <= voidedOf(model) ? undefined : found
    const isRight = visible?.viewedAt === model.shown?.viewedAt && visible?.rank === model.shown?.resume.rank
    if (model.guesses === 1 && !isRight && !mayBeExpired(model.shown)) {
      fail(`line 3: ${nameOf(model.key)} was merged to ${textOf(found)}, but the right record is ${textOf(model.shown)}`, model.key.viewer)
    }
    model.guesses = 0
    model.doubtfulUntil = models.nextTick()
    change(model, visible === undefined ? undefined : { viewedAt: visible.viewedAt, resume: visible, version: visible.version })
  }

  return journalObserver
}
