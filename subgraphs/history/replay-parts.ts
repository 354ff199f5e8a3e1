/** Entries of a journal, viewer by viewer: order means something within a viewer only. */
import type { ViewerId } from '../../core/domain.ts'
import type { JournalEntry, Journaled } from '../../stores/journal.ts'

/** The part of an entry that concerns one viewer. */
export type Part = { number: number; entry: JournalEntry }

/** Each viewer's parts in the order of the entries. Unreadable entries have none. */
export function partsByViewer(entries: readonly Journaled[]): Map<ViewerId, Part[]> {
  const chains = new Map<ViewerId, Part[]>()
  for (const each of entries) {
    if (!('entry' in each)) continue
    for (const [viewer, entry] of splitByViewer(each.entry)) {
      const chain = chains.get(viewer) ?? []
      if (chain.length === 0) chains.set(viewer, chain)
      chain.push({ number: each.number, entry })
    }
  }
  return chains
}

/** The viewers whose next writes go behind this entry. Merging bases goes anywhere. */
export function writersOf(entry: JournalEntry): Iterable<ViewerId> {
  return entry.kind === 'base' ? [] : viewersOf(entry)
}

function viewersOf(entry: JournalEntry): Set<ViewerId> {
  if (entry.kind === 'put') return new Set(entry.writes.map((write) => write.viewer))
  if (entry.kind === 'delete' || entry.kind === 'base') return new Set(entry.keys.map((key) => key.viewer))
  return new Set([entry.viewer])
}

function splitByViewer(entry: JournalEntry): Map<ViewerId, JournalEntry> {
  const viewers = viewersOf(entry)
  const parts = new Map<ViewerId, JournalEntry>()
  for (const viewer of viewers) {
    if (viewers.size === 1) parts.set(viewer, entry)
    else if (entry.kind === 'put') parts.set(viewer, { ...entry, writes: entry.writes.filter((write) => write.viewer === viewer) })
    else if (entry.kind === 'delete' || entry.kind === 'base')
      parts.set(viewer, { ...entry, keys: entry.keys.filter((key) => key.viewer === viewer) })
  }
  return parts
}
