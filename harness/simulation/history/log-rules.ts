/** The checker's rules for the log (line 2): a message is committed only when the record store has the announced versions. */
import type { ProgressKey, ProgressRecord } from '../../../core/domain.ts'
import { isSettingsKey, keyText } from '../../../core/progress-key.ts'
import type { FlushMessage } from '../../../writeback/log.ts'
import type { KeyModels } from './key-models.ts'
import type { HotState } from './model-hot-state.ts'
import type { LogObserver } from '../model-log.ts'
import type { Fail } from '../violation.ts'
import type { RecordState } from './model-record-store.ts'
import { nameOf, textOf } from './shown.ts'

export function makeLogRules(
  { keyOf, viewerOf, isPastRetention }: KeyModels,
  fail: Fail,
  hot: HotState,
  records: RecordState,
): LogObserver {
  const announced = new Map<FlushMessage, { key: ProgressKey; version: number; viewedAt: number }[]>()
  return {
    appended(message) {
      const versions = message.keys.map((key) => {
        if (isSettingsKey(key)) return { key, version: hot.settingsOf(key.viewer).version, viewedAt: Infinity }
        const record = hot.recordOf(key)
        return { key, version: record?.version ?? 0, viewedAt: record?.viewedAt ?? 0 }
      })
      announced.set(message, versions)
    },
    committed(messages) {
      for (const { key, version, viewedAt } of messages.flatMap((message) => announced.get(message) ?? [])) {
        if (!isSettingsKey(key) && (keyOf(key).merges > 0 || keyOf(key).doubtfulUntil >= 0)) continue
        const stored = isSettingsKey(key) ? records.settings.get(key.viewer) : records.rows.get(keyText(key))?.record
        // Two deletions at one moment are one tombstone, with either version.
        if (stored !== undefined && 'deleted' in stored && stored.deleted && stored.since >= viewedAt) continue
        if ((stored?.version ?? 0) >= version || (viewerOf(key.viewer).clearedAt[key.business] ?? 0) >= viewedAt) continue
        if (isPastRetention(version)) continue
        fail(
          `line 2: a message about ${nameOf(key)} is committed, but the record store has ${textOf(stored as ProgressRecord | undefined)}`,
          key.viewer,
        )
      }
    },
  }
}
