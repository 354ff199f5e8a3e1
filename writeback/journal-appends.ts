/** Appends to this process's journal. A viewer counts as waiting from the call on, so that the viewer's next write cannot overtake the entry. */
import type { Clock } from '../core/clock.ts'
import type { Journal, JournalEntry } from './journal.ts'
import type { WaitingViewers } from './waiting-viewers.ts'

/** `appended` is called once the entries are durable. */
export function makeAppends(clock: Clock, own: Journal, viewers: WaitingViewers, appended: (entries: readonly JournalEntry[]) => void) {
  /** Their callers may be gone, but each append must be on disk before the journal closes. */
  const underWay = new Set<Promise<void>>()

  async function appendNow(given: readonly JournalEntry[]): Promise<void> {
    // A background entry counts from now: the put that it belongs to begins when this resolves.
    const entries = given.map((entry) => (entry.isBackground === true ? { ...entry, now: clock.now() } : entry))
    entries.forEach(viewers.add)
    try {
      await own.append(entries)
    } catch (error) {
      entries.forEach(viewers.remove)
      throw error
    }
    appended(entries)
  }

  return {
    /** Durable when it resolves, all entries or none. */
    append(entries: readonly JournalEntry[]): Promise<void> {
      const append = appendNow(entries).finally(() => underWay.delete(append))
      underWay.add(append)
      return append
    },
    areUnderWay: () => underWay.size > 0,
    /** Resolves when the appends under way have ended, in success or failure. */
    async settled(): Promise<void> {
      await Promise.allSettled(underWay)
    },
  }
}
