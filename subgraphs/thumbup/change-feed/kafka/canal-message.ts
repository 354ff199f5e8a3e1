/**
 * Turns a message of TiCDC in canal-json (https://docs.pingcap.com/tidb/stable/ticdc-canal-json/) into changes.
 *
 * Values are strings, bytes as ISO 8859-1. With `enable-tidb-extension=true` a row has `_tidb` with the timestamp of its commit. Each
 * partition then also gets messages of type TIDB_WATERMARK: all earlier commits have come in that partition. Timestamps exceed 2^53.
 * Rounding keeps their order: if a is below b after rounding, a is below b.
 */
import { type Change, FEED_TABLES, type FeedRow, type FeedTable, changeOf } from '../feed-rows.ts'

export type CanalMessage =
  | { kind: 'rows'; changes: Change[]; committedAt: number | undefined }
  | { kind: 'watermark'; watermark: number }
  /** Another table, a definition, or a deleted row. */
  | { kind: 'nothing' }

type Parsed = {
  database?: unknown
  table?: unknown
  isDdl?: unknown
  type?: unknown
  data?: unknown
  _tidb?: { commitTs?: unknown; watermarkTs?: unknown } | null
}

const NOTHING: CanalMessage = { kind: 'nothing' }

/** Throws if the message is not canal-json, or has an unreadable row of our tables. `database` is the name of our database. */
export function parseCanal(bytes: Buffer, database: string): CanalMessage {
  const message = JSON.parse(bytes.toString()) as Parsed | null
  if (typeof message !== 'object' || message === null || typeof message.type !== 'string')
    throw new TypeError('the message is not canal-json')
  if (message.type === 'TIDB_WATERMARK') return { kind: 'watermark', watermark: timestampOf(message._tidb?.watermarkTs) }
  if (message.isDdl === true || (message.type !== 'INSERT' && message.type !== 'UPDATE')) return NOTHING
  if (message.database !== database || !isOurs(message.table)) return NOTHING
  const { table, data } = message
  if (!Array.isArray(data)) throw new TypeError(`data has type ${typeof data}, not a list of rows`)
  const changes = data.flatMap((row) => changeOf(table as FeedTable, row as FeedRow) ?? [])
  const committedAt = message._tidb?.commitTs
  return { kind: 'rows', changes, committedAt: committedAt === undefined ? undefined : timestampOf(committedAt) }
}

function isOurs(table: unknown): boolean {
  return FEED_TABLES.some((ours) => ours === table)
}

function timestampOf(value: unknown): number {
  if (typeof value === 'number' && value > 0) return value
  throw new TypeError(`${String(value)} is not a timestamp`)
}
