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
import { TidemarkError } from '../../../core/errors.ts'
import { ATTEMPTS_MAX, changeFilters } from '../fold/filter-changes.ts'
import type { Fold, FoldOptions } from '../fold/fold.ts'
import { MARK_MONTH, decodeMark, encodeMark, lostPlaysOf, markOutrun, type Moved } from './progress.ts'
import { RECORDS_MAX_DEFAULT, addToFilter, measureFilter } from '../filter/filter.ts'
import { hashSeen, type SeenHashes } from '../filter/hash.ts'
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

const PAGE = 5_000
/** Keys a filter is made with at a time: some 20 ms. */
const PORTION = 65_536
/** More than this of one viewer is no viewer's: 32 MB of memory, and more than a filter of a month may have. */
const MEMBERS_MAX = 4_000_000
/** Pages may come this much too early, so that small sets are not each waited for. */
const AHEAD_MS = 10

/** `waiting`: what ends the waits of who has been stopped. */
type Stop = { isSet: boolean; waiting: Set<() => void> }
type Collected = { months: Map<Month, SeenHashes[]>; moved: Moved }

export function makeMigration(
  clock: Clock,
  legacy: Pick<LegacyPlays, 'listPlays' | 'keyOf'>,
  records: Pick<SeenRecords, 'getFilters' | 'putFilters'>,
  /** Of a filter that is damaged. */
  repair: Fold['repair'],
  { rate, isOver, expiryOf, isLive, membersPerSecond, onGone }: MigrationOptions,
): Migration {
  const figures: MigrationFigures = { migrated: 0, plays: 0, outside: 0, invalid: 0, writes: 0, repeated: 0, gone: 0 }
  let turnAt = 0
  const nextTurn = makeTurns()

  /** After a page of so many: until the next one may be read. */
  async function pace(members: number, stop: Stop): Promise<void> {
    const now = clock.now()
    turnAt = Math.max(turnAt, now) + (members * 1_000) / membersPerSecond
    if (turnAt - now <= AHEAD_MS || stop.isSet) return
    await new Promise<void>((resolve) => {
      const end = (): void => {
        timer.cancel()
        stop.waiting.delete(end)
        resolve()
      }
      const timer = clock.after(turnAt - now, end)
      stop.waiting.add(end)
    })
  }

  /** Undefined if it was stopped. */
  async function collect(viewer: ViewerId, business: BusinessNumber, stop: Stop): Promise<Collected | undefined> {
    const months = new Map<Month, SeenHashes[]>()
    const moved: Moved = { plays: 0, outside: 0, invalid: 0 }
    for (let page: string | undefined; ;) {
      const found = await legacy.listPlays(viewer, business, page, PAGE)
      const live = found.plays.filter(({ playedAt }) => isLive(playedAt))
      moved.plays += live.length
      moved.outside += found.plays.length - live.length
      moved.invalid += found.invalid.length
      if (moved.plays > MEMBERS_MAX) throw tooMany(viewer, business, `more than ${MEMBERS_MAX}`)
      for (const [month, some] of Map.groupBy(live, ({ playedAt }) => monthOf(playedAt))) {
        const hashes = hashSeen(
          business,
          some.map(({ oid }) => oid),
        )
        const chunks = months.get(month)
        if (chunks === undefined) months.set(month, [hashes])
        else chunks.push(hashes)
      }
      page = found.next
      await pace(found.plays.length + found.invalid.length, stop)
      if (stop.isSet) return undefined
      if (page === undefined) return { months, moved }
    }
  }

  /** All months in one read and one write. Rejects if one of them cannot be written: the others are, and he is not marked. */
  async function foldAll(viewer: ViewerId, business: BusinessNumber, months: ReadonlyMap<Month, readonly SeenHashes[]>): Promise<void> {
    const keys = Array.from(months.keys(), (month) => ({ viewer, month }))
    const { failed, writes } = await changeFilters(records, keys, {
      expiryOf,
      add: (before, { month }) => addAll(before, month, months.get(month) ?? []),
      renew: repair,
      tooLarge: ({ month }, bytes) =>
        tooMany(viewer, business, `its filter of month ${month} would take ${bytes} bytes, and ${FILTER_BYTES_MAX} is the most`),
    })
    figures.writes += writes
    for (const { error } of failed) throw error
  }

  async function addAll(before: Buffer | undefined, month: Month, portions: readonly SeenHashes[]): Promise<Buffer> {
    const records = portions.reduce((sum, { length }) => sum + length / 2, before === undefined ? 0 : measureFilter(before).records)
    // Room for all of them from the first portion on: what finds none takes twice the bits. One of a month that is over is closed with the last.
    const room = isOver(month) ? records : before === undefined ? Math.max(records, RECORDS_MAX_DEFAULT) : undefined
    let filter = before
    for (const [at, portion] of portions.entries()) {
      await nextTurn()
      filter = addToFilter(filter, portion, { rate, recordsMax: isOver(month) && at === portions.length - 1 ? 0 : room })
    }
    return filter as Buffer
  }

  /** Undefined if it was stopped. */
  async function foldBusinesses(
    viewer: ViewerId,
    businesses: readonly BusinessNumber[],
    stop: Stop,
  ): Promise<Map<BusinessNumber, Moved> | undefined> {
    const moved = new Map<BusinessNumber, Moved>()
    for (const business of businesses) {
      const collected = stop.isSet ? undefined : await collect(viewer, business, stop)
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

function inPortions(chunks: readonly SeenHashes[]): SeenHashes[] {
  const portions: SeenHashes[] = []
  let open: SeenHashes[] = []
  let length = 0
  for (const [at, chunk] of chunks.entries()) {
    open.push(chunk)
    length += chunk.length
    if (length < PORTION * 2 && at < chunks.length - 1) continue
    portions.push(joined(open, length))
    open = []
    length = 0
  }
  return portions
}

function joined(chunks: readonly SeenHashes[], length: number): SeenHashes {
  const all = new Uint32Array(length)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

function tooMany(viewer: ViewerId, business: BusinessNumber, what: string): TidemarkError {
  return new TidemarkError(
    'LEGACY_INVALID',
    `what the legacy store holds for viewer "${viewer}" in business ${business} has too many members of the months that are looked at, ${what}: cut it down`,
  )
}
