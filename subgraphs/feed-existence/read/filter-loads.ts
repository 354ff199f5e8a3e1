/** Loads viewers' filters from the record store and opens them, one viewer after the other. */
import type { Clock } from '../../../core/clock.ts'
import type { Month, ViewerId } from '../../../core/domain.ts'
import { makePortions, makeTurns } from '../../../core/event-loop-yield.ts'
import { openFilter, type Probe } from '../filter/filter.ts'
import { MARK_MONTH, NOT_MIGRATED, decodeMark, type MigrationMark } from '../migration/progress.ts'
import { monthsRead } from '../model/time-ring.ts'
import type { SeenRecords } from '../stores/record-store.ts'

/** An opened filter. */
export type MonthFilter = { month: Month; probe: Probe }

export type ViewerFilters = {
  /** The newest month first. */
  filters: readonly MonthFilter[]
  /** Filters that cannot be read, which are reported to `onUnreadable`. The answer lacks them. */
  unreadable: number
  /** Businesses whose legacy plays are all in these filters; none if a filter cannot be read. Read with `marks` only. */
  migrated: MigrationMark
}

/** The stored filters of a viewer. All waiting callers open them, and they are opened once. */
export type Loaded = () => Promise<ViewerFilters>
export type SharedLookup = (
  load: (viewers: readonly ViewerId[]) => Promise<Loaded[]>,
) => (viewers: readonly ViewerId[]) => Promise<Loaded[]>
type StoredMonth = { month: Month; filter: Buffer }

export type FilterLoadOptions = {
  /** Months before the current one that are live. */
  monthsBefore: number
  /** Milliseconds a play may lie ahead of the clock. */
  futureMaxMs: number
  /**
   * True during a migration from a legacy store: also reads the marks. This costs one more read before each load, and for migrated viewers
   * one after it.
   */
  marks?: boolean
}

export type FilterLoads = {
  /** Rejects with RECORD_STORE_UNAVAILABLE. */
  load(viewer: ViewerId): Promise<ViewerFilters>
  figures(): { loads: number }
}

/** Bytes opened per turn of the event loop, a millisecond or two. A larger filter has its own turn. */
const TURN_BYTES = 128 * 1024
/** `share`: makes a lookup that callers share; see `loaders/lookup/shared.ts`. */
export function makeFilterLoads(
  clock: Clock,
  records: Pick<SeenRecords, 'getFilters'>,
  share: SharedLookup,
  { monthsBefore, futureMaxMs, marks = false }: FilterLoadOptions,
  onUnreadable: (viewer: ViewerId, month: Month) => void,
): FilterLoads {
  const lookUp = share(load)
  let loads = 0
  let lastOpened: Promise<unknown> = Promise.resolve()
  const turnFor = makePortions(makeTurns(), TURN_BYTES)

  async function load(viewers: readonly ViewerId[]): Promise<Loaded[]> {
    const months = monthsRead(clock.now(), { monthsBefore, futureMaxMs })
    loads++
    // A mark is written after the filters, so it is read before them: it is then true for them.
    const markKeys = viewers.map((viewer) => ({ viewer, month: MARK_MONTH }))
    const marked = marks ? await records.getFilters(markKeys) : []
    const found = await records.getFilters(viewers.flatMap((viewer) => months.map((month) => ({ viewer, month }))))
    // A mark is emptied before a filter is rebuilt. If it is unchanged after the filters were read, it was true all the time.
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

  return { load: loadOne, figures: () => ({ loads }) }
}
