/** Turns rows of a binary log, or of TiCDC, into changes of the tables `counts`, `owners` and `heartbeats`. */
import { packedIdLength, unpackId } from '../../../core/keys.ts'
import type { CountChanges } from './count-feed.ts'
import type { OwnerSum, CountedSubject } from '../../../core/domain.ts'

export const FEED_TABLES = ['counts', 'owners', 'heartbeats'] as const
export type FeedTable = (typeof FEED_TABLES)[number]

/** A row by column name. Bytes are a Buffer, or an ISO 8859-1 string of them. Numbers may be strings. */
export type FeedRow = Readonly<Record<string, unknown>>

export type Change =
  | { kind: 'count'; counted: CountedSubject }
  | { kind: 'owner'; sum: OwnerSum }
  | { kind: 'beat'; feed: string; instance: string; beatAt: number }

/** Undefined if nothing was counted: the row only names the owner of the subject. Throws if the row is not of these tables. */
export function changeOf(table: FeedTable, row: FeedRow): Change | undefined {
  if (table === 'heartbeats')
    return { kind: 'beat', feed: textOf(row, 'feed'), instance: textOf(row, 'instance'), beatAt: numberOf(row, 'beat_at') }
  const business = numberOf(row, 'business')
  const version = numberOf(row, 'version')
  if (table === 'owners') return { kind: 'owner', sum: { business, owner: idOf(row, 'owner'), likes: numberOf(row, 'likes'), version } }
  if (version === 0) return undefined
  const counts = { likes: numberOf(row, 'likes'), dislikes: numberOf(row, 'dislikes'), version }
  return { kind: 'count', counted: { business, oid: idOf(row, 'oid'), counts } }
}

/** The counts and owners' sums among the changes, in order. */
export function countChangesOf(changes: readonly Change[]): CountChanges {
  return {
    counts: changes.flatMap((change) => (change.kind === 'count' ? [change.counted] : [])),
    owners: changes.flatMap((change) => (change.kind === 'owner' ? [change.sum] : [])),
  }
}

function bytesOf(row: FeedRow, column: string): Buffer {
  const value = row[column]
  if (Buffer.isBuffer(value)) return value
  if (typeof value === 'string') return Buffer.from(value, 'latin1')
  throw new TypeError(`column ${column} has a value of type ${typeof value}, not bytes`)
}

function idOf(row: FeedRow, column: string): string {
  const bytes = bytesOf(row, column)
  if (bytes.length === 0 || packedIdLength(bytes, 0) !== bytes.length)
    throw new TypeError(`column ${column} is ${bytes.toString('hex')}, not a packed id`)
  return unpackId(bytes, 0)
}

function textOf(row: FeedRow, column: string): string {
  return bytesOf(row, column).toString()
}

function numberOf(row: FeedRow, column: string): number {
  const value = row[column]
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  if (Number.isSafeInteger(number) && (number as number) >= 0) return number as number
  throw new TypeError(`column ${column} is ${String(value)}, not a whole number from 0 to 2^53 - 1`)
}
