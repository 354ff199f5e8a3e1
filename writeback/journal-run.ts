/**
 * One run over one journal. The entries of a viewer are applied in order, and viewers concurrently. An entry that the hot store does not
 * accept delays the later entries of its viewer, but no other viewer's. It is retried after a growing delay. An acknowledged entry is never
 * given up: the store may be full or misconfigured for a week. Only an entry that cannot be read, or that is refused for its content, would
 * fail for ever. It is parked and reported, and an operator may put it back (`tidemark journal`).
 *
 * An entry that needs the record store while that is down stays and delays nothing: the replay applies it as a late one.
 */
import type { Clock } from '../core/clock.ts'
import type { ViewerId } from '../core/domain.ts'
import { isTidemarkError, type ErrorCode } from '../core/errors.ts'
import { saysDown } from '../core/outage/degraded.ts'
import type { PartBreaker } from '../core/outage/part-breaker.ts'
import type { Journal, JournalEntry, Journaled } from './journal.ts'
import type { Fate } from './waiting-viewers.ts'

/** Applies entries. One per run over a journal. */
export type Replay = {
  /** Codes of errors that the content of an entry causes: such an entry is refused. */
  readonly refusals: ReadonlySet<ErrorCode>
  /**
   * `later`: the entry must wait for the record store, or for a put that belongs to it. `refused`: it can never be applied. Rejects with the
   * code of the hot store if that fails; applying the entry again loses nothing.
   */
  apply(entry: JournalEntry): Promise<NonNullable<Fate>>
}

/** The next attempt for a viewer after a failed one. */
export type Held = { delayMs: number; until: number }

export type RunOptions = { entriesMax: number; retryMinMs: number; retryMaxMs: number }

export type RunHooks = {
  /** The result of one entry, in the order of the journal. */
  applied(journal: Journal, each: Journaled, fate: Fate): void
  /** The run has read the whole journal. */
  readAll(journal: Journal): void
  /** True if the run may continue with the next page. */
  mayGoOn(journal: Journal): boolean
  onError(error: unknown): void
}

/** `held`: viewers to skip until their time; the run updates it. Resolves with false if entries stay. */
export async function runOverJournal(
  clock: Clock,
  journal: Journal,
  replay: Replay,
  held: Map<ViewerId, Held>,
  hotStore: Pick<PartBreaker, 'isOpenFor'>,
  { entriesMax, retryMinMs, retryMaxMs }: RunOptions,
  { applied, readAll, mayGoOn, onError }: RunHooks,
): Promise<boolean> {
  /** Viewers without further attempts in this run. */
  const stopped = new Set<ViewerId>()
  let failure: unknown
  for (const [viewer, { until }] of held) if (until > clock.now()) stopped.add(viewer)

  function hold(viewer: ViewerId): void {
    stopped.add(viewer)
    const delayMs = Math.min(retryMaxMs, 2 * (held.get(viewer)?.delayMs ?? retryMinMs / 2))
    held.set(viewer, { delayMs, until: clock.now() + delayMs })
  }

  async function applyOne(entry: JournalEntry): Promise<Fate> {
    try {
      const fate = await replay.apply(entry)
      held.delete(entry.viewer)
      return fate
    } catch (error) {
      if (saysDown(error, 'recordStore')) return 'later'
      if (isTidemarkError(error) && replay.refusals.has(error.code)) return { refused: `${error.code}: ${error.message}` }
      hold(entry.viewer)
      // The breaker reports that the hot store is down.
      if (!hotStore.isOpenFor(entry.viewer)) failure ??= error
      return undefined
    }
  }

  async function applyPage(entries: readonly Journaled[]): Promise<Map<number, Fate>> {
    const fates = new Map<number, Fate>()
    const chains = Map.groupBy(entries, (each) => ('entry' in each ? each.entry.viewer : undefined))
    await Promise.all(
      Array.from(chains, async ([viewer, chain]) => {
        if (viewer !== undefined && stopped.has(viewer)) return
        for (const each of chain) {
          const fate = 'entry' in each ? await applyOne(each.entry) : { refused: each.unreadable }
          // Later entries of this viewer must not overtake.
          if (fate === undefined) return
          fates.set(each.number, fate)
        }
      }),
    )
    return fates
  }

  async function park(number: number, reason: string): Promise<void> {
    await journal.park(number, reason)
    onError(new Error(`entry ${number} of a journal cannot be applied and was parked (see \`tidemark journal\`): ${reason}`))
  }

  let isEmptied = true
  for (let after = 0; ;) {
    if (!mayGoOn(journal)) return false
    const entries = await journal.list(after, entriesMax)
    const last = entries.at(-1)
    if (last === undefined) break
    after = last.number
    const fates = await applyPage(entries)
    const done = entries.filter(({ number }) => fates.get(number) === 'applied')
    if (done.length > 0) await journal.remove(done.map(({ number }) => number))
    for (const each of entries) {
      const fate = fates.get(each.number)
      if (typeof fate === 'object') await park(each.number, fate.refused)
      else if (fate !== 'applied') isEmptied = false
      applied(journal, each, fate)
    }
  }
  readAll(journal)
  // A viewer is held no longer after a run that did not stop them.
  for (const viewer of held.keys()) if (!stopped.has(viewer)) held.delete(viewer)
  if (failure !== undefined) onError(failure)
  return isEmptied
}
