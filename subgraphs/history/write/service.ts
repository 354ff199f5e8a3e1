/**
 * The service of the history subgraph. A report goes through these steps:
 *
 *   inputs.ts     checks it
 *   quotas.ts     checks the quotas of its business
 *   writes.ts     puts it into the hot store
 *   follow-up.ts  stages its play, and passes its key to the aggregator
 *
 * When a call resolves, the write is durable, and readable by every read that starts now, in every process. While the hot store is down,
 * the write is durable in the journal (`writes.ts`) and readable once the hot store is back; the caller's collector notes that.
 */
import type { Aggregator } from '../../../writeback/aggregator.ts'
import type { Businesses } from '../../../config/businesses.ts'
import type { Clock } from '../../../core/clock.ts'
import { dayOf } from '../../../core/days.ts'
import type { Degraded } from '../../../core/outage/degraded.ts'
import type { FlushedKey, ProgressChange, ProgressKey, ProgressRecord, RewardEvent, ViewerSettings, GapSide } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { dayTokenOf, DEFAULT_RULES, type RewardRules } from '../../../core/rewards.ts'
import { settingsKey } from '../../../core/progress-key.ts'
import { regionOf } from '../../../core/regions.ts'
import type { Viewer } from '../../../core/viewer.ts'
import type { HotStore, ProgressWrite } from '../stores/hot-store.ts'
import type { RecordStore } from '../stores/record-store.ts'
import { readSettings } from '../read/settings.ts'
import { checkIds, checkReports, type ReportProgressInput } from '../inputs.ts'
import { BASE_READS_MAX } from './putting.ts'
import type { HistoryQuotas } from './quotas.ts'
import { lookUpStale } from './stale-reports.ts'
import { makeHistoryWrites, type HistoryWrites, type WriteOutcome } from './writes.ts'
import { followUp } from './follow-up.ts'
import type { StageWritten } from '../../../core/written-reports.ts'
import type { Rejected } from '../../user-errors.ts'

export { rewardOf } from '../../../core/rewards.ts'

/** `rules`: of first views. Default: DEFAULT_RULES. */
export type HistoryServiceOptions = { regions: number; timelineCap: number; rules?: RewardRules }

/** One answer per report. `key` is the key under which `record` is stored. */
export type ReportAnswer =
  | {
      outcome: 'ACCEPTED'
      key: ProgressKey
      record: ProgressRecord
      dayToken: string | undefined
      firstOfDay: boolean
    }
  /** `record`: the stored record. `clearedAt`: the clearing or deletion after the report. One of them is set, unless a store is down. */
  | { outcome: 'STALE'; key: ProgressKey; record: ProgressRecord | undefined; clearedAt: number | undefined }
  | { outcome: 'PAUSED'; key: ProgressKey }
  | Rejected

export type HistoryFigures = Record<'accepted' | 'stale' | 'paused' | 'rejected', number>

export type HistoryService = {
  /** In the order of `inputs`. Throws INPUTS_TOO_MANY, or the code of a store that failed; the reports may then be written or not. */
  report(viewer: Viewer, inputs: readonly ReportProgressInput[], degraded: Degraded): Promise<ReportAnswer[]>
  /** Returns the ids that were in the hot history. Throws BUSINESS_UNKNOWN, IDS_TOO_MANY, ID_INVALID. */
  deleteHistory(viewer: Viewer, business: string, ids: readonly string[], degraded: Degraded): Promise<string[]>
  /** The watermark. Throws BUSINESS_UNKNOWN. */
  clearHistory(viewer: Viewer, business: string, degraded: Degraded): Promise<number>
  setPaused(viewer: Viewer, paused: boolean, degraded: Degraded): Promise<ViewerSettings>
  /** If no store answers: the settings in this process's journal, or else the defaults. */
  settings(viewer: Viewer, degraded: Degraded): Promise<ViewerSettings>
  follow(viewer: Viewer, listener: (change: ProgressChange) => void, onGap: (side: GapSide) => void): Promise<() => void>
  figures(): HistoryFigures
}

/**
 * `reward` takes claims for the log; the sweeper sends those that it cannot deliver. `writes` applies changes; by default directly to the
 * hot store. `stageWritten`: absent if feed existence takes no plays from history.
 */
export function makeHistoryService(
  clock: Clock,
  businesses: Businesses,
  hot: HotStore,
  records: RecordStore,
  aggregator: Aggregator,
  reward: (events: readonly RewardEvent[]) => void,
  options: HistoryServiceOptions,
  writes: HistoryWrites = makeHistoryWrites(hot, records, options.timelineCap, businesses),
  stageWritten?: StageWritten,
  quotas?: Pick<HistoryQuotas, 'check' | 'count'>,
): HistoryService {
  const { rules = DEFAULT_RULES } = options
  const figures: HistoryFigures = { accepted: 0, stale: 0, paused: 0, rejected: 0 }

  function aggregate(key: FlushedKey): void {
    aggregator.add(regionOf(key.viewer, options.regions), key)
  }

  async function report(viewer: Viewer, inputs: readonly ReportProgressInput[], degraded: Degraded): Promise<ReportAnswer[]> {
    const now = clock.now()
    const valid = checkReports(inputs, viewer, businesses, now, rules)
    const checked = quotas === undefined ? valid : await quotas.check(valid)
    const reports = checked.filter((each) => 'record' in each)
    const outcomes = reports.length > 0 ? await writes.put(reports, now, degraded) : []
    let next = 0
    const answers = checked.map((each) => ('record' in each ? answerOf(each, outcomes[next++] as WriteOutcome, rules, now) : each))
    await lookUpStale(hot, records, answers, degraded)
    for (const each of answers) figures[FIGURE_OF[each.outcome]]++
    quotas?.count(valid, answers)
    await followUp(reports, outcomes, { stageWritten, aggregate, reward })
    return answers
  }

  return {
    report,
    async deleteHistory(viewer, business, ids, degraded) {
      const { number } = businesses.byName(business)
      checkIds(ids)
      if (ids.length === 0) return []
      const keys = ids.map((oid) => ({ viewer: viewer.id, business: number, oid }))
      const { existed, journaled } = await writes.delete(keys, clock.now(), degraded)
      if (!journaled) keys.forEach(aggregate)
      return ids.filter((_, index) => existed[index])
    },
    async clearHistory(viewer, business, degraded) {
      const { number } = businesses.byName(business)
      const { clearedAt, journaled } = await writes.clear(viewer.id, number, clock.now(), degraded)
      if (!journaled) aggregate(settingsKey(viewer.id))
      return clearedAt
    },
    async setPaused(viewer, paused, degraded) {
      const { settings, journaled } = await writes.setPaused(viewer.id, paused, clock.now(), degraded)
      if (!journaled) aggregate(settingsKey(viewer.id))
      return settings
    },
    settings: (viewer, degraded) => readSettings(hot, records, writes, viewer.id, degraded),
    follow: (viewer, listener, onGap) => hot.followProgress(viewer.id, listener, onGap),
    figures: () => ({ ...figures }),
  }
}

const FIGURE_OF = { ACCEPTED: 'accepted', STALE: 'stale', PAUSED: 'paused', REJECTED: 'rejected' } as const

function answerOf({ viewer, business, oid, record }: ProgressWrite, outcome: WriteOutcome, rules: RewardRules, now: number): ReportAnswer {
  const key: ProgressKey = { viewer, business, oid }
  switch (outcome.status) {
    case 'paused':
      return { outcome: 'PAUSED', key }
    case 'needs-base':
      throw new TidemarkError(
        'HOT_STORE_UNAVAILABLE',
        `subject "${oid}" changed ${BASE_READS_MAX} times while it was read; send the report again`,
      )
    case 'stale': {
      const isCleared = record.viewedAt <= outcome.voidUntil
      return { outcome: 'STALE', key, record: outcome.record, clearedAt: isCleared ? outcome.voidUntil : undefined }
    }
    // A token says that the day was claimed. A write that claimed nothing gets no token.
    case 'journaled':
      return { outcome: 'ACCEPTED', key, record: outcome.record, dayToken: undefined, firstOfDay: false }
    case 'written': {
      const rule = rules('FIRST_VIEW', business)
      const dayToken = rule && dayTokenOf(viewer, rule, dayOf(rule.timeZone, now))
      return { outcome: 'ACCEPTED', key, record: outcome.record, dayToken, firstOfDay: outcome.firstOfDay }
    }
  }
}
