/**
 * The viewers with waiting entries in this process's journal. A viewer's new writes go behind waiting ones, and a read says that the hot store
 * may lack something.
 *
 * Entries of an earlier process (numbers up to `leftUntil`) delay no write, but reads must know of them. Until the journal has been read
 * once, any viewer may have one.
 */
import type { ViewerId } from '../core/domain.ts'
import type { JournalEntry, Journaled } from './journal.ts'

export type WaitingViewers = ReturnType<typeof makeWaitingViewers>

/** The result of applying an entry. Undefined: the hot store did not accept it now. */
export type Fate = 'applied' | 'later' | { refused: string } | undefined

export function makeWaitingViewers(leftUntil: number) {
  /** Entries that delay later writes, by viewer. */
  const waiting = new Map<ViewerId, number>()
  /** Numbers of entries that delay no write any more, although they are still in the journal. */
  const released = new Set<number>()
  /** Numbers of entries that stay for the record store, and of entries of an earlier process, by viewer. */
  const staying = new Map<ViewerId, Set<number>>()
  let isLeftKnown = leftUntil === 0

  function add({ viewer, isBackground }: JournalEntry): void {
    if (isBackground !== true) waiting.set(viewer, (waiting.get(viewer) ?? 0) + 1)
  }

  function remove({ viewer, isBackground }: JournalEntry): void {
    if (isBackground === true) return
    const left = (waiting.get(viewer) ?? 0) - 1
    if (left > 0) waiting.set(viewer, left)
    else waiting.delete(viewer)
  }

  function noteStaying(number: number, { viewer, isBackground }: JournalEntry, fate: Fate): void {
    if (isBackground === true) return
    const numbers = staying.get(viewer)
    if (fate === 'later' || (fate === undefined && number <= leftUntil)) {
      if (numbers === undefined) staying.set(viewer, new Set([number]))
      else numbers.add(number)
    } else if (numbers?.delete(number) === true && numbers.size === 0) staying.delete(viewer)
  }

  /** The viewer's next writes need not wait for this entry any longer, whether it was applied or stays. */
  function release(each: Journaled, isGone: boolean): void {
    if (each.number <= leftUntil) return
    if ('entry' in each && !released.has(each.number)) remove(each.entry)
    if (isGone) released.delete(each.number)
    else released.add(each.number)
  }

  return {
    add,
    remove,
    /** Notes the result of applying an entry of this process's journal. */
    note(each: Journaled, fate: Fate): void {
      // First, so that the viewer never seems to have no entries in between.
      if ('entry' in each) noteStaying(each.number, each.entry, fate)
      if (fate !== undefined) release(each, fate === 'applied')
    },
    /** The journal was read at least up to this number. */
    readUntil(number: number): void {
      if (number >= leftUntil) isLeftKnown = true
    },
    isWaiting: (viewer: ViewerId): boolean => waiting.has(viewer),
    mayLack: (viewer: ViewerId): boolean => !isLeftKnown || waiting.has(viewer) || staying.has(viewer),
  }
}
