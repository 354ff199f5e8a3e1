/**
 * What the legacy store says of a viewer who is not migrated yet: asked with every request of his, after everything else, about what
 * is still left. That ends with his mark, and for all with the setting. Behind a breaker and a bound of its own: a legacy
 * store that is slow or down costs a request `patienceMs` once, and then nothing.
 *
 * Most viewers who are never listed have no set there. That is remembered for a while: whoever plays meanwhile is staged here
 * as well. Members whose time does not count are no plays, as they are none when they are folded in.
 */
import type { Breaker } from '../../../core/outage/breaker.ts'
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, ViewerId } from '../../../core/domain.ts'
import { isTidemarkError } from '../../../core/errors.ts'
import { makeSieveCache } from '../../../loaders/lookup/sieve.ts'
import type { LegacyPlays } from '../stores/legacy-plays.ts'

export type LegacyReadsOptions = {
  /** Numbers of the businesses that have plays there. */
  businesses: readonly BusinessNumber[]
  /** Milliseconds for which it is remembered that a viewer has no set. */
  absentMs: number
  /** Viewers of whom that is remembered. */
  absentMax: number
  isLive(playedAt: number): boolean
}

export type LegacyReads = {
  /**
   * Of a viewer who is not migrated: what of these he has played, and when. Rejects with LEGACY_UNAVAILABLE, and with LEGACY_INVALID
   * where his key is no sorted set: which is said to operators as well.
   */
  played(viewer: ViewerId, business: BusinessNumber, oids: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** When he played one, past what is remembered. Rejects as `played` does. */
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

  /** What is no sorted set may have been one: nobody knows what he has played, as if the store were down. */
  async function askLegacy(viewer: ViewerId, business: BusinessNumber, oids: readonly string[]) {
    try {
      return await breaker.run(() => legacy.getPlayedAt(viewer, business, oids))
    } catch (error) {
      if (isTidemarkError(error) && error.code === 'LEGACY_INVALID') onError(error)
      throw error
    }
  }
}
