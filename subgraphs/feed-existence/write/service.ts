/**
 * The service of feed existence: check, then record or read. What was issued is noted at once or not at all; a play is staged, so
 * that every read that starts after the answer leaves it out, or, while the hot store is down, durable in the log, from which
 * a job stages it later.
 */
import type { Businesses } from '../../../config/businesses.ts'
import type { Clock } from '../../../core/clock.ts'
import type { ExistenceConfig } from '../../../config/feed-existence.ts'
import { saysDown, saysFull, type Degraded } from '../../../core/outage/degraded.ts'
import { claimedDay, dayOf } from '../../../core/day-token.ts'
import type { Month, Play, ViewerId } from '../../../core/domain.ts'
import { checkIds } from '../../../core/input-limits.ts'
import { checkId } from '../../../core/keys.ts'
import { rewardOf } from '../../../core/rewards.ts'
import { SCOPE_OPERATOR, requireScope, type Viewer } from '../../../core/viewer.ts'
import type { SeenReason } from '../../../loaders/feed-existence.ts'
import type { PlayLog } from '../stores/play-log.ts'
import type { HistoryRecords } from '../stores/history-records.ts'
import type { SeenRecords } from '../stores/record-store.ts'
import type { PlayWrite, SeenStore } from '../stores/hot-store.ts'
import type { LegacyReads } from '../migration/legacy-reads.ts'
import { checkCandidates, checkPlayedAt, type PlayedAtLimits } from '../inputs.ts'
import type { DayRewards } from './rewards.ts'
import type { Staging } from './staging.ts'
import type { Arrears, SeenReads, Unseen } from '../read/unseen.ts'
import { readWhyHidden, type WhyHidden } from '../read/why-hidden.ts'

export type ExistenceFigures = Record<
  | 'issued'
  /** Ids that were not noted, because the hot store was down. */
  | 'issuedLost'
  | 'played'
  /** Of these, those that went to the log. */
  | 'logged'
  | 'candidates'
  | 'droppedIssued'
  | 'droppedStaged'
  | 'droppedFiltered',
  number
>

/** `dayToken` says that the day was claimed; null where it was not, or nothing is earned. */
export type FirstOfDay = { dayToken: string | null; firstOfDay: boolean }

const NOT_CLAIMED: FirstOfDay = { dayToken: null, firstOfDay: false }

export type ExistenceService = {
  /** Throws BUSINESS_UNKNOWN, CANDIDATES_TOO_MANY, ID_INVALID. */
  unseen(viewer: Viewer, business: string, candidates: readonly string[], exclude: readonly string[], degraded?: Degraded): Promise<Unseen>
  /** In the order of `ids`. Throws BUSINESS_UNKNOWN, IDS_TOO_MANY, ID_INVALID. */
  seen(viewer: Viewer, business: string, ids: readonly string[], degraded?: Degraded): Promise<(SeenReason | null)[]>
  /** `dayToken`: of an earlier answer. Throws BUSINESS_UNKNOWN, IDS_TOO_MANY, ID_INVALID. */
  recordIssued(
    viewer: Viewer,
    business: string,
    ids: readonly string[],
    degraded?: Degraded,
    dayToken?: string,
  ): Promise<FirstOfDay & { recorded: boolean }>
  /** Throws BUSINESS_UNKNOWN, IDS_TOO_MANY, ID_INVALID, PLAYED_AT_INVALID, PLAYS_TOO_MANY; LOG_UNAVAILABLE or STORE_FULL if neither hot store nor log takes it. */
  recordPlayed(
    viewer: Viewer,
    business: string,
    ids: readonly string[],
    playedAt: number | undefined,
    degraded?: Degraded,
    dayToken?: string,
  ): Promise<FirstOfDay & { recorded: number; visible: boolean }>
  /** Throws BUSINESS_UNKNOWN, ID_INVALID, FORBIDDEN, UNAUTHENTICATED, and the code of a store that does not answer. */
  whyHidden(asker: Viewer | undefined, business: string, id: string, viewer: ViewerId): Promise<WhyHidden>
  figures(): ExistenceFigures
}

export type ExistenceSources = {
  hot: Pick<SeenStore, 'putIssued' | 'getSeen'>
  log: Pick<PlayLog, 'appendPlays'>
  records: Pick<SeenRecords, 'getFilters'>
  history: Pick<HistoryRecords, 'getProgressMany'> | undefined
  /** While viewers are moved from it. */
  legacy?: Pick<LegacyReads, 'playedAt'> | undefined
  reads: SeenReads
  staging: Pick<Staging, 'stage'>
  /** Told of plays that the log has acknowledged, before anybody else is. */
  logged(plays: readonly Play[]): void
  arrears: Pick<Arrears, 'waitingOf'>
  rewards: Pick<DayRewards, 'check' | 'send'>
  /** Has a filter repaired that cannot be read. */
  onUnreadable(viewer: ViewerId, month: Month): void
}

export function makeExistenceService(
  clock: Clock,
  businesses: Businesses,
  { hot, log, records, history, legacy, reads, staging, logged, arrears, rewards, onUnreadable }: ExistenceSources,
  options: PlayedAtLimits & Pick<ExistenceConfig, 'issuedCap' | 'issuedMinAgeMs' | 'issuedHardCap' | 'issuedTtlMs' | 'stagedHardMax'>,
): ExistenceService {
  const figures: ExistenceFigures = {
    ...{ issued: 0, issuedLost: 0, played: 0, logged: 0, candidates: 0, droppedIssued: 0, droppedStaged: 0, droppedFiltered: 0 },
  }

  /** One that is full takes nothing either. */
  const isWithout = (error: unknown): boolean => saysDown(error, 'hotStore') || saysFull(error)

  /** What does not depend on the hot store goes on without it. */
  async function orWithoutHot<T>(task: () => Promise<T>, without: () => Promise<T>, degraded: Degraded | undefined): Promise<T> {
    try {
      return await task()
    } catch (error) {
      if (!isWithout(error)) throw error
      degraded?.add('hotStore')
      return without()
    }
  }

  return {
    async unseen(viewer, business, candidates, exclude, degraded) {
      const { number } = businesses.byName(business)
      checkCandidates(candidates, 'candidates', viewer)
      checkCandidates(exclude, 'ids to exclude', viewer)
      const unseen = await reads.unseen(viewer.id, number, candidates, exclude, degraded)
      figures.candidates += candidates.length
      for (const name of ['droppedIssued', 'droppedStaged', 'droppedFiltered'] as const) figures[name] += unseen[name]
      return unseen
    },
    async seen(viewer, business, ids, degraded) {
      const { number } = businesses.byName(business)
      checkIds(ids)
      return reads.reasons(viewer.id, number, ids, degraded)
    },
    async recordIssued(viewer, business, ids, degraded, dayToken) {
      const { number } = businesses.byName(business)
      checkIds(ids)
      // Of one that is there twice the last counts: later in the list is newer.
      const distinct = [...new Set(ids.toReversed())].reverse()
      if (distinct.length === 0) return { recorded: true, ...NOT_CLAIMED }
      const { issuedCap: cap, issuedMinAgeMs: minAgeMs, issuedHardCap: hardCap, issuedTtlMs: ttlMs } = options
      const now = clock.now()
      const day = dayOf(now)
      const { claim, token } = rewards.check('FIRST_ISSUE', { viewer: viewer.id, business: number }, day, dayToken)
      return orWithoutHot<FirstOfDay & { recorded: boolean }>(
        async () => {
          const firstOfDay = await hot.putIssued(viewer.id, number, distinct, { now, cap, minAgeMs, hardCap, ttlMs, day: claim })
          if (firstOfDay) rewards.send([rewardOf(viewer.id, number, day, 'FIRST_ISSUE')])
          figures.issued += distinct.length
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
      const { number } = businesses.byName(business)
      checkIds(ids)
      const now = clock.now()
      const at = playedAt === undefined ? now : checkPlayedAt(playedAt, now, options)
      const subject = { viewer: viewer.id, business: number }
      const { claim, token } = rewards.check('FIRST_PLAY', subject, claimedDay(at, now), dayToken)
      const plays: PlayWrite[] = [...new Set(ids)].map((oid) => ({ ...subject, oid, playedAt: at, day: claim }))
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
      return { recorded: plays.length, ...answer }
    },
    async whyHidden(asker, business, id, viewer) {
      requireScope(asker, SCOPE_OPERATOR)
      const { number } = businesses.byName(business)
      checkId(id, 'id')
      checkId(viewer, 'viewer')
      return readWhyHidden(
        { hot, records, history, legacy, arrears, onUnreadable },
        { viewer, business: number, oid: id },
        clock.now(),
        options,
      )
    },
    figures: () => ({ ...figures }),
  }
}
