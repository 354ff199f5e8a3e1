/**
 * Viewers' filters in memory: opened once, bounded by bytes, all live months of a viewer as one entry. A viewer who has none
 * is an entry as well, an empty one.
 *
 * The race that this must not lose:
 *   1. a reader has filters in memory      2. the job folds plays into the stored ones, and removes them from staging
 *   3. the reader looks at what is staged: nothing; and at his filters: nothing. What was watched comes back.
 * So whoever reads looks at what is staged first. That tells how often the viewer was folded (`HotSeen.folds`), as of the same
 * moment. An entry is used only at the very count that its reader had seen before he began to load: then whatever had left
 * staging by that moment was in the stored filters when they were loaded. The count is forgotten by the hot store some time
 * after the last fold; an entry lives for less than that.
 *
 * A hot store may lose the count itself: it starts anew without data, evicts the key, or a replica takes over that never heard of
 * the last folds. Counts are times, and the first play staged sets one; so after a loss no count of before comes again, but
 * two. No count at all, which is all that is said of who has nothing staged: an entry by that is used for a minute. And the
 * older count of a replica: nothing that was loaded before an outage is used after it (`distrust`).
 *
 * A load is shared by those who wait for it, never joined once it has begun (`loaders/lookup/shared.ts`): it may have read before
 * a fold that the next reader knows of.
 *
 * To open the filters of a viewer with 10,000 records a month takes half a millisecond, and each hour's folds make whoever is here
 * then load his again. So they are opened one viewer after the other, each answered when his are, and the loop has its turn
 * in between.
 */
import type { SeenRecords } from '../stores/record-store.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Month, ViewerId } from '../../../core/domain.ts'
import type { LocalCacheFigures } from '../../../loaders/lookup/local-cache.ts'
import { makeFilterLoads, type FilterLoadOptions, type MonthFilter, type SharedLookup, type ViewerFilters } from './filter-loads.ts'
import { makeSieveCache } from '../../../loaders/lookup/sieve.ts'
import { monthOf } from '../model/time-ring.ts'

export type FilterCacheOptions = FilterLoadOptions & {
  bytesMax: number
  /** Milliseconds. */
  ttlMs: number
}

export type FilterCache = {
  /** `folds`: what the hot store said before this call. Rejects with RECORD_STORE_UNAVAILABLE. */
  get(viewer: ViewerId, folds: number): Promise<ViewerFilters>
  /** Without knowing the count: what there is, if it is young enough; what is loaded is kept for other such readers. */
  getBlindly(viewer: ViewerId): Promise<ViewerFilters>
  /** For when no store answers: however old. */
  lastKnown(viewer: ViewerId): ViewerFilters | undefined
  forget(viewer: ViewerId): void
  /** The hot store was away, and may have lost counts: all there is now is for `getBlindly` and `lastKnown` only. */
  distrust(): void
  figures(): LocalCacheFigures & { loads: number }
}

/** `outages`: how many there had been when its load began. */
type Entry = ViewerFilters & { folds: number; outages: number; loadedAt: number }
/** What an entry takes besides its filters, and each of these besides its bytes, as measured. */
const ENTRY_BYTES = 300
const FILTER_BYTES = 250
/** So many entries of the least size would fill it: a viewer with filters takes more, and arrays are made for all of them. */
const BYTES_PER_ENTRY = 512

const UNREADABLE_MS = 60_000
/** For how long an entry is used of whom the hot store has no count: it may have lost one. */
const UNCOUNTED_MS = 60_000
/** Of what was loaded without knowing how often its viewer was folded: no reader who knows will have it. */
const NO_COUNT = -1

/** `share`: makes a lookup that several callers share; see `loaders/lookup/shared.ts`. */
export function makeFilterCache(
  clock: Clock,
  records: Pick<SeenRecords, 'getFilters'>,
  share: SharedLookup,
  options: FilterCacheOptions,
  onUnreadable: (viewer: ViewerId, month: Month) => void,
): FilterCache {
  const { bytesMax, ttlMs, monthsBefore } = options
  const cache = makeSieveCache<Entry>(clock, { entriesMax: Math.max(16, Math.ceil(bytesMax / BYTES_PER_ENTRY)), bytesMax })
  const loads = makeFilterLoads(clock, records, share, options, onUnreadable)
  let outages = 0

  function isOfNow(held: Entry, folds: number): boolean {
    if (held.folds !== folds || held.outages !== outages) return false
    return folds !== 0 || Math.abs(clock.now() - held.loadedAt) < UNCOUNTED_MS
  }

  async function loadEntry(viewer: ViewerId, folds: number): Promise<ViewerFilters> {
    const begun = { folds, outages, loadedAt: clock.now() }
    const loaded = await loads.load(viewer)
    keep(viewer, { ...loaded, ...begun })
    return loaded
  }

  /** With one that cannot be read, for as long as its repair may take, or its readers are not to ask for it each time. */
  function keep(viewer: ViewerId, entry: Entry): void {
    cache.set(viewer, entry, bytesOf(viewer, entry.filters), entry.unreadable === 0 ? ttlMs : Math.min(ttlMs, UNREADABLE_MS))
  }

  /** What is in months that are over is not looked at any more. */
  function live<T extends ViewerFilters>(found: T): ViewerFilters {
    const oldest = monthOf(clock.now()) - monthsBefore
    if (found.filters.every(({ month }) => month >= oldest)) return found
    return { ...found, filters: found.filters.filter(({ month }) => month >= oldest) }
  }

  return {
    async get(viewer, folds) {
      const held = cache.get(viewer)
      return held !== undefined && isOfNow(held, folds) ? live(held) : loadEntry(viewer, folds)
    },
    async getBlindly(viewer) {
      const held = cache.get(viewer)
      return held === undefined ? loadEntry(viewer, NO_COUNT) : live(held)
    },
    lastKnown(viewer) {
      const held = cache.getStale(viewer)
      return held && live(held)
    },
    forget: (viewer) => void cache.delete(viewer),
    distrust: () => void outages++,
    figures: () => ({ ...cache.figures(), ...loads.figures() }),
  }
}

function bytesOf(viewer: ViewerId, filters: readonly MonthFilter[]): number {
  return filters.reduce((sum, { probe }) => sum + FILTER_BYTES + probe.bytes, ENTRY_BYTES + 2 * viewer.length)
}
