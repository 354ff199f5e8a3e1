/**
 * What a job does besides persisting, in bounded chunks: forget undone marks, archive old
 * ones, remove what deleted businesses left. Each chunk is a call of its own, and all of it may be repeated.
 */
import type { Clock } from '../../../core/clock.ts'
import type { MarkPersistStores } from './persist.ts'
import type { BusinessNumber } from '../../../core/domain.ts'

export type UpkeepOptions = {
  tombstoneMs: number
  /** Milliseconds after which a mark is archived; undefined = never. */
  archiveAfterMs: number | undefined
  /** Those whose data is removed. */
  deleted: readonly BusinessNumber[]
}

export type UpkeepFigures = {
  /** Undone marks that the record store has forgotten. */
  purged: number
  archived: number
  /** Of deleted businesses: rows, keys of the hot store, cached counts, events. */
  removed: number
}

const CHUNK = 1_000
/** A store that had nothing of a deleted business is asked again after this, each time after twice as long. */
const EMPTY_MIN_MS = 60_000
const EMPTY_MAX_MS = 86_400_000

/** When a store that had nothing of a business is asked again. */
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
  /** Told of what failed while other work goes on. Without it a round ends there. */
  onError: (error: unknown) => void = rethrow,
) {
  const figures: UpkeepFigures = { purged: 0, archived: 0, removed: 0 }
  const forgetting = options.deleted.map((business) => ({
    business,
    // The hot store first: nothing that is dirty there may come back into the record store afterwards.
    steps: [hot.forgetBusiness, records.deleteBusiness, cache.forgetCounts, events.forgetEvents]
      .filter((chunk) => chunk !== undefined)
      .map((chunk) => ({ chunk, empty: { waitMs: 0, until: 0 } })),
  }))

  /** Until nothing is left; `count` is told what each chunk did. True if there was nothing from the beginning. */
  async function exhaust(mayGoOn: () => boolean, chunk: () => Promise<number>, count: (done: number) => void): Promise<boolean> {
    for (let isFirst = true; mayGoOn(); isFirst = false) {
      const done = await chunk()
      count(done)
      if (done === 0) return isFirst
    }
    return false
  }

  /**
   * To find nothing may take a walk over all that others have, and a deleted business stays in the configuration for years. So
   * who had nothing is asked more and more rarely; not never, since a process that has not heard of the deletion may still
   * have taken a mark.
   */
  async function forget(mayGoOn: () => boolean, chunk: () => Promise<number>, empty: Empty): Promise<void> {
    if (clock.now() < empty.until) return
    const wasEmpty = await exhaust(mayGoOn, chunk, (done) => (figures.removed += done))
    empty.waitMs = wasEmpty ? Math.min(EMPTY_MAX_MS, Math.max(EMPTY_MIN_MS, 2 * empty.waitMs)) : 0
    empty.until = clock.now() + empty.waitMs
  }

  /** What fails of one kind of work, for a damaged block say, keeps nobody from the others. */
  async function purgeAndArchive(mayGoOn: () => boolean, mayGoOnWhole: () => boolean): Promise<void> {
    const undoneBefore = clock.now() - options.tombstoneMs
    // Each job its own regions; of a region that moves meanwhile, two may purge the same, which is no harm.
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
