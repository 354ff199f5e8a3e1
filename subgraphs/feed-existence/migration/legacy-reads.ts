/**
 * Reads of the legacy store for viewers who are not migrated. Each of their requests asks it last, about the candidates that are still
 * left. The reads end with the viewer's mark, and for all viewers with the setting. They have their own breaker and time limit: a legacy
 * store that is slow or down delays a request by `patienceMs` once, and no request afterwards.
 *
 * Most viewers who are never listed have no set there. That is cached for a while: a play in the meantime is staged here as well. Members
 * with a time outside the months in use are ignored, as the migration ignores them.
 */
import type { Breaker } from '../../../core/outage/breaker.ts'
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import { makeSieveCache } from '../../../core/sieve/sieve.ts'
import type { LegacyPlays } from '../stores/legacy-plays.ts'

export type LegacyReadsOptions = {
  /** Numbers of the businesses with plays in the legacy store. */
  businesses: readonly BusinessNumber[]
  /** Milliseconds for which a viewer is known to have no set. */
  absentMs: number
  /** Maximum number of viewers known to have no set. */
  absentMax: number
  isLive(playedAt: number): boolean
}

export type LegacyReads = {
  /**
   * For a viewer who is not migrated: the played ids with their times. Rejects with LEGACY_UNAVAILABLE, and with LEGACY_INVALID if the key
   * is not a sorted set, which is also reported to operators.
   */
  played(viewer: ViewerId, business: BusinessNumber, oids: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** The time of one play, past the cache. Rejects as `played` does. */
  playedAt(viewer: ViewerId, business: BusinessNumber, oid: string): Promise<number | undefined>
  figures(): { asked: number; absent: number }
}

const NONE: ReadonlyMap<string, number> = new Map()

export function makeLegacyReads(
  clock: Clock,
  legacy: Pick<LegacyPlays, 'getPlayedAt'>,
  breaker: Pick<Breaker, 'run'>,
  { businesses, absentMs, absentMax, isLive }: LegacyReadsOptions,
  onError: (error: unknown) => void,
): LegacyReads {
  const absent = makeSieveCache<true>(clock, { entriesMax: absentMax, bytesMax: Number.MAX_SAFE_INTEGER })
  const having = new Set(businesses)
  const figures = { asked: 0, absent: 0 }

  return {
    async played(viewer, business, oids) {
      if (oids.length === 0 || !having.has(business)) return NONE
      const name = `${business}:${viewer}`
      if (absent.get(name) === true) {
        figures.absent++
        return NONE
      }
      figures.asked++
      const { exists, playedAt } = await askLegacy(viewer, business, oids)
      if (!exists && absentMs > 0) absent.set(name, true, 1, absentMs)
      const played = new Map<string, number>()
      oids.forEach((oid, at) => {
        const time = playedAt[at]
        if (time !== undefined && isLive(time)) played.set(oid, time)
      })
      return played
    },
    async playedAt(viewer, business, oid) {
      if (!having.has(business)) return undefined
      const [time] = (await askLegacy(viewer, business, [oid])).playedAt
      return time !== undefined && isLive(time) ? time : undefined
    },
    figures: () => ({ ...figures }),
  }

  /** A key of another type may have been a set. The plays are then unknown, as if the store were down. */
  async function askLegacy(viewer: ViewerId, business: BusinessNumber, oids: readonly string[]) {
    try {
      return await breaker.run(() => legacy.getPlayedAt(viewer, business, oids))
    } catch (error) {
      if (isTidemarkError(error) && error.code === 'LEGACY_INVALID') onError(error)
      throw error
    }
  }
}
