/** The checker's rules after quiet (line 2). */
import type { RewardEvent, ViewerId } from '../../../core/domain.ts'
import { keyText } from '../../../core/progress-key.ts'
import type { JournalEntry } from '../../../writeback/journal.ts'
import type { HotState } from './model-hot-state.ts'
import type { RecordState } from './model-record-store.ts'
import { claimText, isShown, nameOf, textOf, type Shown, type ViewerModel } from './shown.ts'

/** The parts of the checker that these rules use. */
export type QuietRulesDeps = {
  viewers: ReadonlyMap<ViewerId, ViewerModel>
  /** First views of a day, with their viewers. */
  claims: ReadonlyMap<string, ViewerId>
  fail(message: string, viewer: ViewerId | undefined): void
  mayBeExpired(shown: Shown | undefined): boolean
  timelineCap: number
}

export function makeQuietRules({ viewers, claims, fail, mayBeExpired, timelineCap }: QuietRulesDeps) {
  /** After quiet the record store alone has everything acknowledged, and nothing waits anywhere. */
  function checkQuiet(
    hot: HotState,
    records: RecordState,
    log: { lag(): number; rewards: readonly RewardEvent[] },
    left: readonly JournalEntry[],
    regions: readonly number[],
    mayLeaveRows: boolean,
  ): void {
    for (const key of hot.listDirty(regions, Infinity, Infinity)) fail(`line 2: after quiet ${nameOf(key)} is still dirty`, key.viewer)
    for (const entry of left) fail(`line 6: after quiet a ${entry.change.kind} is still in a journal`, entry.viewer)
    if (log.lag() > 0) fail(`line 2: after quiet ${log.lag()} messages are not committed`, undefined)
    const [pending] = hot.listRewards(regions, Infinity, 1)
    if (pending !== undefined) fail(`line 2: after quiet reward ${pending.id} is still pending`, pending.viewer)
    checkRewards(log.rewards)
    for (const [viewer, model] of viewers) checkStoredViewer(viewer, model, hot, records, mayLeaveRows)
  }

  /** Consumers drop known ids. A claim may therefore be logged again, but never with a second id. */
  function checkRewards(logged: readonly RewardEvent[]): void {
    const ids = new Map<string, string>()
    for (const reward of logged) {
      const text = claimText(reward)
      const id = ids.get(text)
      if (!claims.has(text)) fail(`reward ${reward.id} is in the log, but was never earned`, reward.viewer)
      if (id !== undefined && id !== reward.id) fail(`one reward is in the log as ${id} and as ${reward.id}`, reward.viewer)
      ids.set(text, reward.id)
    }
    for (const [text, viewer] of claims) if (!ids.has(text)) fail(`line 2: the reward of ${text} never reached the log`, viewer)
  }

  function checkStoredViewer(viewer: ViewerId, model: ViewerModel, hot: HotState, records: RecordState, mayLeaveRows: boolean): void {
    const settings = records.settings.get(viewer)
    if ((settings?.paused ?? false) !== model.paused)
      fail(`line 2: after quiet viewer ${viewer} is stored as paused ${settings?.paused}`, viewer)
    for (const [business, clearedAt] of Object.entries(model.clearedAt)) {
      const stored = settings?.clearedAt[Number(business)] ?? 0
      if (stored !== clearedAt)
        fail(`line 2: after quiet the watermark of business ${business} is stored as ${stored}, not ${clearedAt}`, viewer)
    }
    const listed = new Map<number, number>()
    for (const { key, shown } of model.keys.values()) {
      const row = records.rows.get(keyText(key))?.record
      const isCleared = row !== undefined && row.viewedAt <= (model.clearedAt[key.business] ?? 0)
      if (isCleared && !mayLeaveRows) fail(`line 3: after quiet ${nameOf(key)} was cleared, but its row is still there`, viewer)
      const visible = row === undefined || row.deleted || isCleared ? undefined : row
      if (!isShown(visible, shown) && !mayBeExpired(shown))
        fail(`line 2: after quiet ${nameOf(key)} is stored as ${textOf(row)}, not ${textOf(shown)}`, viewer)
      const held = hot.recordOf(key)
      if (held === undefined || held.deleted) continue
      listed.set(key.business, (listed.get(key.business) ?? 0) + 1)
      if (!isShown(held, shown))
        fail(`line 1: after quiet the hot store has ${nameOf(key)} as ${textOf(held)}, not ${textOf(shown)}`, viewer)
    }
    for (const [business, count] of listed) {
      if (count > timelineCap)
        fail(`after quiet the hot timeline of business ${business} has ${count} entries, its cap is ${timelineCap}`, viewer)
    }
  }

  return checkQuiet
}
