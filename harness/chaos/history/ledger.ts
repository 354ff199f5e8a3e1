/**
 * What was sent and what was acknowledged, and whether something found fits it. A position counts the reports of the whole
 * run, and `viewedAt` goes with it: each viewer's reports are sent one after the other, so the greatest position is the
 * newest report, and what is found must lie between the last acknowledged and the last one sent.
 */
export type Entry = {
  viewer: string
  oid: string
  /** The newest that was sent. */
  attempted: number
  /** The newest that was acknowledged. 0 = none. */
  acknowledged: number
  /** The newest that was acknowledged by the hot store itself: readable at once, from every process. */
  firm: number
}

/** Subjects that are reported once and deleted at once: those whose deletion was acknowledged must never be seen again. */
export type Deleted = { viewer: string; oid: string; acknowledged: boolean }

export type Ledger = {
  entries(): Entry[]
  entriesOf(viewer: string): Entry[]
  deleted: Deleted[]
  viewers(): string[]
  /** The next report of this subject, newer than all others. */
  attempt(viewer: string, oid: string): { business: string; oid: string; position: number; viewedAt: number }
  acknowledge(viewer: string, oid: string, position: number, isFirm: boolean): void
  acknowledgedCount(): number
}

export type Found = { position: number; viewedAt: number }

/** Above what could be a glance. */
const POSITION_BASE = 10_000
/** An hour ago: of months long past filters do not say what was played, and a lookup behind the hot timeline finds nothing. */
const START = Date.now() - 3_600_000

export const REPORTED = 'video'
export const DELETED = 'article'

export function makeLedger(): Ledger {
  const byViewer = new Map<string, Map<string, Entry>>()
  let count = 0
  let acknowledgedCount = 0

  function entryOf(viewer: string, oid: string): Entry {
    let ofViewer = byViewer.get(viewer)
    if (ofViewer === undefined) byViewer.set(viewer, (ofViewer = new Map<string, Entry>()))
    let entry = ofViewer.get(oid)
    if (entry === undefined) ofViewer.set(oid, (entry = { viewer, oid, attempted: 0, acknowledged: 0, firm: 0 }))
    return entry
  }

  return {
    entries: () => [...byViewer.values()].flatMap((ofViewer) => [...ofViewer.values()]),
    entriesOf: (viewer) => [...(byViewer.get(viewer)?.values() ?? [])],
    deleted: [],
    viewers: () => [...byViewer.keys()],
    attempt(viewer, oid) {
      const position = POSITION_BASE + ++count
      entryOf(viewer, oid).attempted = position
      return { business: REPORTED, oid, position, viewedAt: START + count }
    },
    acknowledge(viewer, oid, position, isFirm) {
      const entry = entryOf(viewer, oid)
      acknowledgedCount++
      entry.acknowledged = Math.max(entry.acknowledged, position)
      if (isFirm) entry.firm = Math.max(entry.firm, position)
    },
    acknowledgedCount: () => acknowledgedCount,
  }
}

/** A sentence if what was found does not fit: lost, stale, torn, or never written. */
export function lossOf({ viewer, oid, acknowledged, attempted }: Entry, found: Found | undefined): string | undefined {
  const name = `viewer ${viewer}, subject ${oid}`
  if (found === undefined) return acknowledged > 0 ? `${name}: acknowledged at ${acknowledged}, and gone` : undefined
  if (found.position < acknowledged) return `${name}: acknowledged at ${acknowledged}, and stale at ${found.position}`
  if (found.position > attempted) return `${name}: at ${found.position}, which nobody wrote`
  if (found.viewedAt - START !== found.position - POSITION_BASE) return `${name}: torn, ${found.position} viewed at ${found.viewedAt}`
  return undefined
}
