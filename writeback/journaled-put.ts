/**
 * Puts while a journal stands behind the hot store. The writes of a viewer go into the journal while an earlier entry of the viewer waits
 * there, and while the viewer's part of the hot store is out. The writes of other viewers in the same call go to the hot store.
 */
import type { ViewerId } from '../core/domain.ts'
import type { Degraded } from '../core/outage/degraded.ts'
import { apartIfPartIsOut, concernsSomeOnly, inTwo } from '../core/outage/part-outage.ts'
import type { Journaling } from './journaling.ts'

/** Outcomes are in the order of the writes. */
type Put<W, O> = (writes: readonly W[], now: number, degraded: Degraded) => Promise<O[]>

export type JournaledPutSteps<W, O> = {
  /** Puts the writes into the hot store. Putting them again must be harmless. */
  put: Put<W, O>
  journal: Put<W, O>
  /** True if this failure of `put` is a reason to journal the writes. */
  isOut(error: unknown): boolean
  /** The outcome of a write that was put a second time. */
  asRepeated(outcome: O): O
}

export function makeJournaledPut<W extends { viewer: ViewerId }, O>(
  journaling: Pick<Journaling, 'mustJournal'>,
  { put, journal, isOut, asRepeated }: JournaledPutSteps<W, O>,
): Put<W, O> {
  async function putOrJournal(...[writes, now, degraded]: Parameters<Put<W, O>>): Promise<O[]> {
    try {
      return await put(writes, now, degraded)
    } catch (error) {
      if (!isOut(error) || concernsSomeOnly(error, writes)) throw error
      // Some regions may have accepted theirs. Putting those again changes nothing.
      return journal(writes, now, degraded)
    }
  }

  function putApart(...[writes, now, degraded]: Parameters<Put<W, O>>): Promise<O[]> {
    return apartIfPartIsOut(writes, (some) => putOrJournal(some, now, degraded), asRepeated)
  }

  return async (writes, now, degraded) => {
    const mustWait = new Set(writes.filter(({ viewer }) => journaling.mustJournal(viewer)))
    if (mustWait.size === 0) return putApart(writes, now, degraded)
    if (mustWait.size === writes.length) return journal(writes, now, degraded)
    return inTwo(
      writes,
      (write) => mustWait.has(write),
      (waiting) => journal(waiting, now, degraded),
      (going) => putApart(going, now, degraded),
    )
  }
}
