/**
 * How marks are set, as the service does it: straight into the hot store, or, while it is down or full, into the journal.
 * `journaled` says that the hot store does not know of it yet; its key must not be flushed.
 *
 * The rule for new writes while others wait is that of history: a viewer's writes stay in order. As long as one of his
 * waits in this process's journal, his next go behind it; other viewers' go straight.
 */
import { asRepeated } from '../../../core/clock-differences.ts'
import { saysDown, saysFull, type Degraded, type MayLack } from '../../../core/outage/degraded.ts'
import type { BusinessNumber, Mark, MarkKey } from '../../../core/domain.ts'
import type { ErrorCode } from '../../../core/errors.ts'
import type { Replay } from '../../../writeback/journal-run.ts'
import type { Journaling } from '../../../writeback/journaling.ts'
import { markEntries, readMarkEntry } from './journaled-marks.ts'
import type { Fills } from '../../../loaders/mark-fills.ts'
import { putMarks, type DecidedMark } from './putting.ts'
import { makeJournaledPut } from '../../../writeback/journaled-put.ts'
import { apartIfPartIsOut } from '../../../core/outage/part-outage.ts'
import type { MarkRecords } from '../stores/record-store.ts'
import type { MarkStore, MarkWrite } from '../stores/hot-store.ts'

export type MarkWriteOutcome = DecidedMark | { status: 'journaled'; mark: Mark }

export type MarkWrites = {
  /** In the order of `writes`. Rejects with HOT_STORE_UNAVAILABLE or STORE_FULL only if the journal fails too, or there is none. */
  put(writes: readonly MarkWrite[], now: number, degraded: Degraded): Promise<MarkWriteOutcome[]>
  /**
   * May one of this viewer's wait in a journal that the hot store does not have? To be asked before a read. While it takes no
   * writes, though it answers, that may be the journal of any process.
   */
  mayLack: MayLack
}

export type MarkWriteStores = {
  hot: Pick<MarkStore, 'putMarks'>
  records: Pick<MarkRecords, 'getMarkMany'>
  fills: Fills
  capOf(business: BusinessNumber): number
}

export function makeMarkWrites(
  stores: MarkWriteStores,
  journaling: Pick<Journaling, 'mustJournal' | 'mayLack' | 'append'> | undefined,
): MarkWrites {
  const { hot, records, fills, capOf } = stores

  const putDirectly = (writes: readonly MarkWrite[], now: number, degraded: Degraded): Promise<MarkWriteOutcome[]> =>
    putMarks(hot, records, fills, writes, { now, capOf }, degraded)
  if (journaling === undefined) {
    return {
      mayLack: () => false,
      put: (writes, now, degraded) => apartIfPartIsOut(writes, (some) => putDirectly(some, now, degraded), asRepeated),
    }
  }

  return {
    mayLack: (viewer) => journaling.mustJournal(viewer) || journaling.mayLack(viewer),
    put: makeJournaledPut<MarkWrite, MarkWriteOutcome>(journaling, {
      put: putDirectly,
      async journal(writes, now, degraded) {
        degraded.add('hotStore')
        await journaling.append(markEntries(writes, now))
        return writes.map(({ mark }) => ({ status: 'journaled', mark }))
      },
      isOut: (error) => saysDown(error, 'hotStore') || saysFull(error),
      asRepeated,
    }),
  }
}

/** Where journaled marks of a business go. */
export type ReplayTarget = MarkWriteStores & {
  /** The hot store has this key's change: it may be flushed. */
  aggregate(key: MarkKey): void
  isDeleted(business: BusinessNumber): boolean
}

/**
 * Applying what a journal holds. A mark is one last-write-wins register with the time it was given, so an entry may be
 * applied twice and late: what is newer stays. With the record store down it is put blindly, to be seen at once.
 *
 * A business may have got stores of its own, or lost them, since the entry was made. Its marks go where it is served from
 * now: `targetOf` says where, `own` being the stores that this journal stands in for. Those of others are no reason to hold
 * up a viewer, so with theirs down the entry stays and his next are applied.
 */
export function makeMarkReplay(
  own: ReplayTarget,
  targetOf: (business: BusinessNumber) => ReplayTarget | undefined,
  dropped: (count: number) => void,
  moved: (business: BusinessNumber) => void,
): Replay {
  async function put(target: ReplayTarget, all: readonly MarkWrite[], now: number): Promise<void> {
    const { hot, records, fills, capOf, aggregate, isDeleted } = target
    const writes = all.filter(({ business }) => !isDeleted(business))
    if (writes.length > 0) {
      const outcomes = await putMarks(hot, records, fills, writes, { now, capOf }, new Set())
      // The entry stays, and is tried again.
      for (const outcome of outcomes) if (outcome.status === 'unreadable') throw outcome.error
      // A stale one may be this one, applied before, whose flush was lost with its process: flushed twice is no harm.
      writes.forEach(aggregate)
      dropped(outcomes.filter((outcome, index) => outcome.status === 'stale' && outcome.record.mark !== writes[index]?.mark).length)
    }
    dropped(all.length - writes.length)
  }

  async function putElsewhere(target: ReplayTarget | undefined, writes: readonly MarkWrite[], now: number): Promise<boolean> {
    for (const { business } of writes) moved(business)
    if (target === undefined) return false
    try {
      await put(target, writes, now)
      return true
    } catch (error) {
      if (saysDown(error, 'hotStore') || saysDown(error, 'recordStore') || saysFull(error)) return false
      throw error
    }
  }

  return {
    refusals: REFUSALS,
    async apply(entry) {
      const known = readMarkEntry(entry)
      if (typeof known === 'string') return { refused: known }
      const byTarget = Map.groupBy(known.change.writes, ({ business }) => targetOf(business))
      const ours = byTarget.get(own) ?? []
      if (ours.length > 0) await put(own, ours, entry.now)
      byTarget.delete(own)
      let isWhole = true
      for (const [target, writes] of byTarget) if (!(await putElsewhere(target, writes, entry.now))) isWhole = false
      return isWhole ? 'applied' : 'later'
    },
  }
}

/** Errors of a mark's content. The same mark fails for ever. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['BUSINESS_UNKNOWN', 'ID_INVALID', 'IDS_TOO_MANY', 'INPUTS_TOO_MANY'])
