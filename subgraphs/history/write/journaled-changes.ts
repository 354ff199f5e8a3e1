/** The calls of history's hot store as changes in the journal, and their check when an entry is applied. */
import type { BusinessNumber, ProgressKey } from '../../../core/domain.ts'
import { isKey, isObject, mistakeOfItems } from '../../../writeback/journal-entry.ts'
import type { JournalEntry } from '../../../writeback/journal.ts'
import type { ProgressWrite } from '../stores/hot-store.ts'

export type HistoryChange =
  | { kind: 'put'; writes: readonly ProgressWrite[] }
  | { kind: 'delete'; keys: readonly ProgressKey[] }
  | { kind: 'clear'; business: BusinessNumber }
  | { kind: 'pause'; paused: boolean }
  /** These keys were put while the record store was down: its rows are merged in once it answers. */
  | { kind: 'base'; keys: readonly ProgressKey[] }

export type HistoryJournalEntry = JournalEntry & { readonly change: HistoryChange }

/** One entry per viewer, in the order in which the viewers first occur. */
export function putEntries(writes: readonly ProgressWrite[], now: number): HistoryJournalEntry[] {
  return Array.from(byViewer(writes), ([viewer, some]) => ({ viewer, now, change: { kind: 'put', writes: some } }))
}

/** The same for the keys of puts whose rows of the record store are missing. */
export function baseEntries(writes: readonly ProgressKey[], now: number): HistoryJournalEntry[] {
  return Array.from(byViewer(writes), ([viewer, some]) => {
    const keys = some.map(({ business, oid }) => ({ viewer, business, oid }))
    return { viewer, now, isBackground: true, change: { kind: 'base', keys } }
  })
}

function byViewer<T extends ProgressKey>(items: readonly T[]): Map<string, T[]> {
  return Map.groupBy(items, ({ viewer }) => viewer)
}

/** The entry as one of history, or the mistake in it. */
export function readHistoryEntry(entry: JournalEntry): HistoryJournalEntry | string {
  return mistakeOf(entry) ?? (entry as HistoryJournalEntry)
}

function mistakeOf({ viewer, change }: JournalEntry): string | undefined {
  const { kind, writes, keys, business, paused } = change as { kind: string } & Record<string, unknown>
  switch (kind) {
    case 'put':
      return mistakeOfItems(viewer, writes, 'write', isWrite)
    case 'delete':
    case 'base':
      return mistakeOfItems(viewer, keys, 'key', isKey)
    case 'clear':
      return typeof business === 'number' ? undefined : 'it names no business to clear'
    case 'pause':
      return typeof paused === 'boolean' ? undefined : 'it does not say whether history is paused'
    default:
      return `its kind is unknown to this version of history: ${JSON.stringify(kind)}`
  }
}

function isWrite(item: Record<string, unknown>): boolean {
  const { record, decisive } = item
  if (!isKey(item) || typeof decisive !== 'boolean' || !isObject(record)) return false
  const numbers = ['viewedAt', 'since', 'rank', 'version', 'position', 'duration']
  const switches = ['finished', 'deleted']
  return (
    numbers.every((name) => typeof record[name] === 'number') &&
    switches.every((name) => typeof record[name] === 'boolean') &&
    typeof record['device'] === 'string'
  )
}
