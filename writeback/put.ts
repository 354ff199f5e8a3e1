/**
 * The put of a capability's writes into its hot store, in three layers:
 *
 * 1. A current write that another one overtook is put again, just above it (`core/clock-differences.ts`).
 * 2. Writes go into the journal while an earlier entry of their viewer waits there.
 * 3. If a part of the hot store fails, its viewers are put again apart from all others. If the hot store is out, the writes go into the
 *    journal.
 */
import { asRepeated } from '../core/clock-differences.ts'
import type { ProgressKey, ViewerId } from '../core/domain.ts'
import type { Degraded } from '../core/outage/degraded.ts'
import { concernsSomeOnly, inTwo } from '../core/outage/part-outage.ts'
import { keyText } from '../core/progress-key.ts'

/** Outcomes are in the order of the writes. */
export type Put<W, O> = (writes: readonly W[], now: number, degraded: Degraded) => Promise<O[]>

export type OvertakenRules<W, O> = {
  timeOf(write: W): number
  /** Whether the outcome says that the write is too late. */
  isOvertaken(write: W, outcome: O): boolean
  /** The write, dated just above the write that overtook it. */
  raise(write: W, outcome: O): W
}

export type PutJournal<W, O> = {
  /** True if this viewer's writes go into the journal without a try. */
  mustJournal(viewer: ViewerId): boolean
  /** True if this failure of the hot store is a reason to journal the writes. */
  isOut(error: unknown): boolean
  append: Put<W, O>
}

/** A further attempt is needed only if a request at the same time writes, clears or deletes in between. */
export const ATTEMPTS_MAX = 5

/** Putting a write again with `putHot` must be harmless. Without a journal, the put rejects while the hot store is out. */
export function makePut<W extends ProgressKey & { isNow: boolean }, O extends { status: string }>(
  rules: OvertakenRules<W, O>,
  putHot: Put<W, O>,
  journal?: PutJournal<W, O>,
): Put<W, O> {
  async function put(...[writes, now, degraded]: Parameters<Put<W, O>>): Promise<O[]> {
    const outcomes = await putOnce(writes, now, degraded)
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const places = overtaken(writes, outcomes, rules)
      if (places.length === 0) break
      const raised = places.map((place) => rules.raise(writes[place] as W, outcomes[place] as O))
      const decided = await putOnce(raised, now, degraded)
      places.forEach((place, index) => (outcomes[place] = decided[index] as O))
    }
    return outcomes
  }

  function putOnce(...[writes, now, degraded]: Parameters<Put<W, O>>): Promise<O[]> {
    if (journal === undefined) return putOrJournal(writes, now, degraded)
    const mustWait = new Set(writes.filter(({ viewer }) => journal.mustJournal(viewer)))
    if (mustWait.size === 0) return putOrJournal(writes, now, degraded)
    if (mustWait.size === writes.length) return journal.append(writes, now, degraded)
    return inTwo(
      writes,
      (write) => mustWait.has(write),
      (waiting) => journal.append(waiting, now, degraded),
      (going) => putOrJournal(going, now, degraded),
    )
  }

  /** Regions that answered have their writes already. Putting those again changes nothing. */
  async function putOrJournal(...[writes, now, degraded]: Parameters<Put<W, O>>): Promise<O[]> {
    try {
      return await putHot(writes, now, degraded)
    } catch (error) {
      if (concernsSomeOnly(error, writes)) {
        const again = async (some: readonly W[]) => (await putOrJournal(some, now, degraded)).map(asRepeated)
        return inTwo(writes, ({ viewer }) => error.concerns(viewer), again, again)
      }
      if (journal?.isOut(error) !== true) throw error
      return journal.append(writes, now, degraded)
    }
  }

  return put
}

/** If a call has several current writes of one key, only the last by time counts: it overtook the others rightly. */
function overtaken<W extends ProgressKey & { isNow: boolean }, O>(
  writes: readonly W[],
  outcomes: readonly O[],
  { timeOf, isOvertaken }: OvertakenRules<W, O>,
): number[] {
  const late = outcomes.flatMap((outcome, place) => {
    const write = writes[place] as W
    return write.isNow && isOvertaken(write, outcome) ? [place] : []
  })
  if (late.length === 0 || writes.length === 1) return late
  const last = new Map<string, number>()
  writes.forEach((write, place) => {
    const known = last.get(keyText(write))
    if (write.isNow && (known === undefined || timeOf(write) >= timeOf(writes[known] as W))) last.set(keyText(write), place)
  })
  return late.filter((place) => last.get(keyText(writes[place] as W)) === place)
}
