/** Marks as changes in the journal, and their check when an entry is applied. */
import { isKey, mistakeOfItems } from '../../../writeback/journal-entry.ts'
import type { JournalEntry } from '../../../writeback/journal.ts'
import type { MarkWrite } from '../stores/hot-store.ts'

export type MarkJournalEntry = JournalEntry & { readonly change: { kind: 'mark'; writes: readonly MarkWrite[] } }

/** One entry per viewer, in the order of their first write. */
export function markEntries(writes: readonly MarkWrite[], now: number): MarkJournalEntry[] {
  const byViewer = Map.groupBy(writes, ({ viewer }) => viewer)
  return Array.from(byViewer, ([viewer, some]) => ({ viewer, now, change: { kind: 'mark', writes: some } }))
}

/** The entry as a thumbup entry, or the reason why it is invalid. */
export function readMarkEntry(entry: JournalEntry): MarkJournalEntry | string {
  const { kind, writes } = entry.change as { kind: string; writes?: unknown }
  if (kind !== 'mark') return `this version of thumbup does not know its kind: ${JSON.stringify(kind)}`
  return mistakeOfItems(entry.viewer, writes, 'mark', isMark) ?? (entry as MarkJournalEntry)
}

function isMark(item: Record<string, unknown>): boolean {
  return isKey(item) && ['NONE', 'LIKE', 'DISLIKE'].includes(String(item['mark'])) && typeof item['markedAt'] === 'number'
}
