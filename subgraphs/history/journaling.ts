/**
 * The life of this process's journal: writes go in while the hot store is down; once it answers, what waits is applied,
 * oldest first, and removed. So does what other processes left that died with a full journal.
 *
 * Entries are taken by the hundred and split by viewer (`replay-parts.ts`); a viewer's stay in order, viewers go side by
 * side. An entry is removed when all of it was applied. What needs the record store, and finds it down, stays and does not
 * hold up the rest: `replay.ts` applies it as a late one. What fails again and again for a reason of its own is set aside,
 * and told.
 */
import type { Breaker } from '../../core/breaker.ts'
import type { Clock, Timer } from '../../core/clock.ts'
import { saysDown } from '../../core/degraded.ts'
import type { ViewerId } from '../../core/domain.ts'
import { isTidemarkError } from '../../core/errors.ts'
import type { PartBreaker } from '../../core/part-breaker.ts'
import type { Journal, JournalEntry, Journaled, Journals } from '../../stores/journal.ts'
import { partsByViewer, writersOf } from './replay-parts.ts'
import type { Replay } from './replay.ts'

export type JournalingOptions = {
  /** Milliseconds between two looks for what was left, here or by dead processes. Minimum 1. Default 30000. */
  lookEveryMs?: number
  /** Entries taken at once. Minimum 1. Default 1000. */
  entriesMax?: number
}

export type JournalFigures = {
  /** Entries written by this process. */
  journaled: number
  /** Entries applied, left ones included. */
  replayed: number
  /** Changes that came too late to count when they were applied. */
  dropped: number
  /** Entries set aside because they cannot be applied. */
  parked: number
}

export type Journaling = {
  /** Do this viewer's writes go into the journal? The hot store is down, or an earlier write of his waits there. */
  mustJournal(viewer: ViewerId): boolean
  /** The switch as the newest waiting write sets it; undefined = none waits. */
  pausedBy(viewer: ViewerId): boolean | undefined
  /** Durable when it resolves. */
  append(entry: JournalEntry): Promise<void>
  /** Applies what an earlier process left, and looks again from time to time. */
  start(): void
  /** Applies what it can, and ends. The journal stays open. */
  stop(): Promise<void>
  figures(): JournalFigures
}

type Waiting = { writes: number; paused: boolean | undefined }
/** How an entry fared: `parts` are still to be applied. */
type Progress = { parts: number; later: boolean; failure: unknown }

/** Rounds in which an entry may fail for a reason of its own. */
const TRIES_MAX = 3

/** `makeReplay` gets where to count what is dropped. */
export function makeJournaling(
  clock: Clock,
  breakers: { hotStore: PartBreaker; recordStore: Breaker },
  journals: Journals,
  makeReplay: (dropped: (count: number) => void) => Replay,
  options: JournalingOptions,
  onError: (error: unknown) => void,
): Journaling {
  const { lookEveryMs = 30_000, entriesMax = 1_000 } = options
  const { own } = journals
  const figures: JournalFigures = { journaled: 0, replayed: 0, dropped: 0, parked: 0 }
  const waiting = new Map<ViewerId, Waiting>()
  /** Entries of this process that nobody waits for any more, though they are still there. */
  const uncounted = new Set<number>()
  const tries = new Map<number, number>()
  let mode: 'open' | 'ending' = 'open'
  let timer: Timer | undefined
  let underWay: Promise<void> | undefined
  let again = false

  async function append(entry: JournalEntry): Promise<void> {
    // Counted before it is durable, so that what the viewer sends next cannot overtake it.
    count(entry)
    try {
      await own.append(entry)
    } catch (error) {
      uncount(entry)
      throw error
    }
    figures.journaled++
    // Bases wait for the record store, and it says itself when it is back. So does the hot store for these viewers.
    if ([...writersOf(entry)].some((viewer) => !breakers.hotStore.isOpenFor(viewer))) wake()
  }

  function count(entry: JournalEntry): void {
    for (const viewer of writersOf(entry)) {
      const found = waiting.get(viewer) ?? { writes: 0, paused: undefined }
      found.writes++
      if (entry.kind === 'pause') found.paused = entry.paused
      waiting.set(viewer, found)
    }
  }

  function uncount(entry: JournalEntry): void {
    for (const viewer of writersOf(entry)) {
      const found = waiting.get(viewer)
      if (found !== undefined && --found.writes <= 0) waiting.delete(viewer)
    }
  }

  function wake(): void {
    if (breakers.hotStore.isOpenForAll()) return
    if (underWay !== undefined) {
      again = true
      return
    }
    underWay = replayAll()
      .catch(onError)
      .then(() => {
        underWay = undefined
        const isWanted = again
        again = false
        if (isWanted) wake()
      })
  }

  async function replayAll(): Promise<void> {
    await replayJournal(own)
    while (mode === 'open') {
      const left = await journals.adopt()
      if (left === undefined) return
      try {
        if (!(await replayJournal(left))) return
      } finally {
        await left.close()
      }
    }
  }

  /** False if something stays in it. Rejects if the hot store fails for all. */
  async function replayJournal(journal: Journal): Promise<boolean> {
    const replay = makeReplay((dropped) => {
      figures.dropped += dropped
    })
    let isEmptied = true
    const halted = new Set<ViewerId>()
    for (let after = 0; ;) {
      const entries = await journal.list(after, entriesMax)
      const last = entries[entries.length - 1]
      if (last === undefined) return isEmptied
      if (mode === 'ending' && journal !== own) return false
      after = last.number
      if (!(await replayEntries(journal, replay, entries, halted))) isEmptied = false
    }
  }

  /** `halted`: whose part of the hot store is out. What is theirs stays, all of it, so that it stays in order. */
  async function replayEntries(journal: Journal, replay: Replay, entries: readonly Journaled[], halted: Set<ViewerId>): Promise<boolean> {
    const fates = new Map<number, Progress>()
    let outage: unknown
    const chains = [...partsByViewer(entries)]
    for (const { number } of chains.flatMap(([, parts]) => parts)) {
      const fate = fates.get(number) ?? { parts: 0, later: false, failure: undefined }
      fate.parts++
      fates.set(number, fate)
    }
    await Promise.all(
      chains.map(async ([viewer, parts]) => {
        if (halted.has(viewer)) return
        for (const { number, entry } of parts) {
          const fate = fates.get(number) as Progress
          try {
            if (!(await replay.apply(entry))) fate.later = true
          } catch (error) {
            if (saysDown(error, 'recordStore')) fate.later = true
            else if (isOutage(error)) {
              // What comes behind in this chain must not overtake.
              if (saysDown(error, 'hotStore') && !breakers.hotStore.isOpenForAll()) halted.add(viewer)
              else outage = error
              return
            } else fate.failure = error
          }
          fate.parts--
        }
      }),
    )
    const applied: number[] = []
    let isEmptied = true
    for (const each of entries) {
      const fate = fates.get(each.number)
      const failure = 'unreadable' in each ? each.unreadable : fate?.failure
      if (fate !== undefined && (fate.parts > 0 || fate.later)) isEmptied = false
      else if (failure === undefined) applied.push(each.number)
      else if (!(await parkAfterTries(journal, each, failure))) isEmptied = false
    }
    if (applied.length > 0) await journal.remove(applied)
    figures.replayed += applied.length
    if (journal === own) {
      for (const each of entries) if ((fates.get(each.number)?.parts ?? 0) === 0) letGo(each, applied.includes(each.number))
    }
    if (outage !== undefined) throw outage
    return isEmptied
  }

  /** Its viewers need not wait for it any longer, whether it was applied or stays. */
  function letGo(each: Journaled, isGone: boolean): void {
    if (each.number <= own.leftUntil) return
    if ('entry' in each && !uncounted.has(each.number)) uncount(each.entry)
    if (isGone) uncounted.delete(each.number)
    else uncounted.add(each.number)
  }

  async function parkAfterTries(journal: Journal, each: Journaled, failure: unknown): Promise<boolean> {
    const tried = (tries.get(each.number) ?? 0) + 1
    tries.set(each.number, tried)
    if (tried < TRIES_MAX && 'entry' in each) {
      onError(failure)
      return false
    }
    tries.delete(each.number)
    figures.parked++
    await journal.park(each.number, String(failure))
    onError(new Error(`entry ${each.number} of a journal cannot be applied and was set aside: ${String(failure)}`, { cause: failure }))
    return true
  }

  function look(): void {
    timer = clock.after(lookEveryMs, look)
    wake()
  }

  breakers.hotStore.onClose(wake)
  breakers.recordStore.onClose(wake)
  return {
    mustJournal: (viewer) => breakers.hotStore.isOpenFor(viewer) || waiting.has(viewer),
    pausedBy: (viewer) => waiting.get(viewer)?.paused,
    append,
    start: look,
    async stop() {
      mode = 'ending'
      timer?.cancel()
      wake()
      while (underWay !== undefined) await underWay
    },
    figures: () => ({ ...figures }),
  }
}

/** The hot store's own trouble, which passes: the entry is as good as it was. */
function isOutage(error: unknown): boolean {
  return saysDown(error, 'hotStore') || (isTidemarkError(error) && error.code === 'STORE_FULL')
}
