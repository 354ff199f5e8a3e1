/**
 * The sent and the acknowledged marks. Each viewer's marks are sent one after the other, each with a later `markedAt` than the one before,
 * and repeated until they are acknowledged. The final state is therefore known exactly. Until then no read may show a mark older than the
 * last acknowledged one.
 */
import type { Mark } from '../../../core/domain.ts'

export type Attempt = { mark: Mark; markedAt: number }

export type Entry = {
  viewer: string
  oid: string
  /** In the order of time. */
  attempts: Attempt[]
  /** Attempts up to this one were acknowledged. -1 = none. */
  acknowledged: number
  /** The hot store itself acknowledged attempts up to this one: readable at once, from every process. */
  firm: number
}

export type Sent = { entry: Entry; at: number }

export type Ledger = {
  entries(): Entry[]
  entriesOf(viewer: string): Entry[]
  viewers(): string[]
  /** Subject → owner, by the last acknowledged registration. */
  owners: Map<string, string>
  /** The next mark of this viewer and subject, newer than all others. */
  attempt(viewer: string, oid: string, mark: Mark): Sent
  acknowledge(sent: Sent, isFirm: boolean): void
  acknowledgedCount(): number
}

/** Years ago: the archive takes marks while they are still given. */
const START = 1_600_000_000_000

export function makeLedger(): Ledger {
  const byViewer = new Map<string, Map<string, Entry>>()
  let moment = START
  let acknowledgedCount = 0

  function entryOf(viewer: string, oid: string): Entry {
    let ofViewer = byViewer.get(viewer)
    if (ofViewer === undefined) byViewer.set(viewer, (ofViewer = new Map<string, Entry>()))
    let entry = ofViewer.get(oid)
    if (entry === undefined) ofViewer.set(oid, (entry = { viewer, oid, attempts: [], acknowledged: -1, firm: -1 }))
    return entry
  }

  return {
    entries: () => [...byViewer.values()].flatMap((ofViewer) => [...ofViewer.values()]),
    entriesOf: (viewer) => [...(byViewer.get(viewer)?.values() ?? [])],
    viewers: () => [...byViewer.keys()],
    owners: new Map(),
    attempt(viewer, oid, mark) {
      const entry = entryOf(viewer, oid)
      const at = entry.attempts.push({ mark, markedAt: ++moment }) - 1
      return { entry, at }
    },
    acknowledge({ entry, at }, isFirm) {
      acknowledgedCount++
      entry.acknowledged = Math.max(entry.acknowledged, at)
      if (isFirm) entry.firm = Math.max(entry.firm, at)
    },
    acknowledgedCount: () => acknowledgedCount,
  }
}

/** A shown mark must be this attempt or a later one. */
export function mayShow({ attempts }: Entry, since: number, mark: Mark): boolean {
  return (since < 0 && mark === 'NONE') || attempts.slice(Math.max(0, since)).some((attempt) => attempt.mark === mark)
}

/** The last attempt. Undefined: no mark was ever sent. */
export function finalOf({ attempts }: Entry): Attempt | undefined {
  return attempts.at(-1)
}

export type Recount = { likes: number; dislikes: number; likers: { id: string; markedAt: number }[] }

/** The counts and likers of all subjects, and the likes of all owners, recounted from the sent marks. */
export function recount(ledger: Ledger): { subjects: Map<string, Recount>; owners: Map<string, number> } {
  const subjects = new Map<string, Recount>()
  for (const entry of ledger.entries()) {
    const subject = subjects.get(entry.oid) ?? { likes: 0, dislikes: 0, likers: [] }
    subjects.set(entry.oid, subject)
    const last = finalOf(entry)
    if (last?.mark === 'DISLIKE') subject.dislikes++
    if (last?.mark !== 'LIKE') continue
    subject.likes++
    subject.likers.push({ id: entry.viewer, markedAt: last.markedAt })
  }
  for (const { likers } of subjects.values()) likers.sort((a, b) => b.markedAt - a.markedAt)
  const owners = new Map<string, number>()
  for (const [oid, owner] of ledger.owners) owners.set(owner, (owners.get(owner) ?? 0) + (subjects.get(oid)?.likes ?? 0))
  return { subjects, owners }
}
