/**
 * The writes of marks: directly into the hot store, or into the journal while the hot store is down or full. With `journaled`, the hot
 * store does not have the mark yet, and its key must not be flushed.
 *
 * As in history, the writes of one viewer stay in order. While one of them waits in this process's journal, the viewer's next writes go to
 * the journal too. Other viewers' writes go directly to the hot store.
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
  /** In the order of `writes`. Rejects with HOT_STORE_UNAVAILABLE or STORE_FULL only if the journal fails too, or if there is none. */
  put(writes: readonly MarkWrite[], now: number, degraded: Degraded): Promise<MarkWriteOutcome[]>
  /**
   * True if a journal may hold a mark of this viewer that the hot store lacks. Ask before a read. While the hot store answers but accepts
   * no writes, the journal of any process may hold one.
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

/** The stores for journaled marks of a business. */
export type ReplayTarget = MarkWriteStores & {
  /** Called when the hot store has the change of this key: the key may be flushed. */
  aggregate(key: MarkKey): void
  isDeleted(business: BusinessNumber): boolean
}

/**
 * The replay of journaled marks. A mark is a last-write-wins register with its own time, so an entry may be applied late or twice: a newer
 * mark stays. With the record store down the mark is put blindly, so that it is visible at once.
 *
 * Since an entry was journaled, its business may have got its own stores, or lost them. The marks go to the stores that serve the business
 * now, which `targetOf` returns. `own` is the target of this journal's own stores. If other stores are down, the entry stays in the
 * journal, and the viewer's next entries are applied.
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
      // The entry stays in the journal and is tried again.
      for (const outcome of outcomes) if (outcome.status === 'unreadable') throw outcome.error
      // A stale mark may be this very mark, applied earlier by a process that died before the flush. A second flush is harmless.
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

/** Errors of a mark's content: the same mark fails every time. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['BUSINESS_UNKNOWN', 'ID_INVALID', 'IDS_TOO_MANY', 'INPUTS_TOO_MANY'])
