/** The plays of each viewer with their newest times, for the comparison with `unseen`. */
import type { Month, ViewerId } from '../../core/domain.ts'
import { HOUR_MS, monthOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import type { Arrival } from './plan.ts'

export type Truth = ReturnType<typeof makeTruth>

export function makeTruth() {
  const played = new Map<ViewerId, Map<string, number>>()
  /** By viewer and month: the hours in which a play of that month arrived. */
  const hours = new Map<string, Set<number>>()
  const writes = new Map<string, number>()

  return {
    viewers: (): ViewerId[] => [...played.keys()],
    note({ at, viewer, oid, playedAt }: Arrival): void {
      const own = played.get(viewer) ?? new Map<string, number>()
      played.set(viewer, own.set(oid, Math.max(playedAt, own.get(oid) ?? 0)))
      const place = `${monthOf(playedAt)}:${viewer}`
      hours.set(place, (hours.get(place) ?? new Set()).add(Math.floor(at / HOUR_MS)))
    },
    written({ viewer, month }: { viewer: ViewerId; month: Month }): void {
      writes.set(`${month}:${viewer}`, (writes.get(`${month}:${viewer}`) ?? 0) + 1)
    },
    /** Ids with their newest play in one of these months. */
    idsOf: (viewer: ViewerId, isWanted: (month: Month) => boolean): string[] =>
      Array.from(played.get(viewer) ?? []).flatMap(([oid, playedAt]) => (isWanted(monthOf(playedAt)) ? [oid] : [])),
    hasPlayedIn: (viewer: ViewerId, month: Month): boolean => hours.has(`${month}:${viewer}`),
    /** All writes, and those beyond one per hour and one for the closing of a viewer's month. */
    writes(): { all: number; tooMany: number; closings: number } {
      let [all, tooMany, closings] = [0, 0, 0]
      for (const [place, count] of writes) {
        const most = hours.get(place)?.size ?? 0
        all += count
        tooMany += Math.max(0, count - most - 1)
        closings += count > most ? 1 : 0
      }
      return { all, tooMany, closings }
    },
  }
}
