/**
 * Stages plays that come from players' reports. The persist step of history stages the watched subjects of a report before it clears the
 * report's dirty mark. No acknowledged play is lost: if a process dies in between, the marks remain and the step runs again, without a
 * further effect. A subject also never leaves the hot timeline before it is in a filter; readers of resume points rely on that.
 *
 * A play is also staged before the acknowledgement of its first report, so that feeds hide it at once. The first report is the one with
 * which the subject begins to count as played in its month. The flush of that report says so, and the persist step does not stage it once
 * more. The persist step stages all others: plays that could not be staged, plays of a process that died before it staged them, and
 * later days.
 *
 * A subject counts as played when history counts it as more than a glance, unless the business says otherwise (`playedFrom`). If the hot
 * store is full, the plays go to the log, since persisting frees room in the hot store. If the log refuses them too, the step is repeated.
 */
import type { Businesses } from '../../../config/businesses.ts'
import type { Clock } from '../../../core/clock.ts'
import { utcDayOf } from '../../../core/days.ts'
import { playDayOf, type RewardRules } from '../../../core/rewards.ts'
import type { Play, ProgressRow } from '../../../core/domain.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import { isPlayed } from '../../played.ts'
import { monthOf } from '../model/time-ring.ts'
import type { PlayLog } from '../stores/play-log.ts'
import { mistakeOfPlayedAt, type PlayedAtLimits } from '../inputs.ts'
import type { DayRewards } from './rewards.ts'
import type { Staging } from './staging.ts'
import type { RecordPlays, StageWritten, WrittenReport } from '../../../core/written-reports.ts'

export type HistoryPlaysFigures = {
  /** Plays staged with their first report, before its acknowledgement, and plays left to the persist step. */
  atOnce: number
  postponed: number
  /** Plays staged by persist steps, repetitions included, and those among them that went to the log instead. */
  recorded: number
  logged: number
}

export type HistoryPlays = { record: RecordPlays; stageWritten: StageWritten; figures(): HistoryPlaysFigures }

export function makeHistoryPlays(
  clock: Clock,
  businesses: Pick<Businesses, 'byNumber'>,
  staging: Pick<Staging, 'stage'>,
  stagingAtOnce: Pick<Staging, 'stage'>,
  rewards: Pick<DayRewards, 'withDays'>,
  rules: RewardRules,
  log: Pick<PlayLog, 'appendPlays'>,
  limits: PlayedAtLimits,
): HistoryPlays {
  const figures: HistoryPlaysFigures = { atOnce: 0, postponed: 0, recorded: 0, logged: 0 }

  function playOf({ key: { viewer, business, oid }, record }: ProgressRow, now: number): Play | undefined {
    if (!isPlayed(record, businesses.byNumber(business))) return undefined
    // The clock of the process that accepted the report may be ahead of this one.
    const playedAt = Math.min(record.viewedAt, now)
    return mistakeOfPlayedAt(playedAt, now, limits) === undefined ? { viewer, business, oid, playedAt } : undefined
  }

  /** If the previous record counted as played in the same month, an earlier report has staged the play. */
  function isFirst({ key, record, before }: WrittenReport): boolean {
    return before === undefined || !areOfOneMonth(before.viewedAt, record.viewedAt) || !isPlayed(before, businesses.byNumber(key.business))
  }

  return {
    async stageWritten(written) {
      const now = clock.now()
      const first = written.map((each) => (isFirst(each) ? playOf(each, now) : undefined))
      const plays = first.filter((play) => play !== undefined)
      if (plays.length === 0) return []
      try {
        await stagingAtOnce.stage(rewards.withDays(plays, now))
      } catch (error) {
        if (!isTidemarkError(error)) throw error
        figures.postponed += plays.length
        return []
      }
      figures.atOnce += plays.length
      return first.map((play) => (play === undefined ? undefined : playDayOf(rules, play.business, play.playedAt)))
    },
    async record(rows) {
      const now = clock.now()
      const plays = rows.flatMap((row) => playOf(row, now) ?? [])
      if (plays.length === 0) return
      try {
        await staging.stage(rewards.withDays(plays, now))
      } catch (error) {
        // If the hot store is down, the step waits for it, since it needs the store for the dirty marks too. With the plays in the log,
        // resume points would be missing meanwhile.
        if (!isTidemarkError(error) || error.code !== 'STORE_FULL') throw error
        await log.appendPlays(plays)
        figures.logged += plays.length
      }
      figures.recorded += plays.length
    },
    figures: () => ({ ...figures }),
  }
}

/** Heartbeats of a subject nearly always have the same day, and days are cheaper to compare than months. */
function areOfOneMonth(one: number, other: number): boolean {
  return utcDayOf(one) === utcDayOf(other) || monthOf(one) === monthOf(other)
}
