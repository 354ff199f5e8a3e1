/**
 * The life of this process's journal: writes go in while the hot store is down (or full, as its caller has it); once it answers, what waits is applied,
 * oldest first, and removed. So does what other processes left that died with a full journal.
 *
 * An entry is one viewer's. A viewer's entries are applied in order, viewers go side by side. What the hot store does not
 * take, for whatever reason, holds up the later entries of its viewer and nobody else's, and is tried again after a delay
 * that grows: an entry was acknowledged, so a store that is misconfigured, full or mended next week is no reason to give
 * it up. Only what nobody can read, and what is refused because of what it says, would fail for ever: that is set aside,
 * and told, and an operator may put it back (`tidemark journal`).
 *
 * What needs the record store, and finds it down, stays and holds up nothing: what replays applies it as a late one.
 *
 * The hot store answers a moment before it has what waits. So whoever reads asks first whether it may lack something of the
 * viewer's (`mayLack`), and says that he is without it: 1. He asks, and nothing waits. 2. Then all that was acknowledged here
 * before is in the hot store. 3. He reads it there. The other way round something could be applied in between, and missed.
 */
import type { Breaker } from '../core/outage/breaker.ts'
import type { Clock, Timer } from '../core/clock.ts'
import { saysDown } from '../core/outage/degraded.ts'
import type { ViewerId } from '../core/domain.ts'
import { isTidemarkError, type ErrorCode } from '../core/errors.ts'
import type { PartBreaker } from '../core/outage/part-breaker.ts'
import { splitByViewer, viewerOf } from './journal-entry.ts'
import type { Journal, JournalEntry, Journaled, Journals } from './journal.ts'

/** How entries are applied. One per run over a journal. */
export type Replay = {
  /**
   * Applies an entry. False: it must wait for the record store, or for a put that belongs to it. Rejects with
   * the code of the hot store if that fails; then nothing is lost by applying it again.
   */
  apply(entry: JournalEntry): Promise<boolean>
}

export type JournalingOptions = {
  /** Milliseconds between two looks for what was left, here or by dead processes. Minimum 1. Default 10000. */
  lookEveryMs?: number
  /** Entries taken at once. Minimum 1. Default 1000. */
  entriesMax?: number
  /** Milliseconds before an entry that the hot store did not take is tried again; twice as many each time. Minimum 1. Default 500. */
  retryMinMs?: number
  /** The most that delay grows to. Default 60000. */
  retryMaxMs?: number
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
  /** Is something of this viewer's in this process's journal that the hot store does not have, to be asked before that is read? */
  mayLack(viewer: ViewerId): boolean
  /** The switch as the newest waiting write sets it; undefined = none waits. */
  pausedBy(viewer: ViewerId): boolean | undefined
  /** Durable when it resolves, whole or not at all. */
  append(entry: JournalEntry): Promise<void>
  /** Applies what an earlier process left, and looks again from time to time. */
  start(): void
  /** Applies what it can, and ends. The journal stays open. */
  stop(): Promise<void>
  figures(): JournalFigures
}

type Waiting = { writes: number; paused: boolean | undefined }
/** Since when a viewer's entries are not taken, in the form of the next trial. */
type Held = { delayMs: number; until: number }
/** One run over one journal. `stopped`: whose entries are not applied any more in this run. */
type Run = { journal: Journal; replay: Replay; held: Map<ViewerId, Held>; stopped: Set<ViewerId>; failure: unknown }
type Fate = 'applied' | 'later' | { refused: string }

/** What is wrong with the entry itself, and will be next year. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'BUSINESS_UNKNOWN',
  'ID_INVALID',
  'IDS_TOO_MANY',
  'INPUTS_TOO_MANY',
  'POSITION_INVALID',
  'VIEWED_AT_INVALID',
  'DEVICE_INVALID',
])

/** `makeReplay` gets where to count what is dropped. */
export function makeJournaling(
  clock: Clock,
  breakers: { hotStore: Pick<PartBreaker, 'isOpenFor' | 'isOpenForAll' | 'onClose'>; recordStore: Breaker },
  journals: Journals,
  makeReplay: (dropped: (count: number) => void) => Replay,
  options: JournalingOptions,
  onError: (error: unknown) => void,
): Journaling {
  const { lookEveryMs = 10_000, entriesMax = 1_000, retryMinMs = 500, retryMaxMs = 60_000 } = options
  const { own } = journals
  const figures: JournalFigures = { journaled: 0, replayed: 0, dropped: 0, parked: 0 }
  const waiting = new Map<ViewerId, Waiting>()
  /** Entries of this process that nobody waits for any more, though they are still there. */
  const uncounted = new Set<number>()
  /** Of whom entries stay that nobody waits for: what needs the record store, and what an earlier process left. By number. */
  const staying = new Map<ViewerId, Set<number>>()
  /** Until what an earlier process left has been looked through, it may be anybody's. */
  let isLeftKnown = own.leftUntil === 0
  const held = new Map<ViewerId, Held>()
  let mode: 'open' | 'ending' | 'ended' = 'open'
  let lookTimer: Timer | undefined
  let retryTimer: Timer | undefined
  let underWay: Promise<void> | undefined
  let again = false
  /** Journals of the dead are looked for now and then, not whenever an entry of our own waits. */
  let adopts = false

  /** Of callers that may be gone: each is on disk before `stop` ends. */
  const appending = new Set<Promise<void>>()

  function append(entry: JournalEntry): Promise<void> {
    const appended = appendNow(entry).finally(() => appending.delete(appended))
    appending.add(appended)
    return appended
  }

  async function appendNow(entry: JournalEntry): Promise<void> {
    // A base counts from now, whatever it belongs to: the put that it is to be merged with begins when this resolves.
    const entries = splitByViewer(entry.kind === 'base' ? { ...entry, now: clock.now() } : entry)
    // Counted before it is durable, so that what the viewer sends next cannot overtake it.
    entries.forEach(count)
    try {
      await own.append(entries)
    } catch (error) {
      entries.forEach(uncount)
      throw error
    }
    figures.journaled += entries.length
    // Bases wait for the record store, and it says itself when it is back; so does the hot store for these viewers; and
    // whoever is held up is tried in his time.
    const mayGo = (viewer: ViewerId): boolean => !held.has(viewer) && !breakers.hotStore.isOpenFor(viewer)
    if (entry.kind !== 'base' && entries.some((each) => mayGo(viewerOf(each)))) wake()
  }

  /** The viewer's next writes go behind it. Merging a base goes anywhere. */
  function count(entry: JournalEntry): void {
    if (entry.kind === 'base') return
    const viewer = viewerOf(entry)
    const found = waiting.get(viewer) ?? { writes: 0, paused: undefined }
    found.writes++
    if (entry.kind === 'pause') found.paused = entry.paused
    waiting.set(viewer, found)
  }

  function uncount(entry: JournalEntry): void {
    if (entry.kind === 'base') return
    const found = waiting.get(viewerOf(entry))
    if (found !== undefined && --found.writes <= 0) waiting.delete(viewerOf(entry))
  }

  function wake(): void {
    // A store that is back once everything is stopped finds nobody who closes the journal after that.
    if (mode === 'ended' || breakers.hotStore.isOpenForAll()) return
    if (underWay !== undefined) {
      again = true
      return
    }
    retryTimer?.cancel()
    underWay = replayAll()
      .catch(onError)
      .then(() => {
        underWay = undefined
        const isWanted = again
        again = false
        if (isWanted) wake()
        else planRetry()
      })
  }

  /** With the breaker open nothing is planned: it says itself when the hot store is back. */
  function planRetry(): void {
    if (mode !== 'open' || held.size === 0 || breakers.hotStore.isOpenForAll()) return
    const due = Math.min(...Array.from(held.values(), ({ until }) => until))
    retryTimer = clock.after(Math.max(1, due - clock.now()), wake)
  }

  async function replayAll(): Promise<void> {
    await replayJournal(own, held)
    if (!adopts) return
    adopts = false
    const kept: Journal[] = []
    try {
      while (mode === 'open' && !breakers.hotStore.isOpenForAll()) {
        const left = await journals.adopt()
        if (left === undefined) return
        kept.push(left)
        // What is not emptied is kept until the end, so that the next one is found behind it.
        if (await replayJournal(left, new Map())) await kept.pop()?.close()
      }
    } finally {
      for (const journal of kept) await journal.close()
    }
  }

  /** False if something stays in it. */
  async function replayJournal(journal: Journal, heldBefore: Map<ViewerId, Held>): Promise<boolean> {
    const replay = makeReplay((dropped) => {
      figures.dropped += dropped
    })
    const run: Run = { journal, replay, held: heldBefore, stopped: new Set(), failure: undefined }
    for (const [viewer, { until }] of heldBefore) if (until > clock.now()) run.stopped.add(viewer)
    let isEmptied = true
    for (let after = 0; ;) {
      if (breakers.hotStore.isOpenForAll() || (mode === 'ending' && journal !== own)) return false
      const entries = await journal.list(after, entriesMax)
      const last = entries.at(-1)
      if (last === undefined) break
      after = last.number
      if (!(await replayEntries(run, entries))) isEmptied = false
      if (journal === own && after >= own.leftUntil) isLeftKnown = true
    }
    if (journal === own) isLeftKnown = true
    // Whoever was tried and is not stopped is not held any longer.
    for (const viewer of heldBefore.keys()) if (!run.stopped.has(viewer)) heldBefore.delete(viewer)
    if (run.failure !== undefined) onError(run.failure)
    return isEmptied
  }

  async function replayEntries(run: Run, entries: readonly Journaled[]): Promise<boolean> {
    const fates = new Map<number, Fate>()
    const chains = Map.groupBy(entries, (each) => ('entry' in each ? viewerOf(each.entry) : undefined))
    await Promise.all(
      Array.from(chains, async ([viewer, chain]) => {
        if (viewer !== undefined && run.stopped.has(viewer)) return
        for (const each of chain) {
          const fate = 'entry' in each ? await applyOne(run, viewer as ViewerId, each.entry) : { refused: each.unreadable }
          // What comes behind in this chain must not overtake.
          if (fate === undefined) return
          fates.set(each.number, fate)
        }
      }),
    )
    const applied = entries.flatMap(({ number }) => (fates.get(number) === 'applied' ? [number] : []))
    if (applied.length > 0) await run.journal.remove(applied)
    figures.replayed += applied.length
    for (const each of entries) {
      const fate = fates.get(each.number)
      if (typeof fate === 'object') await park(run.journal, each, fate.refused)
      if (run.journal !== own) continue
      noteStaying(each, fate)
      if (fate !== undefined) letGo(each, fate === 'applied')
    }
    return entries.every(({ number }) => {
      const fate = fates.get(number)
      return fate === 'applied' || typeof fate === 'object'
    })
  }

  /** Undefined: the hot store did not take it now. */
  async function applyOne(run: Run, viewer: ViewerId, entry: JournalEntry): Promise<Fate | undefined> {
    try {
      const isDone = await run.replay.apply(entry)
      run.held.delete(viewer)
      return isDone ? 'applied' : 'later'
    } catch (error) {
      if (saysDown(error, 'recordStore')) return 'later'
      if (isTidemarkError(error) && REFUSALS.has(error.code)) return { refused: `${error.code}: ${error.message}` }
      hold(run, viewer)
      // That the hot store is down its breaker has told.
      if (!breakers.hotStore.isOpenFor(viewer)) run.failure ??= error
      return undefined
    }
  }

  function hold(run: Run, viewer: ViewerId): void {
    run.stopped.add(viewer)
    const delayMs = Math.min(retryMaxMs, 2 * (run.held.get(viewer)?.delayMs ?? retryMinMs / 2))
    run.held.set(viewer, { delayMs, until: clock.now() + delayMs })
  }

  /** Before its viewer is let go, so that he is never taken for one of whom nothing is left. */
  function noteStaying(each: Journaled, fate: Fate | undefined): void {
    if (!('entry' in each) || each.entry.kind === 'base') return
    const viewer = viewerOf(each.entry)
    const numbers = staying.get(viewer)
    if (fate === 'later' || (fate === undefined && each.number <= own.leftUntil)) {
      if (numbers === undefined) staying.set(viewer, new Set([each.number]))
      else numbers.add(each.number)
    } else if (numbers?.delete(each.number) === true && numbers.size === 0) staying.delete(viewer)
  }

  /** Its viewer need not wait for it any longer, whether it was applied or stays. */
  function letGo(each: Journaled, isGone: boolean): void {
    if (each.number <= own.leftUntil) return
    if ('entry' in each && !uncounted.has(each.number)) uncount(each.entry)
    if (isGone) uncounted.delete(each.number)
    else uncounted.add(each.number)
  }

  async function park(journal: Journal, each: Journaled, reason: string): Promise<void> {
    await journal.park(each.number, reason)
    figures.parked++
    onError(new Error(`entry ${each.number} of a journal cannot be applied and was set aside (see \`tidemark journal\`): ${reason}`))
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

  breakers.hotStore.onClose(onBack)
  breakers.recordStore.onClose(onBack)
  return {
    mustJournal: (viewer) => breakers.hotStore.isOpenFor(viewer) || waiting.has(viewer),
    mayLack: (viewer) => !isLeftKnown || waiting.has(viewer) || staying.has(viewer),
    pausedBy: (viewer) => waiting.get(viewer)?.paused,
    append,
    start: look,
    async stop() {
      mode = 'ending'
      lookTimer?.cancel()
      retryTimer?.cancel()
      held.clear()
      wake()
      while (underWay !== undefined || appending.size > 0) await Promise.allSettled([underWay, ...appending])
      mode = 'ended'
    },
    figures: () => ({ ...figures }),
  }
}
