/**
 * The life of this process's journal: writes go in while the hot store is down; once it answers, what waits is applied,
 * oldest first, and removed. So does what other processes left that died with a full journal.
 *
 * Entries are taken by the hundred and split by viewer; a viewer's stay in order, viewers go side by side. An entry is
 * removed when all of it was applied. What needs the record store, and finds it down, stays and does not hold up the rest:
 * `replay.ts` applies it as a late one. What can never be applied is set aside, and told.
 */
import type { Breaker } from '../../core/breaker.ts'
import type { Clock, Timer } from '../../core/clock.ts'
import { saysDown } from '../../core/degraded.ts'
import type { ViewerId } from '../../core/domain.ts'
import { isTidemarkError } from '../../core/errors.ts'
import type { Journal, JournalEntry, Journaled, Journals } from '../../stores/journal.ts'
import type { Replay } from './replay.ts'

export type JournalingOptions = {
  /** Milliseconds between two looks for what was left, here or by dead processes. Minimum 1. Default 30000. */
  lookEveryMs?: number
  /** Entries taken at once. Minimum 1. Default 200. */
  entriesMax?: number
}

export type JournalFigures = {
  /** Entries written by this process. */
  journaled: number
  /** Entries applied, left ones included. */
  replayed: number
  /** Changes that came too late to count when they were applied. */
  dropped: number
  /** Entries set aside because they can never be applied. */
  parked: number
}

export type Journaling = {
  /** Do this viewer's writes go into the journal? The hot store is down, or an earlier write of his waits there. */
  mustJournal(viewer: ViewerId): boolean
  /** The switch as the newest waiting write sets it; undefined = none waits. */
  pausedBy(viewer: ViewerId): boolean | undefined
  /** Durable when it resolves. */
  append(entry: JournalEntry): Promise<void>
  /** Counts what a replay dropped. */
  countDropped(count: number): void
  /** Applies what an earlier process left, and looks again from time to time. */
  start(): void
  /** Applies what it can, and ends after what is under way. The journal stays open. */
  stop(): Promise<void>
  figures(): JournalFigures
}

type Waiting = { writes: number; paused: boolean | undefined }
/** The part of an entry that concerns one viewer. */
type Part = { number: number; entry: JournalEntry }

export function makeJournaling(
  clock: Clock,
  hotBreaker: Breaker,
  journals: Journals,
  makeReplay: () => Replay,
  options: JournalingOptions,
  onError: (error: unknown) => void,
): Journaling {
  const { lookEveryMs = 30_000, entriesMax = 200 } = options
  const { own } = journals
  const figures: JournalFigures = { journaled: 0, replayed: 0, dropped: 0, parked: 0 }
  const waiting = new Map<ViewerId, Waiting>()
  let timer: Timer | undefined
  let underWay: Promise<void> | undefined
  let again = false
  let stopped = false

  async function append(entry: JournalEntry): Promise<void> {
    // Before it is durable, so that what the viewer sends next cannot overtake it.
    await_(entry)
    try {
      await own.append(entry)
    } catch (error) {
      settle(entry)
      throw error
    }
    figures.journaled++
    if (!hotBreaker.isOpen()) wake()
  }

  function await_(entry: JournalEntry): void {
    for (const viewer of waitingViewers(entry)) {
      const found = waiting.get(viewer) ?? { writes: 0, paused: undefined }
      found.writes++
      if (entry.kind === 'pause') found.paused = entry.paused
      waiting.set(viewer, found)
    }
  }

  function settle(entry: JournalEntry): void {
    for (const viewer of waitingViewers(entry)) {
      const found = waiting.get(viewer)
      if (found !== undefined && --found.writes <= 0) waiting.delete(viewer)
    }
  }

  function wake(): void {
    if (stopped || hotBreaker.isOpen()) return
    if (underWay !== undefined) {
      again = true
      return
    }
    underWay = replayAll()
      .catch(onError)
      .finally(() => {
        underWay = undefined
        if (!again) return
        again = false
        wake()
      })
  }

  async function replayAll(): Promise<void> {
    await replayJournal(own)
    for (let left = await journals.adopt(); left !== undefined; left = await journals.adopt()) {
      try {
        if (!(await replayJournal(left))) return
      } finally {
        await left.close()
      }
    }
  }

  /** False if something stays in it. */
  async function replayJournal(journal: Journal): Promise<boolean> {
    const replay = makeReplay()
    let isEmptied = true
    for (let after = 0; ; ) {
      const entries = await journal.list(after, entriesMax)
      if (entries.length === 0) return isEmptied
      if (stopped || hotBreaker.isOpen()) return false
      after = entries[entries.length - 1]?.number ?? after
      if (!(await replayEntries(journal, replay, entries))) isEmptied = false
    }
  }

  async function replayEntries(journal: Journal, replay: Replay, entries: readonly Journaled[]): Promise<boolean> {
    const failures = new Map<number, unknown>()
    const later = new Set<number>()
    const chains = [...partsByViewer(entries).values()].map(async (parts) => {
      for (const { number, entry } of parts) {
        try {
          if (!(await replay.apply(entry))) later.add(number)
        } catch (error) {
          if (saysDown(error, 'recordStore')) later.add(number)
          else failures.set(number, error)
          // The hot store is gone again: what comes behind in this chain must not overtake.
          if (mayPass(error) && !saysDown(error, 'recordStore')) break
        }
      }
    })
    await Promise.all(chains)
    const passing = [...failures.values()].find(mayPass)
    const stuck = new Set(passing === undefined ? [] : entriesFrom(entries, failures))
    const applied: number[] = []
    for (const each of entries) {
      const { number } = each
      if (stuck.has(number)) continue
      const failure = 'unreadable' in each ? each.unreadable : failures.get(number)
      if (failure !== undefined) await park(journal, number, failure)
      else if (!later.has(number)) applied.push(number)
      if (journal === own && number > own.leftUntil && 'entry' in each) settle(each.entry)
    }
    if (applied.length > 0) await journal.remove(applied)
    figures.replayed += applied.length
    if (passing !== undefined) throw passing
    return later.size === 0
  }

  async function park(journal: Journal, number: number, failure: unknown): Promise<void> {
    figures.parked++
    await journal.park(number, String(failure))
    onError(new Error(`entry ${number} of a journal was set aside, it cannot be applied: ${String(failure)}`, { cause: failure }))
  }

  function look(): void {
    timer = clock.after(lookEveryMs, look)
    wake()
  }

  hotBreaker.onClose(wake)
  return {
    mustJournal: (viewer) => hotBreaker.isOpen() || waiting.has(viewer),
    pausedBy: (viewer) => waiting.get(viewer)?.paused,
    append,
    countDropped(count) {
      figures.dropped += count
    },
    start: look,
    async stop() {
      timer?.cancel()
      wake()
      stopped = true
      await underWay
    },
    figures: () => ({ ...figures }),
  }
}
