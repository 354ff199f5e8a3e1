/**
 * Moves a viewer: what his legacy sets hold goes into his filters, once. Idempotent at every step, as the fold is:
 *
 *   look at the mark → read the sets page by page, hashes only → read the filters of the months, add, write each if its version
 *   is still the one that was read (refused: again from there) → write the mark, if nobody has touched it since it was looked at
 *   (refused: all again; a filter may have been made anew, without what was folded into it)
 *
 * Whoever dies within it, or does it at the same time, folds the same once more, which changes nothing. A set may have a
 * million members: what is kept of one are 8 bytes, pages are read no faster than `membersPerSecond`, and a filter is
 * made in portions, between which others have their turn.
 *
 * Members whose time is no time of a month that is looked at are left out, as such plays are refused; they are counted.
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
  /** Does a play of this time count? */
  isLive(playedAt: number): boolean
  /** Members read per second. */
  membersPerSecond: number
  /** Told of each set that is gone, of a viewer who had so many plays in it when he was moved before. */
  onGone?: ((business: BusinessNumber, plays: number) => void) | undefined
}

export type MigrationFigures = {
  /** Viewers and businesses that were folded in; members of them, by what became of them. */
  migrated: number
  plays: number
  outside: number
  invalid: number
  /** Filters that were written, without marks; more often than once if another one came before, or all was done again. */
  writes: number
  /** Those that were listed and had been migrated before. */
  repeated: number
  /** Sets that had plays when their viewers were moved first, and were gone when they were moved once more. */
  gone: number
}

/** Who moves viewers: a job, or what folds early in a service. */
export type Mover = {
  /**
   * Resolves when all of these are folded in and marked, to false if it was stopped before. Rejects with LEGACY_UNAVAILABLE,
   * LEGACY_INVALID, and what the record store says.
   */
  migrate(viewer: ViewerId, businesses: readonly BusinessNumber[]): Promise<boolean>
  /** Who waits for his turn to read goes home. Others go on. */
  stop(): void
}

export type Migration = {
  /** All of a process keep one pace, and count together. */
  makeMover(): Mover
  figures(): MigrationFigures
}

export function makeMigration(
  clock: Clock,
  legacy: Pick<LegacyPlays, 'listPlays' | 'keyOf'>,
  records: Pick<SeenRecords, 'getFilters' | 'putFilters'>,
  /** Of a filter that is damaged. */
  repair: Fold['repair'],
  { rate, isOver, expiryOf, isLive, membersPerSecond, onGone }: MigrationOptions,
): Migration {
  const figures: MigrationFigures = { migrated: 0, plays: 0, outside: 0, invalid: 0, writes: 0, repeated: 0, gone: 0 }
  const pace = makePace(clock, membersPerSecond)
  const nextTurn = makeTurns()

  /** All months in one read and one write. Rejects if one of them cannot be written: the others are, and he is not marked. */
  async function foldAll(viewer: ViewerId, business: BusinessNumber, months: ReadonlyMap<Month, readonly SeenHashes[]>): Promise<void> {
    const keys = Array.from(months.keys(), (month) => ({ viewer, month }))
    const { failed, writes } = await changeFilters(records, keys, {
      expiryOf,
      add: (before, { month }) => addPortions(before, month, months.get(month) ?? [], nextTurn, { rate, isOver }),
      renew: repair,
      tooLarge: ({ month }, bytes) =>
        tooMany(viewer, business, `its filter of month ${month} would take ${bytes} bytes, and ${FILTER_BYTES_MAX} is the most`),
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
      // One that was made anew meanwhile has lost what was folded into it: whoever did that has touched the mark before.
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
