/**
 * The fold: what viewers have staged in a slot goes into their filters of the months, and only then leaves staging. Idempotent
 * at every step, so that whoever dies within it, and whoever does the same at the same time, loses nothing:
 *
 *   read staged → read filters → add → write each if its version is the one that was read (those refused: again from there)
 *   → remove exactly what was folded. What was staged meanwhile, or staged again with a later time, stays.
 *
 * A filter that is damaged is set aside and made anew from what is staged and from what else is known of that month
 * (`rebuild`). One that a newer version of us wrote is left alone, and what is staged waits for a worker that can read it. A
 * viewer whose fold fails keeps everything staged, and holds up nobody else.
 *
 * A month that is over has its filter closed: made as small as its records allow (`filter.ts`). That is done with the first
 * fold into a later month, also if he was away meanwhile, so that it costs a viewer one write a month; a play that comes later still costs bits, and
 * nothing else.
 *
 * A viewer who is listed for migration (`progress.ts`) has his legacy sets folded in as well, after the plays; what lists him leaves
 * last. While plays are written back to the legacy store, it gets them once more before they leave staging: for what it missed
 * when they were played.
 */
import { FILTER_BYTES_MAX, type FilterKey, type FilterWrite, type SeenRecords } from '../stores/record-store.ts'
import type { SeenStore, StagedPlay } from '../stores/hot-store.ts'
import type { BusinessNumber, Month, Play, Subject, ViewerId } from '../../../core/domain.ts'
import { TidemarkError, saysDamaged } from '../../../core/errors.ts'
import { changeFilters, endsRound } from './filter-changes.ts'
import { saysDown } from '../../../core/outage/degraded.ts'
import { emptyMark, isListing, listedBusiness, type MigrationMark } from '../migration/progress.ts'
import { addToFilter, openFilter } from '../filter/filter.ts'
import { hashSeen, type SeenHashes } from '../filter/hash.ts'
import { monthOf } from '../model/time-ring.ts'
import { makePortions, makeTurns } from '../../../core/event-loop-yield.ts'

export type FoldStores = {
  hot: Pick<SeenStore, 'readStaged' | 'removeStaged'>
  records: Pick<SeenRecords, 'getFilters' | 'putFilters' | 'quarantineFilter'>
}

export type FoldOptions = {
  /** What one filter may hide wrongly. */
  rate: number
  /** Months before one that is begun whose filters are looked at then, and closed; default 1. */
  monthsBefore?: number | undefined
  /** Is this month over? */
  isOver(month: Month): boolean
  /** When a filter that is first written now expires. */
  expiryOf(month: Month): number
  /** What else is known that a viewer watched in a month; absent: nothing. */
  rebuild?: ((viewer: ViewerId, month: Month) => Promise<readonly Subject[]>) | undefined
  /** Folds in the legacy sets of a viewer who is listed; false: not now. Absent, and 'kept': there is no legacy store here, and he stays listed for a worker that has one. */
  migrate?: ((viewer: ViewerId, businesses: readonly BusinessNumber[]) => Promise<boolean | 'kept'>) | undefined
  /** Lists a viewer for migration again, before his mark goes. Absent: there is no legacy store. */
  relist?: ((viewer: ViewerId, businesses: readonly BusinessNumber[]) => Promise<void>) | undefined
  /** Plays that are about to leave staging. Does not fail. */
  writeBack?: ((plays: readonly Play[]) => Promise<void>) | undefined
  /** Told of each filter that was set aside and made anew. */
  onRenewed?: ((renewed: Renewed) => void) | undefined
}

/** `known`: how many subjects it was made anew from; undefined where there is no history to ask. */
export type Renewed = FilterKey & { reason: string; known: number | undefined }

export type FoldReport = {
  /** Plays that were folded, in filters that were written: plays : writes is what staging saves. */
  plays: number
  writes: number
  /** Writes that another one came before; they were done again. */
  refused: number
  /** Filters of months that are over, made small. */
  closed: number
  quarantined: number
  /** Who must be folded again, and why. */
  failed: { viewer: ViewerId; error: unknown }[]
  /** Why viewers who are listed for migration are so still, and are to be tried soon; absent: none is. */
  held?: unknown
}

export type Fold = {
  /** Viewers are distinct. Rejects only if a store does not answer: then nothing of what remains staged is lost. */
  fold(slot: number, viewers: readonly ViewerId[]): Promise<FoldReport>
  /** Makes a filter anew if it is damaged. True if it was, and nobody else has done it meanwhile. */
  repair(key: FilterKey): Promise<boolean>
}

type StagedOf = { viewer: ViewerId; plays: readonly StagedPlay[] }

/** What a viewer has staged of a month. */
type Portion = FilterKey & { plays: readonly StagedPlay[] }

/** Viewers whose legacy sets are read at once. */
const MIGRATED_AT_ONCE = 4
/** Bytes of filters, and of hashes that come to them, after which others have their turn: 1 to 5 ms. A page of viewers may have a hundred times that. */
const TURN_BYTES = 65_536
const HASH_BYTES = 8

export function makeFold(
  { hot, records }: FoldStores,
  { rate, monthsBefore = 1, isOver, expiryOf, rebuild, migrate, relist, writeBack, onRenewed }: FoldOptions,
): Fold {
  const earlier = Array.from({ length: monthsBefore }, (_, at) => at + 1)
  const nextTurn = makeTurns()

  async function fold(slot: number, viewers: readonly ViewerId[]): Promise<FoldReport> {
    const report: FoldReport = { plays: 0, writes: 0, refused: 0, closed: 0, quarantined: 0, failed: [] }
    const staged = await hot.readStaged(slot, viewers)
    const folded = new Map<ViewerId, StagedPlay[]>(viewers.map((viewer) => [viewer, []]))
    const portions = viewers.flatMap((viewer, place) => portionsOf(viewer, staged[place] ?? []))
    const turnFor = makePortions(nextTurn, TURN_BYTES)
    const { done, begun, failed, writes, refused, renewed } = await changeFilters<Portion>(records, portions, {
      ...{ renew, expiryOf, tooLarge },
      add(before, { month, plays }) {
        const turn = turnFor((before?.length ?? 0) + plays.length * HASH_BYTES)
        return turn === undefined ? add(before, month, plays) : turn.then(() => add(before, month, plays))
      },
    })
    for (const { viewer, plays } of done) {
      for (const play of plays) folded.get(viewer)?.push(play)
      report.plays += plays.length
    }
    for (const { key, error } of failed) report.failed.push({ viewer: key.viewer, error })
    Object.assign(report, { writes, refused, quarantined: renewed })
    await closeEarlier(begun, report, turnFor)
    const removed = Array.from(folded, ([viewer, plays]) => ({ viewer, plays }))
    await writeBack?.(removed.flatMap(({ viewer, plays }) => plays.map((play) => ({ viewer, ...play }))))
    const listed = viewers.flatMap((viewer, place) => listingOf(viewer, staged[place] ?? []))
    // Also of those who had nothing: their places in the ring are of no use. Who failed, or is listed, has something left and keeps his.
    await hot.removeStaged(slot, removed)
    if (migrate !== undefined) await migrateAll(slot, listed, migrate, report)
    return report
  }

  /** Some at once, each with what lists him once he is done; one who fails holds up nobody else, a legacy store that is down all. */
  async function migrateAll(
    slot: number,
    listed: readonly StagedOf[],
    move: NonNullable<FoldOptions['migrate']>,
    report: FoldReport,
  ): Promise<void> {
    let next = 0
    async function work(): Promise<void> {
      while (next < listed.length && report.held === undefined) {
        const { viewer, plays } = listed[next++] as StagedOf
        try {
          const moved = await move(viewer, plays.map(listedBusiness))
          if (moved === true) await hot.removeStaged(slot, [{ viewer, plays }])
          if (moved === false) report.held ??= new Error(`viewer "${viewer}" and others are listed for migration still: this worker stops`)
        } catch (error) {
          if (endsRound(error)) throw error
          if (saysDown(error, 'legacyStore')) report.held ??= error
          else report.failed.push({ viewer, error })
        }
      }
    }
    const ended = await Promise.allSettled(Array.from({ length: Math.min(MIGRATED_AT_ONCE, listed.length) }, work))
    for (const each of ended) if (each.status === 'rejected') throw each.reason
  }

  /** Of viewers who have begun a month. What is not done here, or is refused, takes more bytes and does no other harm. */
  async function closeEarlier(begun: readonly FilterKey[], report: FoldReport, turnFor: ReturnType<typeof makePortions>): Promise<void> {
    const oldest = begun.reduce((newest, { month }) => Math.max(newest, month), 0) - monthsBefore
    const keys = distinct(begun.flatMap(({ viewer, month }) => earlier.map((back) => ({ viewer, month: month - back })))).filter(
      ({ month }) => month >= oldest && isOver(month),
    )
    if (keys.length === 0) return
    const stored = await records.getFilters(keys)
    const writes: FilterWrite[] = []
    for (const [place, { viewer, month }] of keys.entries()) {
      const found = stored[place]
      if (found === undefined) continue
      const turn = turnFor(found.filter.length)
      if (turn !== undefined) await turn
      try {
        const filter = add(found.filter, month, [])
        if (!found.filter.equals(filter)) writes.push({ viewer, month, filter, expected: found.version, expiresAt: expiryOf(month) })
      } catch {
        // Whoever reads it says so, and has it repaired.
      }
    }
    if (writes.length > 0) report.closed += (await records.putFilters(writes)).filter(Boolean).length
  }

  /**
   * Sets a filter aside; what else is known of its month comes in its place. What a legacy store had is not known here: so who was
   * moved is listed, then unmarked, and then his filter is made anew; who is being moved is so once more. Whoever dies within it leaves one who is moved once more.
   * False if another one stands there by now.
   */
  async function renew({ viewer, month }: FilterKey, version: number, damage: Error): Promise<boolean> {
    const known = await rebuild?.(viewer, month)
    const rebuilt = known === undefined || known.length === 0 ? undefined : add(undefined, month, known)
    if (rebuilt !== undefined && rebuilt.length > FILTER_BYTES_MAX) throw tooLarge({ viewer, month }, rebuilt.length)
    const listAgain = async (mark: MigrationMark): Promise<void> => {
      if (mark.size > 0) await relist?.(viewer, [...mark.keys()])
    }
    // A mark that is the first lives as long as the newest filter.
    let newest = month
    while (isOver(newest)) newest++
    await emptyMark(records, viewer, listAgain, { writesFirst: relist !== undefined, expiresAt: expiryOf(newest) })
    const isAside = await records.quarantineFilter({ viewer, month }, version, damage.message, rebuilt)
    if (isAside) onRenewed?.({ viewer, month, reason: damage.message, known: known?.length })
    return isAside
  }

  function add(filter: Buffer | undefined, month: Month, subjects: readonly Subject[]): Buffer {
    return addToFilter(filter, hashAll(subjects), isOver(month) ? { rate, recordsMax: 0 } : { rate })
  }

  return {
    fold,
    async repair(key) {
      const [stored] = await records.getFilters([key])
      if (stored === undefined) return false
      try {
        openFilter(stored.filter)
        return false
      } catch (error) {
        if (!saysDamaged(error)) throw error
        return await renew(key, stored.version, error)
      }
    },
  }
}

function listingOf(viewer: ViewerId, staged: readonly StagedPlay[]): StagedOf[] {
  const plays = staged.filter(isListing)
  return plays.length === 0 ? [] : [{ viewer, plays }]
}

function portionsOf(viewer: ViewerId, staged: readonly StagedPlay[]): Portion[] {
  const plays = staged.some(isListing) ? staged.filter((play) => !isListing(play)) : staged
  return Array.from(
    Map.groupBy(plays, ({ playedAt }) => monthOf(playedAt)),
    ([month, some]) => ({ viewer, month, plays: some }),
  )
}

function hashAll(subjects: readonly Subject[]): SeenHashes {
  const hashes = new Uint32Array(subjects.length * 2)
  let at = 0
  for (const [business, some] of Map.groupBy(subjects, (subject) => subject.business)) {
    hashes.set(
      hashSeen(
        business,
        some.map(({ oid }) => oid),
      ),
      at,
    )
    at += some.length * 2
  }
  return hashes
}

/** Who begins two months at once has those before both in each. */
function distinct(keys: readonly FilterKey[]): FilterKey[] {
  return [...new Map(keys.map((key) => [`${key.month}:${key.viewer}`, key])).values()]
}

/** What the record store would not take: of a viewer who plays a million things a month. He keeps it staged, and others go on. */
function tooLarge({ viewer, month }: FilterKey, bytes: number): TidemarkError {
  return new TidemarkError(
    'PLAYS_TOO_MANY',
    `the filter of viewer "${viewer}" and month ${month} would take ${bytes} bytes, more than ${FILTER_BYTES_MAX}: what he plays stays staged until it is full; see who that is`,
  )
}
