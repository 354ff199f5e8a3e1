/**
 * Puts the viewers of a file into the current slot of the ring, a batch at a time and at a given pace. How far it came is
 * put down after each batch, never before: whoever is killed in between lists that batch once more, which changes nothing.
 */
import type { Clock } from '../../core/clock.ts'
import type { BusinessNumber, Play, ViewerId } from '../../core/domain.ts'
import { MARK_MONTH, decodeMark, isMark, listingOf, type MigrationMark } from '../../subgraphs/feed-existence/migration/progress.ts'
import { slotOf } from '../../subgraphs/feed-existence/model/time-ring.ts'
import type { LegacyPlays } from '../../subgraphs/feed-existence/stores/legacy-plays.ts'
import type { SeenRecords } from '../../subgraphs/feed-existence/stores/record-store.ts'
import type { RingShape, SeenStore } from '../../subgraphs/feed-existence/stores/hot-store.ts'
import { announceShape } from '../../subgraphs/feed-existence/fold/layouts.ts'
import type { PlaceKeeper } from './migration-place.ts'
import type { ViewerLine } from './viewers-file.ts'

export type ListingStores = {
  hot: Pick<SeenStore, 'stagePlays' | 'getRingLayouts' | 'putRingLayout'>
  records: Pick<SeenRecords, 'getFilters'>
  legacy: Pick<LegacyPlays, 'examine' | 'keyOf'>
}

export type ListingOptions = {
  businesses: readonly BusinessNumber[]
  shape: RingShape
  /** Looks at everything, and lists nobody. */
  isDry: boolean
  /** After each batch, with all viewers so far: resolves when the next one may follow. */
  pace(viewers: number): Promise<unknown>
  /** A sentence on somebody who cannot be listed. */
  onMistake(sentence: string): void
  /** A sentence on somebody who is listed, and maybe should be looked at. */
  onHint?: ((sentence: string) => void) | undefined
  onBatch(counts: Readonly<ListingCounts>): void
}

/** `before`: of those who had been migrated; `without`: of those who are listed and have no set. */
export type ListingCounts = { viewers: number; listed: number; before: number; without: number }

/** `batches`: those lines of the file that come after the place. */
export async function listViewers(
  clock: Clock,
  { hot, records, legacy }: ListingStores,
  batches: AsyncIterable<readonly ViewerLine[]>,
  place: PlaceKeeper,
  { businesses, shape, isDry, pace, onMistake, onHint, onBatch }: ListingOptions,
): Promise<ListingCounts> {
  const counts: ListingCounts = { viewers: 0, listed: 0, before: 0, without: 0 }
  if (!isDry) await announceShape(hot, shape, clock)

  async function listBatch(viewers: readonly ViewerId[]): Promise<void> {
    const marks = await marksOf(records, viewers, (viewer) =>
      onHint?.(`what was noted of the migration of viewer "${viewer}" is damaged: he counts as one who was not migrated`),
    )
    const wanted = viewers.flatMap((viewer, at) =>
      businesses.filter((each) => marks[at]?.has(each) !== true).map((business) => ({ viewer, business })),
    )
    const kinds = await legacy.examine(wanted)
    const listings: Play[] = []
    const withSet = new Set<ViewerId>()
    wanted.forEach(({ viewer, business }, at) => {
      if (kinds[at] === 'other') {
        onMistake(noSet(legacy.keyOf(viewer, business), viewer))
        return
      }
      if (kinds[at] === 'set') withSet.add(viewer)
      listings.push(listingOf(viewer, business, clock.now()))
    })
    if (!isDry && listings.length > 0) {
      const now = clock.now()
      await hot.stagePlays(listings, { now, slot: slotOf(now, shape.slots) })
    }
    const listed = new Set(listings.map(({ viewer }) => viewer))
    for (const viewer of listed)
      if (ODD.test(viewer) && !withSet.has(viewer))
        onHint?.(`the line "${viewer}" is taken for a viewer as it stands, who has no set: a line is an id and nothing else`)
    counts.listed += listed.size
    counts.without += [...listed].filter((viewer) => !withSet.has(viewer)).length
    counts.before += marks.filter((mark) => businesses.every((each) => mark.has(each))).length
  }

  for await (const lines of batches) {
    for (const { mistake } of lines) if (mistake !== undefined) onMistake(`ID_INVALID: ${mistake}`)
    const viewers = [...new Set(lines.flatMap(({ viewer }) => viewer ?? []))]
    await listBatch(viewers)
    counts.viewers += viewers.length
    place.put(lines.at(-1)?.line ?? place.line)
    onBatch(counts)
    await pace(counts.viewers)
  }
  return counts
}

/** What ids of viewers hardly have: a comment, columns, quotes, words. */
const ODD = /^(#|\/\/|--|["'`])|[,;|\s]|["'`]$/

/** Waiting does not help him. */
export function noSet(key: string, viewer: ViewerId): string {
  return `LEGACY_INVALID: ${key} is not a sorted set: viewer "${viewer}" is not migrated from it; remove it or correct it, and list him again`
}

/** `onDamaged`: of whom there is a mark that cannot be read. */
export async function marksOf(
  records: Pick<SeenRecords, 'getFilters'>,
  viewers: readonly ViewerId[],
  onDamaged: (viewer: ViewerId) => void = () => {},
): Promise<MigrationMark[]> {
  const stored = await records.getFilters(viewers.map((viewer) => ({ viewer, month: MARK_MONTH })))
  for (const [at, found] of stored.entries()) if (found !== undefined && !isMark(found.filter)) onDamaged(viewers[at] as ViewerId)
  return stored.map((found) => decodeMark(found?.filter))
}
