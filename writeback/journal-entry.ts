/**
 * A journal's entries as text. JSON, because an operator may have to read it on a bad day. What is read is looked at as
 * closely as what a client sends: an entry that another version wrote, or a disk, must be set aside with a reason and not
 * reach a store.
 */
import type { ViewerId } from '../core/domain.ts'
import type { JournalEntry } from './journal.ts'

type Fields = Record<string, unknown>

/** Throws an error whose message says what is wrong with the text. */
export function parseEntry(text: string): JournalEntry {
  let entry: unknown
  try {
    entry = JSON.parse(text)
  } catch (error) {
    throw new Error(`it is not JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
  const problem = problemOf(entry)
  if (problem !== undefined) throw new Error(problem)
  return entry as JournalEntry
}

function problemOf(entry: unknown): string | undefined {
  if (!isObject(entry)) return 'it is no entry'
  const { kind, now } = entry
  if (typeof now !== 'number') return `its moment is ${JSON.stringify(now)}`
  if (kind === 'put') return problemOfAll(entry['writes'], 'write', isWrite)
  if (kind === 'mark') return problemOfAll(entry['writes'], 'mark', isMark)
  if (kind === 'delete' || kind === 'base') return problemOfAll(entry['keys'], 'key', isKey)
  if (kind === 'clear')
    return typeof entry['viewer'] === 'string' && typeof entry['business'] === 'number' ? undefined : 'it clears nothing'
  if (kind === 'pause')
    return typeof entry['viewer'] === 'string' && typeof entry['paused'] === 'boolean' ? undefined : 'it switches nothing'
  return `it is of a kind that this version does not know: ${JSON.stringify(kind)}`
}

function problemOfAll(items: unknown, what: string, isOne: (item: Fields) => boolean): string | undefined {
  if (!Array.isArray(items) || items.length === 0) return `it has no ${what}s`
  const wrong = items.find((item) => !isObject(item) || !isOne(item))
  if (wrong !== undefined) return `this is no ${what}: ${JSON.stringify(wrong)}`
  const viewers = new Set(items.map((item: Fields) => item['viewer']))
  return viewers.size === 1 ? undefined : `its ${what}s are of ${viewers.size} viewers`
}

function isWrite(item: Fields): boolean {
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

function isMark(item: Fields): boolean {
  return isKey(item) && ['NONE', 'LIKE', 'DISLIKE'].includes(String(item['mark'])) && typeof item['markedAt'] === 'number'
}

function isKey(item: Fields): boolean {
  return typeof item['viewer'] === 'string' && typeof item['business'] === 'number' && typeof item['oid'] === 'string'
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function viewerOf(entry: JournalEntry): ViewerId {
  if (entry.kind === 'put' || entry.kind === 'mark') return entry.writes[0]?.viewer ?? ''
  if (entry.kind === 'delete' || entry.kind === 'base') return entry.keys[0]?.viewer ?? ''
  return entry.viewer
}

/** One entry per viewer, in the order in which they first occur. */
export function splitByViewer(entry: JournalEntry): JournalEntry[] {
  if (entry.kind === 'put') return groups(entry.writes).map((writes) => ({ ...entry, writes }))
  if (entry.kind === 'mark') return groups(entry.writes).map((writes) => ({ ...entry, writes }))
  if (entry.kind === 'delete' || entry.kind === 'base') return groups(entry.keys).map((keys) => ({ ...entry, keys }))
  return [entry]
}

function groups<T extends { viewer: ViewerId }>(items: readonly T[]): T[][] {
  return [...Map.groupBy(items, (item) => item.viewer).values()]
}
