/** Reads one legacy set of a viewer page by page, and keeps the hashes of its plays by month. */
import type { BusinessNumber, Month, ViewerId } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { hashSeen, type SeenHashes } from '../filter/hash.ts'
import { monthOf } from '../model/time-ring.ts'
import type { LegacyPlays } from '../stores/legacy-plays.ts'
import type { Pace, Stop } from './pace.ts'
import type { Moved } from './progress.ts'

export type Collected = { months: Map<Month, SeenHashes[]>; moved: Moved }

const PAGE = 5_000
/** No viewer has more than this. It takes 32 MB of memory, and more than a month's filter may have. */
const MEMBERS_MAX = 4_000_000

/** Undefined if it was stopped. */
export async function collectPlays(
  legacy: Pick<LegacyPlays, 'listPlays'>,
  viewer: ViewerId,
  business: BusinessNumber,
  isLive: (playedAt: number) => boolean,
  pace: Pace,
  stop: Stop,
): Promise<Collected | undefined> {
  const months = new Map<Month, SeenHashes[]>()
  const moved: Moved = { plays: 0, outside: 0, invalid: 0 }
  for (let page: string | undefined; ;) {
    const found = await legacy.listPlays(viewer, business, page, PAGE)
    const live = found.plays.filter(({ playedAt }) => isLive(playedAt))
    moved.plays += live.length
    moved.outside += found.plays.length - live.length
    moved.invalid += found.invalid.length
    if (moved.plays > MEMBERS_MAX) throw tooMany(viewer, business, `more than ${MEMBERS_MAX}`)
    for (const [month, some] of Map.groupBy(live, ({ playedAt }) => monthOf(playedAt))) {
      const hashes = hashSeen(
        business,
        some.map(({ oid }) => oid),
      )
      const chunks = months.get(month)
      if (chunks === undefined) months.set(month, [hashes])
      else chunks.push(hashes)
    }
    page = found.next
    await pace(found.plays.length + found.invalid.length, stop)
    if (stop.isSet) return undefined
    if (page === undefined) return { months, moved }
  }
}

export function tooMany(viewer: ViewerId, business: BusinessNumber, what: string): TidemarkError {
  return new TidemarkError(
    'LEGACY_INVALID',
    `the legacy set of viewer "${viewer}" in business ${business} has too many members in the months in use, ${what}: remove some`,
  )
}
