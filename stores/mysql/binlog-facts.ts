/** The settings of a server that decide whether a feed can follow its binary log. */
import type { Session } from './database.ts'

export const SHOW_BINLOG_VARIABLES = `SHOW GLOBAL VARIABLES WHERE Variable_name IN
('log_bin', 'binlog_format', 'binlog_row_image', 'gtid_mode', 'binlog_transaction_compression', 'version')`

export type BinlogFacts = {
  variables: ReadonlyMap<string, string>
  isMariadb: boolean
  /** True if a feed can begin after a set of transactions. */
  hasGtids: boolean
}

export async function readBinlogFacts(session: Session): Promise<BinlogFacts> {
  const { rows } = await session.send(SHOW_BINLOG_VARIABLES)
  const variables = new Map(rows.map((row) => [String(row[0]).toLowerCase(), String(row[1])]))
  const isMariadb = /mariadb/i.test(variables.get('version') ?? '')
  return { variables, isMariadb, hasGtids: isMariadb || variables.get('gtid_mode') === 'ON' }
}

/** The reason why no feed can be read from this server, with the fix; undefined if there is none. Does not consider rights. */
export function binlogObstacle({ variables }: BinlogFacts): string | undefined {
  if (/TiDB/i.test(variables.get('version') ?? ''))
    return 'TiDB has no binary log that a feed can follow: set feed to canal and let TiCDC write canal-json'
  if (variables.get('log_bin') !== 'ON') return 'the server writes no binary log: start it with log-bin, or set feed to events'
  const format = variables.get('binlog_format') ?? 'ROW'
  if (format !== 'ROW') return `binlog_format is ${format}: set it to ROW, or set feed to events`
  const image = variables.get('binlog_row_image') ?? 'FULL'
  if (!image.startsWith('FULL')) return `binlog_row_image is ${image}: set it to FULL, or set feed to events`
  if (variables.get('binlog_transaction_compression') === 'ON')
    return 'binlog_transaction_compression is ON, which the feed cannot read: set it to OFF, or set feed to events'
  return undefined
}
