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
import { MARK_MONTH, NOT_MIGRATED, decodeMark, type MigrationMark } from '../migration/progress.ts'
import { openFilter, type Probe } from '../filter/filter.ts'
import { makeSieveCache } from '../../../loaders/lookup/sieve.ts'
import { monthOf, monthsRead } from '../model/time-ring.ts'
import { makePortions, makeTurns } from '../../../core/event-loop-yield.ts'

/** A filter, opened. */
export type MonthFilter = { month: Month; probe: Probe }

export type ViewerFilters = {
  /** The newest month first. */
  filters: readonly MonthFilter[]
  /** Those that cannot be read, which are told to `onUnreadable`: the answer is made without them. */
  unreadable: number
  /** Of which businesses all that the legacy store had is in these filters: of none, if one cannot be read. Looked at with `marks` only. */
  migrated: MigrationMark
}

export type FilterCacheOptions = {
  bytesMax: number
  /** Milliseconds. */
  ttlMs: number
  /** Months before the current one that are live. */
  monthsBefore: number
  /** Milliseconds a play may lie ahead of the clock. */
  futureMaxMs: number
  /** While viewers are moved from a legacy store: who was? One more read before each load, and after that of one who was. */
  marks?: boolean
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
/** What was read of a viewer. All who waited for it open it, and it is opened once. */
export type Loaded = () => Promise<ViewerFilters>
type SharedLookup = (load: (viewers: readonly ViewerId[]) => Promise<Loaded[]>) => (viewers: readonly ViewerId[]) => Promise<Loaded[]>
type StoredMonth = { month: Month; filter: Buffer }

/** What an entry takes besides its filters, and each of these besides its bytes, as measured. */
const ENTRY_BYTES = 300
const FILTER_BYTES = 250
/** So many entries of the least size would fill it: a viewer with filters takes more, and arrays are made for all of them. */
const BYTES_PER_ENTRY = 512

const UNREADABLE_MS = 60_000
/** For how long an entry is used of whom the hot store has no count: it may have lost one. */
const UNCOUNTED_MS = 60_000
/** So much of what is stored is opened in one turn of the loop, a millisecond or two; a larger filter has one of its own. */
const TURN_BYTES = 128 * 1024
/** Of what was loaded without knowing how often its viewer was folded: no reader who knows will have it. */
const NO_COUNT = -1

/** `share`: makes a lookup that several callers share; see `loaders/lookup/shared.ts`. */
export function makeFilterCache(
  clock: Clock,
  records: Pick<SeenRecords, 'getFilters'>,
  share: SharedLookup,
  { bytesMax, ttlMs, monthsBefore, futureMaxMs, marks = false }: FilterCacheOptions,
  onUnreadable: (viewer: ViewerId, month: Month) => void,
): FilterCache {
  const cache = makeSieveCache<Entry>(clock, { entriesMax: Math.max(16, Math.ceil(bytesMax / BYTES_PER_ENTRY)), bytesMax })
  const lookUp = share(load)
  let loads = 0
  let outages = 0
  let lastOpened: Promise<unknown> = Promise.resolve()
  const turnFor = makePortions(makeTurns(), TURN_BYTES)

  function isOfNow(held: Entry, folds: number): boolean {
    if (held.folds !== folds || held.outages !== outages) return false
    return folds !== 0 || Math.abs(clock.now() - held.loadedAt) < UNCOUNTED_MS
  }

  async function loadEntry(viewer: ViewerId, folds: number): Promise<ViewerFilters> {
    const begun = { folds, outages, loadedAt: clock.now() }
    const loaded = await loadOne(viewer)
    keep(viewer, { ...loaded, ...begun })
    return loaded
  }

  async function load(viewers: readonly ViewerId[]): Promise<Loaded[]> {
    const months = monthsRead(clock.now(), { monthsBefore, futureMaxMs })
    loads++
    // A mark is written after the filters: so it is read before them, and what it says of them is true.
    const markKeys = viewers.map((viewer) => ({ viewer, month: MARK_MONTH }))
    const marked = marks ? await records.getFilters(markKeys) : []
    const found = await records.getFilters(viewers.flatMap((viewer) => months.map((month) => ({ viewer, month }))))
    // It goes before a filter is made anew: so what is still there after them was true all the while.
    const stillMarked = marked.some((mark) => decodeMark(mark?.filter).size > 0) ? await records.getFilters(markKeys) : marked
    return viewers.map((viewer, place) => {
      const stored = months.flatMap((month, index): StoredMonth[] => {
        const filter = found[place * months.length + index]?.filter
        return filter === undefined ? [] : [{ month, filter }]
      })
      const mark = marked[place]?.version === stillMarked[place]?.version ? marked[place]?.filter : undefined
      let opened: Promise<ViewerFilters> | undefined
      return () => (opened ??= afterOthers(() => open(viewer, stored, mark)))
    })
  }

  function afterOthers(task: () => Promise<ViewerFilters>): Promise<ViewerFilters> {
    const opened = lastOpened.then(task)
    lastOpened = opened.catch(() => undefined)
    return opened
  }

  async function open(viewer: ViewerId, stored: readonly StoredMonth[], mark: Buffer | undefined): Promise<ViewerFilters> {
    const filters: MonthFilter[] = []
    let unreadable = 0
    for (const { month, filter } of stored) {
      const turn = turnFor(filter.length)
      if (turn !== undefined) await turn
      try {
        filters.push({ month, probe: openFilter(filter) })
      } catch {
        unreadable++
        onUnreadable(viewer, month)
      }
    }
    return { filters, unreadable, migrated: unreadable === 0 ? decodeMark(mark) : NOT_MIGRATED }
  }

  async function loadOne(viewer: ViewerId): Promise<ViewerFilters> {
    const [loaded] = (await lookUp([viewer])) as [Loaded]
    return loaded()
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
    figures: () => ({ ...cache.figures(), loads }),
  }
}

function bytesOf(viewer: ViewerId, filters: readonly MonthFilter[]): number {
  return filters.reduce((sum, { probe }) => sum + FILTER_BYTES + probe.bytes, ENTRY_BYTES + 2 * viewer.length)
}
