/**
 * Plays that come from the players' reports: what history persists and was really watched is staged in the same step, before its
 * dirty marks are cleared. So nothing that was acknowledged is lost: whoever dies in between leaves the marks, and the step is
 * done again, which changes nothing here. Nor is there a moment in which a subject has left the hot timeline and is in no
 * filter yet, which those who look for resume points rely on.
 *
 * Really watched is what history takes for more than a glance, unless the business says otherwise (`playedFrom`). A hot store
 * that is full leaves the plays to the log, since persisting is what makes room in it; if the log takes none either, the step is
 * done again.
 */
import type { Businesses, HistoryBusiness } from '../../core/businesses.ts'
import type { Clock } from '../../core/clock.ts'
import type { Play, ProgressRecord } from '../../core/domain.ts'
import { isTidemarkError } from '../../core/errors.ts'
import type { RecordPlays } from '../../core/persist.ts'
import type { PlayLog } from '../../stores/play-log.ts'
import { mistakeOfPlayedAt, type PlayedAtLimits } from './inputs.ts'
import type { DayRewards } from './rewards.ts'
import type { Staging } from './staging.ts'

export type HistoryPlaysFigures = {
  /** Plays staged, each time that its subject was persisted; and of these, those that went to the log instead. */
  recorded: number
  logged: number
}

export type HistoryPlays = { record: RecordPlays; figures(): HistoryPlaysFigures }

export function makeHistoryPlays(
  clock: Clock,
  businesses: Pick<Businesses, 'byNumber'>,
  staging: Pick<Staging, 'stage'>,
  rewards: Pick<DayRewards, 'withDays'>,
  log: Pick<PlayLog, 'appendPlays'>,
  limits: PlayedAtLimits,
): HistoryPlays {
  const figures: HistoryPlaysFigures = { recorded: 0, logged: 0 }

  return {
    async record(rows) {
      const now = clock.now()
      const plays = rows.flatMap(({ key, record }): Play[] => {
        if (!isPlayed(record, businesses.byNumber(key.business))) return []
        // History may let its clients be further ahead than we do.
        const playedAt = Math.min(record.viewedAt, now)
        return mistakeOfPlayedAt(playedAt, now, limits) === undefined ? [{ ...key, playedAt }] : []
      })
      if (plays.length === 0) return
      try {
        await staging.stage(rewards.withDays(plays, now))
      } catch (error) {
        // One that is down is waited for: the marks are in it too. Were its plays in the log meanwhile, resume points would be missing.
        if (!isTidemarkError(error) || error.code !== 'STORE_FULL') throw error
        await log.appendPlays(plays)
        figures.logged += plays.length
      }
      figures.recorded += plays.length
    },
    figures: () => ({ ...figures }),
  }
}

/** `business`: absent if it has left the configuration. */
export function isPlayed(record: ProgressRecord, business: HistoryBusiness | undefined): boolean {
  if (record.deleted || business === undefined) return false
  return record.finished || record.position >= Math.max(1, business.playedFrom ?? business.glanceMax)
}
