/**
 * Lists the viewers of a file in the current slot of the ring, in batches and at a given pace. The progress is saved after each batch,
 * never before. A killed command therefore lists at most one batch again, which changes nothing.
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
  /** Checks everything, and lists no viewer. */
  isDry: boolean
  /** Called after each batch with the number of viewers so far. Resolves when the next batch may follow. */
  pace(viewers: number): Promise<unknown>
  /** A sentence about a viewer who cannot be listed. */
  onMistake(sentence: string): void
  /** A sentence about a viewer who is listed, and may be a mistake. */
  onHint?: ((sentence: string) => void) | undefined
  onBatch(counts: Readonly<ListingCounts>): void
}

/** `before`: viewers that were already migrated. `without`: listed viewers without a set. */
export type ListingCounts = { viewers: number; listed: number; before: number; without: number }

/** `batches`: the lines of the file after the place. */
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
      onHint?.(`the migration mark of viewer "${viewer}" is damaged: the viewer counts as not migrated`),
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
        onHint?.(`the line "${viewer}" counts as the id of a viewer without a set: a line must contain an id and nothing else`)
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

/** Signs that a line is not an id: a comment, columns, quotes, words. */
const ODD = /^(#|\/\/|--|["'`])|[,;|\s]|["'`]$/

/** Waiting does not help such a viewer. */
export function noSet(key: string, viewer: ViewerId): string {
  return `LEGACY_INVALID: ${key} is not a sorted set: viewer "${viewer}" is not migrated from it; remove or correct the key, and list the viewer again`
}

/** `onDamaged` gets viewers with a mark that cannot be read. */
export async function marksOf(
  records: Pick<SeenRecords, 'getFilters'>,
  viewers: readonly ViewerId[],
  onDamaged: (viewer: ViewerId) => void = () => {},
): Promise<MigrationMark[]> {
  const stored = await records.getFilters(viewers.map((viewer) => ({ viewer, month: MARK_MONTH })))
  for (const [at, found] of stored.entries()) if (found !== undefined && !isMark(found.filter)) onDamaged(viewers[at] as ViewerId)
  return stored.map((found) => decodeMark(found?.filter))
}
