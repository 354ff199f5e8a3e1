/** Records issues and plays of requests: each call is checked, then noted in the hot store. While that is down, plays go to the log. */
import { requireEnabled, type Businesses } from '../../../config/businesses.ts'
import type { ExistenceConfig } from '../../../config/feed-existence.ts'
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, Play } from '../../../core/domain.ts'
import { checkIds } from '../../../core/input-limits.ts'
import { saysDown, saysFull, type Degraded } from '../../../core/outage/degraded.ts'
import { makeTenantWrites, type TenantWrites } from '../../tenant-statistics.ts'
import { makeWriteRates, type WriteRates } from '../../write-rates.ts'
import type { Viewer } from '../../../core/viewer.ts'
import { checkPlayedAt, type PlayedAtLimits } from '../inputs.ts'
import type { PlayWrite, SeenStore } from '../stores/hot-store.ts'
import type { PlayLog } from '../stores/play-log.ts'
import type { DayRewards } from './rewards.ts'
import type { Staging } from './staging.ts'

/** `dayToken` says that the day was claimed; null if it was not, or if there are no rewards. */
export type FirstOfDay = { dayToken: string | null; firstOfDay: boolean }

const NOT_CLAIMED: FirstOfDay = { dayToken: null, firstOfDay: false }

export type RecordingFigures = {
  issued: number
  /** Ids lost because the hot store was down. */
  issuedLost: number
  played: number
  /** The plays among these that went to the log. */
  logged: number
}

export type Recording = {
  /** `dayToken`: from an earlier answer. Throws BUSINESS_UNKNOWN, IDS_TOO_MANY, ID_INVALID, QUOTA_EXCEEDED. */
  recordIssued(
    viewer: Viewer,
    business: string,
    ids: readonly string[],
    degraded: Degraded,
    dayToken?: string,
  ): Promise<FirstOfDay & { recorded: boolean }>
  /**
   * Throws BUSINESS_UNKNOWN, IDS_TOO_MANY, ID_INVALID, PLAYED_AT_INVALID, QUOTA_EXCEEDED, PLAYS_TOO_MANY; LOG_UNAVAILABLE or STORE_FULL if neither hot
   * store nor log accepts the plays.
   */
  recordPlayed(
    viewer: Viewer,
    business: string,
    ids: readonly string[],
    playedAt: number | undefined,
    degraded: Degraded,
    dayToken?: string,
  ): Promise<FirstOfDay & { recordedCount: number; visible: boolean }>
  figures(): RecordingFigures
  writes: TenantWrites
}

export type RecordingSources = {
  hot: Pick<SeenStore, 'putIssued'>
  log: Pick<PlayLog, 'appendPlays'>
  staging: Pick<Staging, 'stage'>
  /** Called with plays that the log has acknowledged, before the caller gets the answer. */
  logged(plays: readonly Play[]): void
  rewards: Pick<DayRewards, 'checkIssue' | 'checkPlay' | 'send'>
}

export type RecordingOptions = PlayedAtLimits &
  Pick<ExistenceConfig, 'issuedCap' | 'issuedMinAgeMs' | 'issuedHardCap' | 'issuedTtlMs' | 'stagedHardMax'>

export function makeRecording(
  clock: Clock,
  businesses: Businesses,
  { hot, log, staging, logged, rewards }: RecordingSources,
  options: RecordingOptions,
): Recording {
  const writes = makeTenantWrites()
  const issueRates = makeWriteRates(clock, businesses, ({ existence }) => existence?.issuesPerSecondMax, 'issue')
  const playRates = makeWriteRates(clock, businesses, ({ existence }) => existence?.playsPerSecondMax, 'play')
  const figures: RecordingFigures = { issued: 0, issuedLost: 0, played: 0, logged: 0 }

  function admit(rates: WriteRates, business: BusinessNumber, count: number): void {
    try {
      rates.admit(business, count)
    } catch (error) {
      writes.overQuota(business, count)
      throw error
    }
  }

  /** A full store accepts nothing either. */
  const isWithout = (error: unknown): boolean => saysDown(error, 'hotStore') || saysFull(error)

  /** Does the task, or the alternative without the hot store. */
  async function orWithoutHot<T>(task: () => Promise<T>, without: () => Promise<T>, degraded: Degraded): Promise<T> {
    try {
      return await task()
    } catch (error) {
      if (!isWithout(error)) throw error
      degraded.add('hotStore')
      return without()
    }
  }

  return {
    async recordIssued(viewer, business, ids, degraded, dayToken) {
      const { number } = requireEnabled(businesses.byName(business))
      checkIds(ids)
      // The last occurrence of a repeated id counts, since later in the list is newer.
      const distinct = [...new Set(ids.toReversed())].reverse()
      if (distinct.length === 0) return { recorded: true, ...NOT_CLAIMED }
      admit(issueRates, number, distinct.length)
      const { issuedCap: cap, issuedMinAgeMs: minAgeMs, issuedHardCap: hardCap, issuedTtlMs: ttlMs } = options
      const now = clock.now()
      const { claim, token, reward } = rewards.checkIssue({ viewer: viewer.id, business: number }, now, dayToken)
      return orWithoutHot<FirstOfDay & { recorded: boolean }>(
        async () => {
          const firstOfDay = await hot.putIssued(viewer.id, number, distinct, { now, cap, minAgeMs, hardCap, ttlMs, ...claim })
          if (firstOfDay && reward !== undefined) rewards.send([reward])
          figures.issued += distinct.length
          writes.accepted(number, distinct.length)
          return { recorded: true, dayToken: token, firstOfDay }
        },
        async () => {
          figures.issuedLost += distinct.length
          return { recorded: false, ...NOT_CLAIMED }
        },
        degraded,
      )
    },
    async recordPlayed(viewer, business, ids, playedAt, degraded, dayToken) {
      const { number } = requireEnabled(businesses.byName(business))
      checkIds(ids)
      const now = clock.now()
      const at = playedAt === undefined ? now : checkPlayedAt(playedAt, now, options)
      const subject = { viewer: viewer.id, business: number }
      const { claim, token } = rewards.checkPlay(subject, at, now, dayToken)
      const distinct = [...new Set(ids)]
      admit(playRates, number, distinct.length)
      const plays: PlayWrite[] = distinct.map((oid) => ({ ...subject, oid, playedAt: at, ...claim }))
      const answer = await orWithoutHot<FirstOfDay & { visible: boolean }>(
        async () => {
          const earned = await staging.stage(plays, options.stagedHardMax)
          return { visible: true, dayToken: plays.length === 0 ? null : token, firstOfDay: earned.length > 0 }
        },
        async () => {
          await log.appendPlays(plays)
          logged(plays)
          figures.logged += plays.length
          return { visible: false, ...NOT_CLAIMED }
        },
        degraded,
      )
      figures.played += plays.length
      writes.accepted(number, plays.length)
      return { recordedCount: plays.length, ...answer }
    },
    figures: () => ({ ...figures }),
    writes,
  }
}
