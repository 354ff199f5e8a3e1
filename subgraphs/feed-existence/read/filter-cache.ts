/**
 * A cache of viewers' filters: opened once, bounded by bytes, with all live months of a viewer in one entry. A viewer without filters has
 * an empty entry.
 *
 * The race that the order of reads prevents:
 *
 * 1. A reader has filters in memory.
 * 2. The job folds plays into the stored filters, and removes them from staging.
 * 3. The reader finds neither staged plays nor the plays in its filters. Watched subjects come back.
 *
 * A reader therefore reads the staged plays first. The answer includes the number of folds of the viewer at the same moment
 * (`HotSeen.folds`). An entry is used only at exactly the number that its reader had seen before the load. Every play that had left staging
 * by that moment was then in the stored filters when they were loaded. The hot store forgets the number some time after the last fold; an
 * entry expires before that.
 *
 * A hot store may lose the number itself: it restarts without data, evicts the key, or fails over to a replica that missed the last folds.
 * Numbers are times, and the first staged play sets one, so no earlier number comes again after a loss, with two exceptions. A viewer with
 * nothing staged may have no number: such an entry is used for a minute. A replica may have an older number: entries loaded before an
 * outage are not used after it (`distrust`).
 *
 * Callers that wait share a load, but no caller joins a load that has begun (`loaders/lookup/shared.ts`): it may have read before a fold
 * that the next reader knows of.
 *
 * Opening the filters of a viewer with 10,000 records per month takes half a millisecond, and each hour's folds make all present viewers
 * load theirs again. Filters are therefore opened one viewer after the other. Each viewer is answered as soon as their filters are open,
 * with yields to the event loop in between.
 */
import type { SeenRecords } from '../stores/record-store.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Month, ViewerId } from '../../../core/domain.ts'
import type { LocalCacheFigures } from '../../../core/sieve/local-cache.ts'
import { makeFilterLoads, type FilterLoadOptions, type MonthFilter, type SharedLookup, type ViewerFilters } from './filter-loads.ts'
import { makeResizableCache } from '../../../core/sieve/resizable.ts'
import { monthOf } from '../model/time-ring.ts'

export type FilterCacheOptions = FilterLoadOptions & {
  bytesMax: number
  /** Milliseconds. */
  ttlMs: number
}

export type FilterCache = {
  /** `folds`: the answer of the hot store from before this call. Rejects with RECORD_STORE_UNAVAILABLE. */
  get(viewer: ViewerId, folds: number): Promise<ViewerFilters>
  /** Without the number of folds: returns an entry that has not expired. A loaded entry is kept for other such readers. */
  getBlindly(viewer: ViewerId): Promise<ViewerFilters>
  /** For when no store answers: an entry of any age. */
  lastKnown(viewer: ViewerId): ViewerFilters | undefined
  forget(viewer: ViewerId): void
  /** The hot store was down, and may have lost numbers of folds: from now on, existing entries serve `getBlindly` and `lastKnown` only. */
  distrust(): void
  figures(): LocalCacheFigures & { loads: number }
}

/** `outages`: the number of outages before the load began. */
type Entry = ViewerFilters & { folds: number; outages: number; loadedAt: number }
/** Measured overhead of an entry, and of each filter, beside its bytes. */
const ENTRY_BYTES = 300
const FILTER_BYTES = 250
/** The number of entries is limited by this minimum size. Entries with filters are larger, and arrays are allocated for all. */
const BYTES_PER_ENTRY = 512

const UNREADABLE_MS = 60_000
/** Lifetime of an entry without a number in the hot store, which may have lost it. */
const UNCOUNTED_MS = 60_000
/** The number of entries loaded without one. It matches no reader that has a number. */
const NO_COUNT = -1

/** `share`: makes a lookup that callers share; see `loaders/lookup/shared.ts`. */
export function makeFilterCache(
  clock: Clock,
  records: Pick<SeenRecords, 'getFilters'>,
  share: SharedLookup,
  options: FilterCacheOptions,
  onUnreadable: (viewer: ViewerId, month: Month) => void,
): FilterCache {
  const { monthsBefore } = options
  const entriesOf = (bytesMax: number): number => Math.max(16, Math.ceil(bytesMax / BYTES_PER_ENTRY))
  const cache = makeResizableCache<Entry>(clock, () => options.bytesMax, entriesOf)
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

  /** An entry with an unreadable filter is kept for the time of a repair, so that its readers do not load it each time. */
  function keep(viewer: ViewerId, entry: Entry): void {
    const { ttlMs } = options
    cache.set(viewer, entry, bytesOf(viewer, entry.filters), entry.unreadable === 0 ? ttlMs : Math.min(ttlMs, UNREADABLE_MS))
  }

  /** Leaves out months that are no longer in use. */
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
