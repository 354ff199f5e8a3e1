/**
 * The sent and the acknowledged reports, and the check of found records. A position counts the reports of the whole run, and `viewedAt`
 * grows with it. Each viewer's reports are sent one after the other, so the greatest position is the newest report. A found record must be
 * between the last acknowledged and the last sent report.
 */
export type Entry = {
  viewer: string
  oid: string
  /** The newest sent report. */
  attempted: number
  /** The newest acknowledged report. 0 = none. */
  acknowledged: number
  /** The newest report that the hot store itself acknowledged: readable at once, from every process. */
  firm: number
}

/** Subjects that are reported once and deleted at once. After an acknowledged deletion a subject must never be seen again. */
export type Deleted = { viewer: string; oid: string; acknowledged: boolean }

export type Ledger = {
  entries(): Entry[]
  entriesOf(viewer: string): Entry[]
  deleted: Deleted[]
  viewers(): string[]
  /** The next report of this subject, newer than all others. */
  attempt(viewer: string, oid: string): { business: string; id: string; position: number; viewedAt: number }
  acknowledge(viewer: string, oid: string, position: number, isFirm: boolean): void
  acknowledgedCount(): number
}

export type Found = { position: number; viewedAt: number }

/** Greater than `glanceMax`. */
const POSITION_BASE = 10_000
/** An hour ago. Filters do not cover old months, so a lookup behind the hot timeline would find nothing there. */
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
      return { business: REPORTED, id: oid, position, viewedAt: START + count }
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

/** A sentence if the found record is wrong: lost, stale, torn, or never written. */
export function lossOf({ viewer, oid, acknowledged, attempted }: Entry, found: Found | undefined): string | undefined {
  const name = `viewer ${viewer}, subject ${oid}`
  if (found === undefined) return acknowledged > 0 ? `${name}: acknowledged at ${acknowledged}, and gone` : undefined
  if (found.position < acknowledged) return `${name}: acknowledged at ${acknowledged}, and stale at ${found.position}`
  if (found.position > attempted) return `${name}: at ${found.position}, which was never written`
  if (found.viewedAt - START !== found.position - POSITION_BASE) return `${name}: torn, ${found.position} viewed at ${found.viewedAt}`
  return undefined
}
