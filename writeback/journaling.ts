/**
 * The life of this process's journal. Writes go in while the hot store is down, or full if its caller says so. Once the hot store answers,
 * the waiting entries are applied (journal-run.ts) and removed, and so are the entries of dead processes.
 *
 * The hot store answers a moment before it has the waiting entries. A reader therefore asks `mayLack` first: 1. It asks, and no entry of the
 * viewer waits. 2. Then the hot store has everything that was acknowledged here before. 3. It reads the hot store. In the other order an
 * entry could be applied between the two, and the reader would miss it.
 */
import type { Clock, Timer } from '../core/clock.ts'
import type { ViewerId } from '../core/domain.ts'
import type { Breaker } from '../core/outage/breaker.ts'
import type { PartBreaker } from '../core/outage/part-breaker.ts'
import { makeWorker } from '../core/worker.ts'
import { makeAppends } from './journal-appends.ts'
import { runOverJournal, type Held, type Replay, type RunHooks } from './journal-run.ts'
import type { Journal, JournalEntry, Journals } from './journal.ts'
import { makeWaitingViewers, type WaitingViewers } from './waiting-viewers.ts'

export type JournalingOptions = {
  /** Milliseconds between two checks for entries that were left, here or by dead processes. Minimum 1. Default 10000. */
  lookEveryMs?: number
  /** Entries per read. Minimum 1. Default 1000. */
  entriesMax?: number
  /** Milliseconds before the first retry of an entry that the hot store did not accept, doubled each time. Minimum 1. Default 500. */
  retryMinMs?: number
  /** The longest such delay. Default 60000. */
  retryMaxMs?: number
}

export type JournalFigures = {
  /** Entries written by this process. */
  journaled: number
  /** Entries applied, those of other processes included. */
  replayed: number
  /** Changes that were too late to count when they were applied. */
  dropped: number
  /** Entries parked because they cannot be applied. */
  parked: number
}

export const NO_JOURNAL: JournalFigures = { journaled: 0, replayed: 0, dropped: 0, parked: 0 }

export type Journaling = {
  /** True if this viewer's writes go into the journal: the hot store is down, or an earlier write of the viewer waits. */
  mustJournal(viewer: ViewerId): boolean
  /** True if an entry of this viewer waits here that later writes must not overtake. */
  isWaiting(viewer: ViewerId): boolean
  /** True if this process's journal has a write of this viewer that the hot store lacks. To be called before a read. */
  mayLack(viewer: ViewerId): boolean
  /** Durable when it resolves, all entries or none. */
  append(entries: readonly JournalEntry[]): Promise<void>
  /** Applies the entries of an earlier process, and looks again from time to time. */
  start(): void
  /** Applies the waiting entries as far as possible, and ends. The journal stays open. Idempotent. */
  stop(): Promise<void>
  figures(): JournalFigures
}

export type JournalingBreakers = { hotStore: Pick<PartBreaker, 'isOpenFor' | 'isOpenForAll' | 'onClose'>; recordStore: Breaker }

/** `makeReplay` is called for each run, with the function that counts dropped changes. */
export function makeJournaling(
  clock: Clock,
  { hotStore, recordStore }: JournalingBreakers,
  journals: Journals,
  makeReplay: (dropped: (count: number) => void) => Replay,
  options: JournalingOptions,
  onError: (error: unknown) => void,
): Journaling {
  const { lookEveryMs = 10_000, entriesMax = 1_000, retryMinMs = 500, retryMaxMs = 60_000 } = options
  const { own } = journals
  const figures: JournalFigures = { ...NO_JOURNAL }
  const viewers = makeWaitingViewers(own.leftUntil)
  const held = new Map<ViewerId, Held>()
  const appends = makeAppends(clock, own, viewers, appended)
  let mode: 'open' | 'ending' | 'ended' = 'open'
  let lookTimer: Timer | undefined
  const worker = makeWorker(clock, runOverAll, retryMs, onError)
  /** Journals of dead processes are searched for at intervals, not whenever an entry of this process waits. */
  let adopts = false
  let stopping: Promise<void> | undefined

  function appended(entries: readonly JournalEntry[]): void {
    figures.journaled += entries.length
    // The record store's breaker wakes background entries, and the hot store's breaker wakes unreachable viewers. Held viewers have their
    // own time.
    const mayGo = ({ viewer, isBackground }: JournalEntry): boolean =>
      isBackground !== true && !held.has(viewer) && !hotStore.isOpenFor(viewer)
    if (entries.some(mayGo)) wake()
  }

  function wake(): void {
    // After `stop`, a journal that a run opened would stay open.
    if (mode !== 'ended' && !hotStore.isOpenForAll()) void worker.wake()
  }

  /** With the breaker open nothing is planned: it reports when the hot store is back. */
  function retryMs(): number | undefined {
    if (mode !== 'open' || held.size === 0 || hotStore.isOpenForAll()) return undefined
    return Math.max(1, Math.min(...Array.from(held.values(), ({ until }) => until)) - clock.now())
  }

  const hooks: RunHooks = {
    mayGoOn: (journal) => !hotStore.isOpenForAll() && (mode !== 'ending' || journal === own),
    ...noteResults(own, viewers, figures),
    onError,
  }

  function runOver(journal: Journal, heldViewers: Map<ViewerId, Held>): Promise<boolean> {
    const replay = makeReplay((dropped) => (figures.dropped += dropped))
    return runOverJournal(clock, journal, replay, heldViewers, hotStore, { entriesMax, retryMinMs, retryMaxMs }, hooks)
  }

  async function runOverAll(): Promise<void> {
    await runOver(own, held)
    if (!adopts) return
    adopts = false
    await runOverAdopted(
      journals,
      (journal) => runOver(journal, new Map()),
      () => mode === 'open' && !hotStore.isOpenForAll(),
    )
  }

  function look(): void {
    lookTimer = clock.after(lookEveryMs, look)
    adopts = true
    wake()
  }

  function onBack(): void {
    held.clear()
    adopts = true
    wake()
  }

  async function stop(): Promise<void> {
    mode = 'ending'
    lookTimer?.cancel()
    held.clear()
    wake()
    while (worker.isBusy() || appends.areUnderWay()) await Promise.all([worker.rest(), appends.settled()])
    mode = 'ended'
    await worker.stop()
  }

  hotStore.onClose(onBack)
  recordStore.onClose(onBack)
  return {
    mustJournal: (viewer) => hotStore.isOpenFor(viewer) || viewers.isWaiting(viewer),
    isWaiting: viewers.isWaiting,
    mayLack: viewers.mayLack,
    append: appends.append,
    start: look,
    stop: () => (stopping ??= stop()),
    figures: () => ({ ...figures }),
  }
}

/** Applies the journals of dead processes. */
async function runOverAdopted(journals: Journals, run: (journal: Journal) => Promise<boolean>, mayGoOn: () => boolean): Promise<void> {
  const kept: Journal[] = []
  try {
    while (mayGoOn()) {
      const left = await journals.adopt()
      if (left === undefined) return
      kept.push(left)
      // A journal that is not emptied is kept open until the end, so that the next one is found behind it.
      if (await run(left)) await kept.pop()?.close()
    }
  } finally {
    for (const journal of kept) await journal.close()
  }
}

function noteResults(own: Journal, viewers: WaitingViewers, figures: JournalFigures): Pick<RunHooks, 'applied' | 'readAll'> {
  return {
    applied(journal, each, fate) {
      if (fate === 'applied') figures.replayed++
      if (typeof fate === 'object') figures.parked++
      if (journal !== own) return
      viewers.note(each, fate)
      viewers.readUntil(each.number)
    },
    readAll(journal) {
      if (journal === own) viewers.readUntil(Infinity)
    },
  }
}
