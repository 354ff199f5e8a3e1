/**
 * The fold: moves the plays staged in a slot into the viewers' filters of the months. Each step is idempotent, so that a crash or a second
 * worker loses nothing:
 *
 * 1. Read the staged plays.
 * 2. Read the filters, add the plays, and write each filter if its version is unchanged. Refused writes are repeated from the read.
 * 3. Remove exactly the folded plays from staging. Plays staged meanwhile, or staged again with a later time, stay.
 *
 * A damaged filter is quarantined. Its replacement is rebuilt from the staged plays and everything else that is known of the month
 * (`rebuild`). A filter in a newer format is left alone, and the plays wait for a worker that can read it. If a viewer's fold fails, all
 * plays of that viewer stay staged, and other viewers are unaffected.
 *
 * A filter is closed when its month is over: it becomes as small as its records allow (`filter.ts`). The first fold into a later month does
 * that, also after a long absence of the viewer. It costs one write per viewer and month. A late play then costs more bits, and has no
 * other effect.
 *
 * If a viewer is listed for migration (`progress.ts`), the legacy sets are folded in after the plays, and the listing leaves last. While
 * plays are written back to the legacy store, they are offered to it once more before they leave staging, since it may have missed them.
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
    /** Months before a newly begun one whose filters are closed; default 1. */
    monthsBefore?: number | undefined
    /**
     * Folds in the legacy sets of a listed viewer; false: not now. If absent, or if it returns 'kept', there is no legacy store here, and
     * the viewer stays listed for a worker that has one.
     */
    migrate?: MigrateViewer | undefined
    /** Called with plays that are about to leave staging. Never rejects. */
    writeBack?: ((plays: readonly Play[]) => Promise<void>) | undefined
  }

/** `failed`: viewers whose fold must be repeated. `held`: as in MigrationReport. */
export type FoldReport = MigrationReport & {
  /** Folded plays and written filters. Their ratio is the benefit of staging. */
  plays: number
  writes: number
  /** Writes refused because of a concurrent one, and repeated. */
  refused: number
  /** Filters closed because their months are over. */
  closed: number
  quarantined: number
}

export type Fold = Pick<Renewal, 'repair'> & {
  /** Viewers are distinct. Rejects only if a store does not answer; everything still staged is then kept. */
  fold(slot: number, viewers: readonly ViewerId[]): Promise<FoldReport>
}

/** The staged plays of a viewer and month. */
type Portion = FilterKey & { plays: readonly StagedPlay[] }

/**
 * Bytes of filters and added hashes between two yields to the event loop, 1 to 5 ms. A page of viewers may have a hundred times as many.
 */
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
    // Includes viewers without plays, to remove them from the ring. A failed or listed viewer still has staged plays and stays in the ring.
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
