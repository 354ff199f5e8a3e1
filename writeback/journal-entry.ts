/**
 * Journal entries as text. The text is JSON, because an operator may have to read it during an outage. This file checks the envelope. The
 * capability checks the change when it applies the entry: an entry of another version, or from a damaged disk, must be parked with a reason
 * and never reach a store.
 */
import type { JournalEntry } from './journal.ts'

type Fields = Record<string, unknown>

/** Throws an error with the mistake as its message. */
export function parseEntry(text: string): JournalEntry {
  let entry: unknown
  try {
    entry = JSON.parse(text)
  } catch (error) {
    throw new Error(`it is not JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
  const mistake = mistakeOf(entry)
  if (mistake !== undefined) throw new Error(mistake)
  return entry as JournalEntry
}

function mistakeOf(entry: unknown): string | undefined {
  if (!isObject(entry)) return 'it is not a journal entry'
  const { viewer, now, change, isBackground } = entry
  if (typeof now !== 'number') return `its time is ${JSON.stringify(now)}`
  if (typeof viewer !== 'string' || viewer === '') return `its viewer is ${JSON.stringify(viewer)}`
  if (isBackground !== undefined && typeof isBackground !== 'boolean') return `its isBackground is ${JSON.stringify(isBackground)}`
  if (!isObject(change) || typeof change['kind'] !== 'string') return 'it has no change'
  return undefined
}

/** Checks a list of a change: at least one item, each of the form, all of the entry's viewer. Returns the mistake. */
export function mistakeOfItems(viewer: string, items: unknown, what: string, isOne: (item: Fields) => boolean): string | undefined {
  if (!Array.isArray(items) || items.length === 0) return `it has no ${what}s`
  const wrong = items.find((item) => !isObject(item) || !isOne(item))
  if (wrong !== undefined) return `this is not a ${what}: ${JSON.stringify(wrong)}`
  const other = items.find((item: Fields) => item['viewer'] !== viewer) as Fields | undefined
  return other === undefined ? undefined : `one of its ${what}s is of viewer ${String(other['viewer'])}`
}

/** A viewer, a business and an id. */
export function isKey(item: Fields): boolean {
  return typeof item['viewer'] === 'string' && typeof item['business'] === 'number' && typeof item['oid'] === 'string'
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
