/**
 * The service of feed existence: check, then record or read. What was issued is noted at once or not at all; a play is staged, so
 * that every read that starts after the answer leaves it out, or, while the hot store is down, durable in the log, from which
 * a job stages it later.
 */
import type { Businesses } from '../../core/businesses.ts'
import type { Clock } from '../../core/clock.ts'
import type { ExistenceConfig } from '../../core/config-existence.ts'
import { saysDown, type Degraded } from '../../core/degraded.ts'
import type { Play, ViewerId } from '../../core/domain.ts'
import { isTidemarkError } from '../../core/errors.ts'
import { checkIds } from '../../core/input-limits.ts'
import { checkId } from '../../core/keys.ts'
import { SCOPE_OPERATOR, requireScope, type Viewer } from '../../core/viewer.ts'
import type { SeenReason } from '../../loaders/existence.ts'
import type { PlayLog } from '../../stores/play-log.ts'
import type { RecordStore } from '../../stores/record-store.ts'
import type { SeenRecords } from '../../stores/seen-records.ts'
import type { SeenStore } from '../../stores/seen-store.ts'
import { checkCandidates, checkPlayedAt, type PlayedAtLimits } from './inputs.ts'
import type { Staging } from './staging.ts'
import type { SeenReads, Unseen } from './unseen.ts'
import { readWhyHidden, type WhyHidden } from './why-hidden.ts'

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

export type ExistenceService = {
  /** Throws BUSINESS_UNKNOWN, CANDIDATES_TOO_MANY, ID_INVALID. */
  unseen(viewer: Viewer, business: string, candidates: readonly string[], exclude: readonly string[], degraded?: Degraded): Promise<Unseen>
  /** In the order of `ids`. Throws BUSINESS_UNKNOWN, IDS_TOO_MANY, ID_INVALID. */
  seen(viewer: Viewer, business: string, ids: readonly string[], degraded?: Degraded): Promise<(SeenReason | null)[]>
  /** Throws BUSINESS_UNKNOWN, IDS_TOO_MANY, ID_INVALID. */
  recordIssued(viewer: Viewer, business: string, ids: readonly string[], degraded?: Degraded): Promise<{ recorded: boolean }>
  /** Throws BUSINESS_UNKNOWN, IDS_TOO_MANY, ID_INVALID, PLAYED_AT_INVALID; LOG_UNAVAILABLE or STORE_FULL if neither hot store nor log takes it. */
  recordPlayed(
    viewer: Viewer,
    business: string,
    ids: readonly string[],
    playedAt: number | undefined,
    degraded?: Degraded,
  ): Promise<{ recorded: number; visible: boolean }>
  /** Throws BUSINESS_UNKNOWN, ID_INVALID, FORBIDDEN, UNAUTHENTICATED, and the code of a store that does not answer. */
  whyHidden(asker: Viewer | undefined, business: string, id: string, viewer: ViewerId): Promise<WhyHidden>
  figures(): ExistenceFigures
}

export type ExistenceSources = {
  hot: Pick<SeenStore, 'putIssued' | 'getSeen'>
  log: Pick<PlayLog, 'appendPlays'>
  records: Pick<SeenRecords, 'getFilters'>
  history: Pick<RecordStore, 'getProgressMany'> | undefined
  reads: SeenReads
  staging: Pick<Staging, 'stage'>
}

export function makeExistenceService(
  clock: Clock,
  businesses: Businesses,
  { hot, log, records, history, reads, staging }: ExistenceSources,
  options: PlayedAtLimits & Pick<ExistenceConfig, 'issuedCap' | 'issuedMinAgeMs' | 'issuedHardCap'>,
): ExistenceService {
  const figures: ExistenceFigures = {
    ...{ issued: 0, issuedLost: 0, played: 0, logged: 0, candidates: 0, droppedIssued: 0, droppedStaged: 0, droppedFiltered: 0 },
  }

  /** One that is full takes nothing either. */
  const isWithout = (error: unknown): boolean => saysDown(error, 'hotStore') || (isTidemarkError(error) && error.code === 'STORE_FULL')

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
    async recordIssued(viewer, business, ids, degraded) {
      const { number } = businesses.byName(business)
      checkIds(ids)
      const distinct = [...new Set(ids)]
      const { issuedCap: cap, issuedMinAgeMs: minAgeMs, issuedHardCap: hardCap } = options
      return orWithoutHot<{ recorded: boolean }>(
        async () => {
          if (distinct.length > 0) await hot.putIssued(viewer.id, number, distinct, { now: clock.now(), cap, minAgeMs, hardCap })
          figures.issued += distinct.length
          return { recorded: true }
        },
        async () => {
          figures.issuedLost += distinct.length
          return { recorded: false }
        },
        degraded,
      )
    },
    async recordPlayed(viewer, business, ids, playedAt, degraded) {
      const { number } = businesses.byName(business)
      checkIds(ids)
      const now = clock.now()
      const at = playedAt === undefined ? now : checkPlayedAt(playedAt, now, options)
      const plays: Play[] = [...new Set(ids)].map((oid) => ({ viewer: viewer.id, business: number, oid, playedAt: at }))
      const visible = await orWithoutHot<boolean>(
        async () => {
          await staging.stage(plays)
          return true
        },
        async () => {
          await log.appendPlays(plays)
          figures.logged += plays.length
          return false
        },
        degraded,
      )
      figures.played += plays.length
      return { recorded: plays.length, visible }
    },
    async whyHidden(asker, business, id, viewer) {
      requireScope(asker, SCOPE_OPERATOR)
      const { number } = businesses.byName(business)
      checkId(id, 'id')
      checkId(viewer, 'viewer')
      return readWhyHidden({ hot, records, history }, { viewer, business: number, oid: id }, clock.now(), options.monthsBefore)
    },
    figures: () => ({ ...figures }),
  }
}
