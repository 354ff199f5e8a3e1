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
import type { FilterKey, SeenRecords } from '../stores/record-store.ts'
import type { SeenStore, StagedPlay } from '../stores/hot-store.ts'
import type { Play, ViewerId } from '../../../core/domain.ts'
import { makeAdditions, tooLarge, type AdditionRules } from './additions.ts'
import { closeEarlier } from './closing.ts'
import { changeFilters } from './filter-changes.ts'
import { listedViewers, migrateListed, type MigrateViewer, type MigrationReport } from './listed-viewers.ts'
import { makeRenewal, type Renewal, type RenewalOptions } from './renewal.ts'
import { isListing } from '../migration/progress.ts'
import { monthOf } from '../model/time-ring.ts'
import { makePortions, makeTurns } from '../../../core/event-loop-yield.ts'

export type FoldStores = {
  hot: Pick<SeenStore, 'readStaged' | 'removeStaged'>
  records: Pick<SeenRecords, 'getFilters' | 'putFilters' | 'quarantineFilter'>
}

export type FoldOptions = AdditionRules &
  RenewalOptions & {
    /** Months before one that is begun whose filters are looked at then, and closed; default 1. */
    monthsBefore?: number | undefined
    /** Folds in the legacy sets of a viewer who is listed; false: not now. Absent, and 'kept': there is no legacy store here, and he stays listed for a worker that has one. */
    migrate?: MigrateViewer | undefined
    /** Plays that are about to leave staging. Does not fail. */
    writeBack?: ((plays: readonly Play[]) => Promise<void>) | undefined
  }

/** `failed`: viewers who must be folded again. `held`: as of those listed for migration. */
export type FoldReport = MigrationReport & {
  /** Plays that were folded, in filters that were written: plays : writes is what staging saves. */
  plays: number
  writes: number
  /** Writes that another one came before; they were done again. */
  refused: number
  /** Filters of months that are over, made small. */
  closed: number
  quarantined: number
}

export type Fold = Pick<Renewal, 'repair'> & {
  /** Viewers are distinct. Rejects only if a store does not answer: then nothing of what remains staged is lost. */
  fold(slot: number, viewers: readonly ViewerId[]): Promise<FoldReport>
}

/** What a viewer has staged of a month. */
type Portion = FilterKey & { plays: readonly StagedPlay[] }

/** Bytes of filters, and of hashes that come to them, after which others have their turn: 1 to 5 ms. A page of viewers may have a hundred times that. */
const TURN_BYTES = 65_536
const HASH_BYTES = 8

export function makeFold({ hot, records }: FoldStores, options: FoldOptions): Fold {
  const { monthsBefore = 1, isOver, expiryOf, migrate, writeBack } = options
  const add = makeAdditions(options)
  const { renew, repair } = makeRenewal(records, add, options)
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
    report.closed = await closeEarlier(records, begun, add, turnFor, { monthsBefore, isOver, expiryOf })
    const removed = Array.from(folded, ([viewer, plays]) => ({ viewer, plays }))
    await writeBack?.(removed.flatMap(({ viewer, plays }) => plays.map((play) => ({ viewer, ...play }))))
    const listed = viewers.flatMap((viewer, place) => listedViewers(viewer, staged[place] ?? []))
    // Also of those who had nothing: their places in the ring are of no use. Who failed, or is listed, has something left and keeps his.
    await hot.removeStaged(slot, removed)
    if (migrate !== undefined) await migrateListed(hot, slot, listed, migrate, report)
    return report
  }

  return { fold, repair }
}

function portionsOf(viewer: ViewerId, staged: readonly StagedPlay[]): Portion[] {
  const plays = staged.some(isListing) ? staged.filter((play) => !isListing(play)) : staged
  return Array.from(
    Map.groupBy(plays, ({ playedAt }) => monthOf(playedAt)),
    ([month, some]) => ({ viewer, month, plays: some }),
  )
}
