/**
 * The upkeep of a job, in bounded chunks: forget undone marks, archive old marks, remove the data of deleted businesses. Each chunk is one
 * call, and every call may be repeated.
 */
import type { Clock } from '../../../core/clock.ts'
import type { MarkPersistStores } from './persist.ts'
import type { BusinessNumber } from '../../../core/domain.ts'

export type UpkeepOptions = {
  tombstoneMs: number
  /** Milliseconds after which a mark is archived; undefined = never. */
  archiveAfterMs: number | undefined
  /** Businesses whose data is removed. */
  deleted: readonly BusinessNumber[]
}

export type UpkeepFigures = {
  /** Undone marks that the record store has forgotten. */
  purged: number
  archived: number
  /** Removed data of deleted businesses: rows, keys of the hot store, cached counts, events. */
  removed: number
}

const CHUNK = 1_000
/** The wait before a store without data of a deleted business is asked again. It doubles each time. */
const EMPTY_MIN_MS = 60_000
const EMPTY_MAX_MS = 86_400_000

/** The next time to ask a store that had no data of a business. */
type Empty = { waitMs: number; until: number }

function rethrow(error: unknown): never {
  throw error
}

export function makeUpkeep(
  clock: Clock,
  { hot, cache, records, events }: MarkPersistStores,
  ownedRegions: () => readonly number[],
  ownsWhole: () => boolean,
  options: UpkeepOptions,
  /** Gets failures that do not stop the other work. Without it a round ends at the first failure. */
  onError: (error: unknown) => void = rethrow,
) {
  const figures: UpkeepFigures = { purged: 0, archived: 0, removed: 0 }
  const forgetting = options.deleted.map((business) => ({
    business,
    // The hot store comes first: its dirty marks must not return to the record store afterwards.
    steps: [hot.forgetBusiness, records.deleteBusiness, cache.forgetCounts, events.forgetEvents]
      .filter((chunk) => chunk !== undefined)
      .map((chunk) => ({ chunk, empty: { waitMs: 0, until: 0 } })),
  }))

  /** Repeats until nothing is left. `count` gets the result of each chunk. True if there was nothing from the beginning. */
  async function exhaust(mayGoOn: () => boolean, chunk: () => Promise<number>, count: (done: number) => void): Promise<boolean> {
    for (let isFirst = true; mayGoOn(); isFirst = false) {
      const done = await chunk()
      count(done)
      if (done === 0) return isFirst
    }
    return false
  }

  /**
   * An empty result may cost a walk over the data of all businesses, and a deleted business stays in the configuration for years. A store
   * without data is therefore asked more and more rarely. It is never dropped: a process that has not heard of the deletion may still have
   * accepted a mark.
   */
  async function forget(mayGoOn: () => boolean, chunk: () => Promise<number>, empty: Empty): Promise<void> {
    if (clock.now() < empty.until) return
    const wasEmpty = await exhaust(mayGoOn, chunk, (done) => (figures.removed += done))
    empty.waitMs = wasEmpty ? Math.min(EMPTY_MAX_MS, Math.max(EMPTY_MIN_MS, 2 * empty.waitMs)) : 0
    empty.until = clock.now() + empty.waitMs
  }

  /** A failure of one kind of work, such as a damaged block, does not stop the others. */
  async function purgeAndArchive(mayGoOn: () => boolean, mayGoOnWhole: () => boolean): Promise<void> {
    const undoneBefore = clock.now() - options.tombstoneMs
    // Each job purges its own regions. While a region moves, two jobs may purge the same marks, which is harmless.
    await exhaust(
      mayGoOn,
      () => hot.purgeUndone(ownedRegions(), undoneBefore, CHUNK),
      () => undefined,
    ).catch(onError)
    await exhaust(
      mayGoOnWhole,
      () => records.purgeUndone(undoneBefore, CHUNK),
      (done) => (figures.purged += done),
    ).catch(onError)
    const { archiveAfterMs } = options
    if (archiveAfterMs === undefined) return
    const markedBefore = clock.now() - archiveAfterMs
    await exhaust(
      mayGoOnWhole,
      () => records.archiveMarks(markedBefore, CHUNK),
      (done) => (figures.archived += done),
    ).catch(onError)
  }

  async function round(mayGoOn: () => boolean): Promise<void> {
    const mayGoOnWhole = (): boolean => mayGoOn() && ownsWhole()
    await purgeAndArchive(mayGoOn, mayGoOnWhole)
    for (const { business, steps } of forgetting) {
      for (const { chunk, empty } of steps) await forget(mayGoOnWhole, () => chunk(business, CHUNK), empty)
    }
  }

  return { round, figures: () => ({ ...figures }) }
}
