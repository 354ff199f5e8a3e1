/**
 * The writes of marks: directly into the hot store, or into the journal while the hot store is down or full. With `journaled`, the hot
 * store does not have the mark yet, and its key must not be flushed.
 *
 * As in history, the writes of one viewer stay in order. While one of them waits in this process's journal, the viewer's next writes go to
 * the journal too. Other viewers' writes go directly to the hot store.
 */
import { saysDown, saysFull, type MayLack } from '../../../core/outage/degraded.ts'
import type { BusinessNumber, Mark, MarkKey } from '../../../core/domain.ts'
import type { ErrorCode } from '../../../core/errors.ts'
import type { Replay } from '../../../writeback/journal-run.ts'
import type { Journaling } from '../../../writeback/journaling.ts'
import { markEntries, readMarkEntry } from './journaled-marks.ts'
import { putMarks, type DecidedMark, type PutMarksStores } from './putting.ts'
import { makePut, type OvertakenRules, type Put, type PutJournal } from '../../../writeback/put.ts'
import type { CheckedMark } from '../inputs.ts'
import type { MarkWrite } from '../stores/hot-store.ts'

export type MarkWriteOutcome = DecidedMark | { status: 'journaled'; mark: Mark }

export type MarkWrites = {
  /** In the order of `marks`. Rejects with HOT_STORE_UNAVAILABLE or STORE_FULL only if the journal fails too, or if there is none. */
  put: Put<CheckedMark, MarkWriteOutcome>
  /**
   * True if a journal may hold a mark of this viewer that the hot store lacks. Ask before a read. While the hot store answers but accepts
   * no writes, the journal of any process may hold one.
   */
  mayLack: MayLack
}

/** A mark equal to the stored mark is not put again. */
const OVERTAKEN_MARKS: OvertakenRules<CheckedMark, MarkWriteOutcome> = {
  timeOf: ({ markedAt }) => markedAt,
  isOvertaken: ({ mark }, outcome) => outcome.status === 'stale' && outcome.repeated !== true && outcome.record.mark !== mark,
  raise: (write, outcome) =>
    outcome.status === 'stale' ? Object.assign({}, write, { markedAt: Math.max(write.markedAt, outcome.record.markedAt + 1) }) : write,
}

export function makeMarkWrites(
  stores: PutMarksStores,
  journaling: Pick<Journaling, 'mustJournal' | 'mayLack' | 'append'> | undefined,
): MarkWrites {
  return {
    mayLack: (viewer) => journaling !== undefined && (journaling.mustJournal(viewer) || journaling.mayLack(viewer)),
    put: makePut(OVERTAKEN_MARKS, (...call) => putMarks(stores, ...call), journaling && journalOf(journaling)),
  }
}

function journalOf(journaling: Pick<Journaling, 'mustJournal' | 'append'>): PutJournal<MarkWrite, MarkWriteOutcome> {
  return {
    mustJournal: (viewer) => journaling.mustJournal(viewer),
    isOut: (error) => saysDown(error, 'hotStore') || saysFull(error),
    async append(writes, now, degraded) {
      degraded.add('hotStore')
      await journaling.append(markEntries(writes, now))
      return writes.map(({ mark }) => ({ status: 'journaled', mark }))
    },
  }
}

/** The stores for journaled marks of a business. */
export type ReplayTarget = PutMarksStores & {
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
    const { aggregate, isDeleted } = target
    const writes = all.filter(({ business }) => !isDeleted(business))
    if (writes.length > 0) {
      const outcomes = await putMarks(target, writes, now, new Set())
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
