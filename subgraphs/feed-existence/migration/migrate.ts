/**
 * Migrates a viewer: the plays of the legacy sets are folded into the viewer's filters, once. Each step is idempotent, as in the fold:
 *
 * 1. Read the mark.
 * 2. Read the sets page by page, keeping only hashes.
 * 3. Read the filters of the months, add the hashes, and write each filter if its version is unchanged. If refused, repeat from here.
 * 4. Write the mark, if it is unchanged since step 1. If refused, repeat everything: a filter may have been rebuilt without the migrated
 *    plays.
 *
 * After a crash, or with two migrations at once, the same plays are folded again, which changes nothing. A set may have a million members:
 * each takes 8 bytes of memory, pages are read no faster than `membersPerSecond`, and a filter is built in portions with a yield to the
 * event loop in between.
 *
 * Members with a time outside the months in use are left out, as such plays are refused; they are counted.
 */
import type { LegacyPlays } from '../stores/legacy-plays.ts'
import { FILTER_BYTES_MAX, type SeenRecords } from '../stores/record-store.ts'
import type { Clock } from '../../../core/clock.ts'
import type { BusinessNumber, Month, ViewerId } from '../../../core/domain.ts'
import { ATTEMPTS_MAX, changeFilters } from '../fold/filter-changes.ts'
import type { Fold, FoldOptions } from '../fold/fold.ts'
import { MARK_MONTH, decodeMark, encodeMark, lostPlaysOf, markOutrun, type Moved } from './progress.ts'
import type { SeenHashes } from '../filter/hash.ts'
import { collectPlays, tooMany } from './legacy-set.ts'
import { makePace, type Stop } from './pace.ts'
import { addPortions, inPortions } from './portions.ts'
import { monthOf } from '../model/time-ring.ts'
import { makeTurns } from '../../../core/event-loop-yield.ts'

export type MigrationOptions = Pick<FoldOptions, 'rate' | 'isOver' | 'expiryOf'> & {
  /** True if a play of this time counts. */
  isLive(playedAt: number): boolean
  /** Members read per second. */
  membersPerSecond: number
  /** Called for each set that is gone now, with the number of its plays when the viewer was first migrated. */
  onGone?: ((business: BusinessNumber, plays: number) => void) | undefined
}

export type MigrationFigures = {
  /** Migrated pairs of viewer and business, and members of their sets by outcome. */
  migrated: number
  plays: number
  outside: number
  invalid: number
  /** Filters written, without marks. A filter counts again if its write was refused or the migration was repeated. */
  writes: number
  /** Listed pairs that had been migrated before. */
  repeated: number
  /** Sets that had plays in the first migration of their viewers, and were gone in a later one. */
  gone: number
}

/** Migrates viewers, for a job or for the early folds of a service. */
export type Mover = {
  /**
   * Resolves to true when all of these are folded in and marked, to false if it was stopped before. Rejects with LEGACY_UNAVAILABLE,
   * LEGACY_INVALID, and the codes of the record store.
   */
  migrate(viewer: ViewerId, businesses: readonly BusinessNumber[]): Promise<boolean>
  /** Ends this mover's waits for the pace. Other movers continue. */
  stop(): void
}

export type Migration = {
  /** All movers of a process share one pace and one set of figures. */
  makeMover(): Mover
  figures(): MigrationFigures
}

export function makeMigration(
  clock: Clock,
  legacy: Pick<LegacyPlays, 'listPlays' | 'keyOf'>,
  records: Pick<SeenRecords, 'getFilters' | 'putFilters'>,
  /** Repairs a damaged filter. */
  repair: Fold['repair'],
  { rate, isOver, expiryOf, isLive, membersPerSecond, onGone }: MigrationOptions,
): Migration {
  const figures: MigrationFigures = { migrated: 0, plays: 0, outside: 0, invalid: 0, writes: 0, repeated: 0, gone: 0 }
  const pace = makePace(clock, membersPerSecond)
  const nextTurn = makeTurns()

  /**
   * All months in one read and one write. Rejects if one of them cannot be written: the others are written, but the viewer is not marked.
   */
  async function foldAll(viewer: ViewerId, business: BusinessNumber, months: ReadonlyMap<Month, readonly SeenHashes[]>): Promise<void> {
    const keys = Array.from(months.keys(), (month) => ({ viewer, month }))
    const { failed, writes } = await changeFilters(records, keys, {
      expiryOf,
      add: (before, { month }) => addPortions(before, month, months.get(month) ?? [], nextTurn, { rate, isOver }),
      renew: repair,
      tooLarge: ({ month }, bytes) =>
        tooMany(viewer, business, `its filter of month ${month} would take ${bytes} bytes, and the limit is ${FILTER_BYTES_MAX}`),
    })
    figures.writes += writes
    for (const { error } of failed) throw error
  }

  /** Undefined if it was stopped. */
  async function foldBusinesses(
    viewer: ViewerId,
    businesses: readonly BusinessNumber[],
    stop: Stop,
  ): Promise<Map<BusinessNumber, Moved> | undefined> {
    const moved = new Map<BusinessNumber, Moved>()
    for (const business of businesses) {
      const collected = stop.isSet ? undefined : await collectPlays(legacy, viewer, business, isLive, pace, stop)
      if (collected === undefined) return undefined
      await foldAll(viewer, business, new Map(Array.from(collected.months, ([month, chunks]) => [month, inPortions(chunks)])))
      moved.set(business, collected.moved)
    }
    return moved
  }

  async function migrate(viewer: ViewerId, businesses: readonly BusinessNumber[], stop: Stop): Promise<boolean> {
    const key = { viewer, month: MARK_MONTH }
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const [stored] = await records.getFilters([key])
      const before = decodeMark(stored?.filter)
      const left = businesses.filter((business) => !before.has(business))
      const moved = await foldBusinesses(viewer, left, stop)
      if (moved === undefined) return false
      // A filter rebuilt meanwhile has lost the migrated plays. The rebuild has changed the mark before, so this write is refused.
      const lost = [...lostPlaysOf(stored?.filter)]
      const filter = encodeMark(new Map([...before, ...moved]), new Map(lost.filter(([business]) => !moved.has(business))))
      const write = { ...key, filter, expected: stored?.version ?? 0, expiresAt: expiryOf(monthOf(clock.now())) }
      if (left.length > 0 && (await records.putFilters([write]))[0] !== true) continue
      figures.repeated += businesses.length - left.length
      for (const each of moved.values()) {
        figures.migrated++
        for (const name of ['plays', 'outside', 'invalid'] as const) figures[name] += each[name]
      }
      for (const [business, plays] of lost) {
        const found = moved.get(business)
        if (plays === 0 || found === undefined || found.plays + found.outside + found.invalid > 0) continue
        figures.gone++
        onGone?.(business, plays)
      }
      return true
    }
    throw markOutrun(viewer)
  }

  return {
    makeMover() {
      const stop: Stop = { isSet: false, waiting: new Set() }
      return {
        migrate: (viewer, businesses) => migrate(viewer, businesses, stop),
        stop() {
          stop.isSet = true
          for (const end of stop.waiting) end()
        },
      }
    },
    figures: () => ({ ...figures }),
  }
}
