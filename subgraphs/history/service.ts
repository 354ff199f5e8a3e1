/**
 * The write path of the history subgraph: check, put into the hot store, hand the keys to the aggregator, answer.
 * When a call resolves the write is readable by every read that starts now, in every process, and durable.
 */
import type { Aggregator } from '../../core/aggregator.ts'
import type { Businesses } from '../../core/businesses.ts'
import type { Clock } from '../../core/clock.ts'
import { dayOf, dayTokenOf } from '../../core/day-token.ts'
import type { ProgressChange, ProgressKey, ProgressRecord, RewardEvent, ViewerId, ViewerSettings } from '../../core/domain.ts'
import { isTidemarkError, type ErrorCode } from '../../core/errors.ts'
import { settingsKey } from '../../core/progress-key.ts'
import { regionOf } from '../../core/regions.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { HotStore, ProgressWrite, PutOutcome } from '../../stores/hot-store.ts'
import type { RecordStore } from '../../stores/record-store.ts'
import { checkIds, checkInputCount, checkReport, type ProgressInput } from './inputs.ts'

export type HistoryServiceOptions = { regions: number; timelineCap: number; futureMaxMs: number }

/** One answer per report. `key` names what `record` is stored under. */
export type ReportAnswer =
  | { outcome: 'ACCEPTED' | 'STALE'; key: ProgressKey; record: ProgressRecord | undefined; dayToken: string; firstOfDay: boolean }
  | { outcome: 'PAUSED' }
  | Rejected

type Rejected = { outcome: 'REJECTED'; code: ErrorCode; message: string }

export type HistoryFigures = Record<'accepted' | 'stale' | 'paused' | 'rejected', number>

export type HistoryService = {
  /** In the order of `inputs`. Throws INPUTS_TOO_MANY, or the code of a store that failed; then nothing is promised. */
  report(viewer: Viewer, inputs: readonly ProgressInput[]): Promise<ReportAnswer[]>
  /** The ids that were in the hot history. Throws BUSINESS_UNKNOWN, IDS_TOO_MANY, ID_INVALID. */
  deleteHistory(viewer: Viewer, business: string, ids: readonly string[]): Promise<string[]>
  /** The watermark. Throws BUSINESS_UNKNOWN. */
  clearHistory(viewer: Viewer, business: string): Promise<number>
  setPaused(viewer: Viewer, paused: boolean): Promise<ViewerSettings>
  settings(viewer: Viewer): Promise<ViewerSettings>
  follow(viewer: Viewer, listener: (change: ProgressChange) => void): Promise<() => void>
  figures(): HistoryFigures
}

/** `reward` takes claims that must reach the log; what it cannot deliver is left to the sweeper. */
export function makeHistoryService(
  clock: Clock,
  businesses: Businesses,
  hot: HotStore,
  records: RecordStore,
  aggregator: Aggregator,
  reward: (events: readonly RewardEvent[]) => void,
  options: HistoryServiceOptions,
): HistoryService {
  const figures: HistoryFigures = { accepted: 0, stale: 0, paused: 0, rejected: 0 }

  function aggregate(key: ProgressKey): void {
    aggregator.add(regionOf(key.viewer, options.regions), key)
  }

  async function report(viewer: Viewer, inputs: readonly ProgressInput[]): Promise<ReportAnswer[]> {
    checkInputCount(inputs.length)
    const now = clock.now()
    const checked = inputs.map((input) => checkOrReject(input, viewer, now))
    const writes = checked.filter((each) => 'record' in each)
    const outcomes = writes.length > 0 ? await putAll(writes, now) : []
    const rewards: RewardEvent[] = []
    let next = 0
    const answers = checked.map((each): ReportAnswer => {
      if (!('record' in each)) return each
      return answer(each, outcomes[next++] as PutOutcome, now, rewards)
    })
    if (rewards.length > 0) reward(rewards)
    for (const each of answers) figures[FIGURE_OF[each.outcome]]++
    return answers
  }

  function checkOrReject(input: ProgressInput, viewer: Viewer, now: number): ProgressWrite | Rejected {
    try {
      return checkReport(input, viewer, businesses, now, options)
    } catch (error) {
      if (isTidemarkError(error)) return { outcome: 'REJECTED', code: error.code, message: error.message }
      throw error
    }
  }

  /**
   * Puts; what the hot store cannot decide alone is put again with what the record store has. It may ask once more: while
   * a base was read, another device's report may have been persisted and trimmed, and then the base is an old one.
   */
  async function putAll(writes: readonly ProgressWrite[], now: number): Promise<PutOutcome[]> {
    const putOptions = { now, timelineCap: options.timelineCap }
    const outcomes = await hot.putProgress(writes, putOptions)
    for (let read = 0; read < BASE_READS_MAX; read++) {
      const undecided = outcomes.flatMap((outcome, index) => (outcome.status === 'needs-base' ? [index] : []))
      if (undecided.length === 0) break
      const bases = await records.getProgressMany(undecided.map((index) => writes[index] as ProgressWrite))
      const again = undecided.map((index, place) => Object.assign({}, writes[index] as ProgressWrite, { base: bases[place] ?? null }))
      const decided = await hot.putProgress(again, putOptions)
      undecided.forEach((index, place) => {
        outcomes[index] = decided[place] as PutOutcome
      })
    }
    return outcomes
  }

  function answer(write: ProgressWrite, outcome: PutOutcome, now: number, rewards: RewardEvent[]): ReportAnswer {
    if (outcome.status === 'paused') return { outcome: 'PAUSED' }
    if (outcome.status === 'needs-base') throw new Error(`a write was not decided with ${BASE_READS_MAX} bases`)
    const key: ProgressKey = { viewer: write.viewer, business: write.business, oid: write.oid }
    const day = dayOf(now)
    const dayToken = dayTokenOf(write.viewer, write.business, day)
    if (outcome.status === 'stale') return { outcome: 'STALE', key, record: outcome.record, dayToken, firstOfDay: false }
    aggregate(key)
    if (outcome.firstOfDay) rewards.push(rewardOf(write.viewer, write.business, day))
    return { outcome: 'ACCEPTED', key, record: outcome.record, dayToken, firstOfDay: outcome.firstOfDay }
  }

  return {
    report,
    async deleteHistory(viewer, business, ids) {
      const { number } = businesses.byName(business)
      checkIds(ids)
      const keys = ids.map((oid) => ({ viewer: viewer.id, business: number, oid }))
      const outcomes = keys.length > 0 ? await hot.deleteProgress(keys, clock.now()) : []
      keys.forEach(aggregate)
      return ids.filter((_, index) => outcomes[index]?.existed)
    },
    async clearHistory(viewer, business) {
      const clearedAt = await hot.clearProgress(viewer.id, businesses.byName(business).number, clock.now())
      aggregate(settingsKey(viewer.id))
      return clearedAt
    },
    async setPaused(viewer, paused) {
      const settings = await hot.setPaused(viewer.id, paused, clock.now())
      aggregate(settingsKey(viewer.id))
      return settings
    },
    settings: (viewer) => hot.getSettings(viewer.id),
    follow: (viewer, listener) => hot.followProgress(viewer.id, listener),
    figures: () => ({ ...figures }),
  }
}

/** Each further read takes a report of another device, its persisting and its trimming in between: two are rare. */
const BASE_READS_MAX = 20

const FIGURE_OF = { ACCEPTED: 'accepted', STALE: 'stale', PAUSED: 'paused', REJECTED: 'rejected' } as const

/** The id is the same however often the claim is sent. */
export function rewardOf(viewer: ViewerId, business: number, day: number): RewardEvent {
  return { id: `${day}.${business}.${viewer}`, viewer, business, day }
}
