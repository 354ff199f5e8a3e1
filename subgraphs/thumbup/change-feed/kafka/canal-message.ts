/**
 * A message of TiCDC in canal-json (https://docs.pingcap.com/tidb/stable/ticdc-canal-json/) → the changes that it tells.
 *
 * Values are texts, of bytes in ISO 8859-1. `_tidb` is there with `enable-tidb-extension=true`: the commit's timestamp of a
 * row, and messages of the type TIDB_WATERMARK, one per partition: what was committed before has come in that partition.
 * Timestamps exceed 2^53, and rounding keeps their order: a is truly below b if it is below b rounded.
 */
import { type Change, FEED_TABLES, type FeedRow, type FeedTable, changeOf } from '../feed-rows.ts'

export type CanalMessage =
  | { kind: 'rows'; changes: Change[]; committedAt: number | undefined }
  | { kind: 'watermark'; watermark: number }
  /** Another table, a definition, a row that went. */
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

/** Throws if it is no canal-json, or has a row of our tables that cannot be read. `database` is the one whose tables count. */
export function parseCanal(bytes: Buffer, database: string): CanalMessage {
  const message = JSON.parse(bytes.toString()) as Parsed | null
  if (typeof message !== 'object' || message === null || typeof message.type !== 'string')
    throw new TypeError('the message is no canal-json')
  if (message.type === 'TIDB_WATERMARK') return { kind: 'watermark', watermark: timestampOf(message._tidb?.watermarkTs) }
  if (message.isDdl === true || (message.type !== 'INSERT' && message.type !== 'UPDATE')) return NOTHING
  if (message.database !== database || !isOurs(message.table)) return NOTHING
  const { table, data } = message
  if (!Array.isArray(data)) throw new TypeError(`data is ${typeof data} and not a list of rows`)
  const changes = data.flatMap((row) => changeOf(table as FeedTable, row as FeedRow) ?? [])
  const committedAt = message._tidb?.commitTs
  return { kind: 'rows', changes, committedAt: committedAt === undefined ? undefined : timestampOf(committedAt) }
}

function isOurs(table: unknown): boolean {
  return FEED_TABLES.some((ours) => ours === table)
}

function timestampOf(value: unknown): number {
  if (typeof value === 'number' && value > 0) return value
  throw new TypeError(`${String(value)} is no timestamp`)
}
