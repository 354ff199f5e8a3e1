/**
 * Applying what a journal holds to the hot store, a viewer's entries one after the other. An entry may be applied twice
 * (a process dies before it removes it) and late (other processes wrote meanwhile, or the journal was a dead process's).
 *
 * Reports merge, so they mind neither. The others would: the port's deleting, clearing and pausing mean "as of now". So
 * each looks first at what is there, and spares what was written after the moment the entry was made: a record viewed
 * *and* written later than that (a version says when), a switch thrown later. What an earlier entry of the same replay
 * wrote is not later, whatever its version says; `own` remembers those.
 *
 * 1. The replay looks. 2. Another process puts a report of this viewer. 3. The replay deletes. Between 1 and 3 lie
 * two calls of one process; closing that gap takes a port whose deletions have a moment of their own.
 *
 * A report replayed after its viewer paused is dropped, even if it was made before: when in doubt nothing is recorded.
 */
import type { BusinessNumber, FlushedKey, Place, ProgressKey, ProgressRecord, RewardEvent, ViewerId } from '../../../core/domain.ts'
import type { ErrorCode } from '../../../core/errors.ts'
import { keyText, settingsKey } from '../../../core/progress-key.ts'
import type { HotStore, ProgressWrite } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'
import type { Replay } from '../../../writeback/journal-run.ts'
import { readHistoryEntry, type HistoryJournalEntry } from './journaled-changes.ts'
import { putProgress } from './putting.ts'
import { flushedKey, stageOutcomes } from './written-plays.ts'
import { rewardOf } from '../../../core/rewards.ts'
import { placeOf } from '../read/timeline.ts'
import type { WriteOutcome } from './writes.ts'
import type { StageWritten } from '../../../core/written-reports.ts'

export type ReplayHooks = {
  /** The hot store has this key's change: it may be flushed. */
  aggregate(key: FlushedKey): void
  /** Stages plays of written reports; the persist step stages the rest. */
  stageWritten?: StageWritten | undefined
  reward(events: readonly RewardEvent[]): void
  /** Notes durably that these were put without what the record store has. */
  withoutBase(writes: readonly ProgressWrite[], now: number): Promise<void>
  /** May a put that began then still reach the hot store? */
  mayBeUnderWay(since: number): boolean
  /** A change that came too late to count: something newer is there, or the viewer paused. */
  dropped(count: number): void
}

const PAGE = 200

export function makeReplay(hot: HotStore, records: RecordStore, timelineCap: number, hooks: ReplayHooks): Replay {
  const own = new Map<string, number>()

  function isLater(key: ProgressKey, record: ProgressRecord | undefined, now: number): boolean {
    if (record === undefined || record.deleted || record.viewedAt <= now) return false
    return momentOf(record.version) > now && own.get(keyText(key)) !== record.version
  }

  async function put(writes: readonly ProgressWrite[], now: number): Promise<boolean> {
    const outcomes: WriteOutcome[] = await putProgress(hot, records, writes, { now, timelineCap }, (without) =>
      hooks.withoutBase(without, now),
    )
    if (hooks.stageWritten !== undefined) await stageOutcomes(writes, outcomes, hooks.stageWritten)
    const rewards: RewardEvent[] = []
    writes.forEach(({ viewer, business, oid, day }, index) => {
      const outcome = outcomes[index]
      if (outcome?.status !== 'written') return
      const key = { viewer, business, oid }
      hooks.aggregate(flushedKey(key, outcome))
      if (outcome.record.viewedAt > now) own.set(keyText(key), outcome.record.version)
      if (outcome.firstOfDay && day !== undefined) rewards.push(rewardOf(viewer, business, day))
    })
    if (rewards.length > 0) hooks.reward(rewards)
    hooks.dropped(outcomes.filter((outcome) => outcome.status === 'paused').length)
    return !outcomes.some((outcome) => outcome.status === 'needs-base')
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

  /** Clearing has one watermark, which would reach what is later. So everything that is not later is deleted one by one. */
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
      // The version does not say what was changed. A clearing as new as the version is what it was.
      if (changedAt > now && clearedAt < changedAt && own.get(keyText(key)) !== settings.version) return hooks.dropped(1)
      own.set(keyText(key), (await hot.setPaused(viewer, paused, now)).version)
    }
    hooks.aggregate(key)
  }

  /**
   * What was put as if there was nothing to merge with is merged with what there is, whether the viewer has paused meanwhile
   * or not. Two reports that were put without a base are one record by now: a deletion between them cannot part them any more.
   *
   * The entry is older than the put it belongs to. 1. The entry is durable. 2. The record store is back, and the entry is
   * applied. 3. The put, which was under way all the time, arrives. So it is applied again until no put that began then can
   * be under way any more, also none of a process that has died since. False: again.
   */
  async function mergeBases(keys: readonly ProgressKey[], now: number): Promise<boolean> {
    const rows = await records.getProgressMany(keys)
    const stored = await hot.readDirtyProgress(keys)
    const writes = keys.flatMap((key, index): ProgressWrite[] => {
      const row = rows[index]
      return row === undefined || row.deleted ? [] : [{ ...key, record: row, decisive: false, base: row, merges: true }]
    })
    if (writes.length > 0) await put(writes, now)
    for (const [index, key] of keys.entries()) {
      const row = rows[index]
      const record = stored[index]?.record
      const isVoid = row?.deleted === true && record !== undefined && !record.deleted && record.viewedAt <= row.since
      if (isVoid) await remove([key], row.since)
    }
    return !hooks.mayBeUnderWay(now)
  }

  /** False: the entry must be applied again. */
  async function applyChange({ viewer, now, change }: HistoryJournalEntry): Promise<boolean> {
    switch (change.kind) {
      case 'put':
        return put(change.writes, now)
      case 'delete':
        await remove(change.keys, now)
        return true
      case 'clear':
        await clear(viewer, change.business, now)
        return true
      case 'pause':
        await setPaused(viewer, change.paused, now)
        return true
      case 'base':
        return mergeBases(change.keys, now)
    }
  }

  return {
    refusals: REFUSALS,
    async apply(entry) {
      const known = readHistoryEntry(entry)
      if (typeof known === 'string') return { refused: known }
      return (await applyChange(known)) ? 'applied' : 'later'
    },
  }
}

/** Errors of a write's content. The same write fails for ever. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'BUSINESS_UNKNOWN',
  'ID_INVALID',
  'IDS_TOO_MANY',
  'INPUTS_TOO_MANY',
  'POSITION_INVALID',
  'VIEWED_AT_INVALID',
  'DEVICE_INVALID',
])

function momentOf(version: number): number {
  return Math.floor(version / 1_024)
}
