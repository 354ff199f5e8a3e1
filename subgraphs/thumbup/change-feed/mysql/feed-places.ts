/**
 * What a change feed keeps in the database: its beats and its place in the binary log. And what the database says about its
 * binary log: whether there is one, whether whole rows are in it, and where it ends now.
 */
import { TidemarkError } from '../../../../core/errors.ts'
import type { WriteBeat } from '../count-feed.ts'
import type { Database, Session } from '../../../../stores/mysql/database.ts'
import { bytesLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'

/** Where to go on: behind these transactions, or at this byte of this file. */
export type Place = { gtids: string } | { file: string; position: number }

export const SHOW_BINLOG_VARIABLES = `SHOW GLOBAL VARIABLES WHERE Variable_name IN
('log_bin', 'binlog_format', 'binlog_row_image', 'gtid_mode', 'binlog_transaction_compression', 'version')`
export const SELECT_MARIADB_END = 'SELECT @@GLOBAL.gtid_binlog_pos'
export const SELECT_MYSQL_END = 'SELECT @@GLOBAL.gtid_executed'
export const SHOW_FILES = 'SHOW BINARY LOGS'

export function putBeat(feed: string, instance: string, beatAt: number): string {
  return `INSERT INTO heartbeats (feed, instance, beat_at) VALUES (${textLiteral(feed)}, ${textLiteral(instance)}, ${numberLiteral(beatAt)})
ON DUPLICATE KEY UPDATE instance = VALUES(instance), beat_at = VALUES(beat_at)`
}

/** For a feed that reads its beats back elsewhere: from TiCDC's topic. */
export function makeBeatWriter(database: Session): WriteBeat {
  return async (feed, instance, beatAt) => void (await database.send(putBeat(feed, instance, beatAt)))
}

export function putPlace(feed: string, place: Place): string {
  return `INSERT INTO feed_places (feed, place) VALUES (${textLiteral(feed)}, ${textLiteral(JSON.stringify(place))})
ON DUPLICATE KEY UPDATE place = VALUES(place)`
}

export function selectPlace(feed: string): string {
  return `SELECT place FROM feed_places WHERE feed = ${textLiteral(feed)}`
}

function textLiteral(text: string): string {
  return bytesLiteral(Buffer.from(text))
}

export async function readPlace(session: Session, feed: string): Promise<Place | undefined> {
  const [row] = (await session.send(selectPlace(feed))).rows
  return row === undefined ? undefined : (JSON.parse(String(row[0])) as Place)
}

export type BinlogFacts = {
  variables: ReadonlyMap<string, string>
  isMariadb: boolean
  /** Can a feed begin behind a set of transactions? */
  hasGtids: boolean
}

export async function readBinlogFacts(session: Session): Promise<BinlogFacts> {
  const { rows } = await session.send(SHOW_BINLOG_VARIABLES)
  const variables = new Map(rows.map((row) => [String(row[0]).toLowerCase(), String(row[1])]))
  const isMariadb = /mariadb/i.test(variables.get('version') ?? '')
  return { variables, isMariadb, hasGtids: isMariadb || variables.get('gtid_mode') === 'ON' }
}

/** Why no feed can be read from this server, and what to do; undefined if one can, rights not considered. */
export function binlogObstacle({ variables }: BinlogFacts): string | undefined {
  if (/TiDB/i.test(variables.get('version') ?? ''))
    return 'TiDB has no binary log to be followed: set feed to canal and let TiCDC write canal-json'
  if (variables.get('log_bin') !== 'ON') return 'the server writes no binary log: start it with log-bin, or set feed to events'
  const format = variables.get('binlog_format') ?? 'ROW'
  if (format !== 'ROW') return `binlog_format is ${format}: set it to ROW, or set feed to events`
  const image = variables.get('binlog_row_image') ?? 'FULL'
  if (!image.startsWith('FULL')) return `binlog_row_image is ${image}: set it to FULL, or set feed to events`
  if (variables.get('binlog_transaction_compression') === 'ON')
    return 'binlog_transaction_compression is ON, which the feed cannot read: set it to OFF, or set feed to events'
  return undefined
}

/** Where the binary log ends now: what is committed from now on stands behind it. */
export async function readEnd(database: Database, facts: BinlogFacts): Promise<Place> {
  if (facts.hasGtids) {
    const [row] = (await database.send(facts.isMariadb ? SELECT_MARIADB_END : SELECT_MYSQL_END)).rows
    return { gtids: String(row?.[0] ?? '').replaceAll(/\s/g, '') }
  }
  const last = (await database.send(SHOW_FILES)).rows.at(-1)
  if (last === undefined)
    throw new TidemarkError('RECORD_STORE_UNAVAILABLE', `${database.server} names no file of its binary log: is it starting?`)
  return { file: String(last[0]), position: Number(last[1]) }
}

/** One of each statement, for the parser of another database. */
export function sampleFeedStatements(): string[] {
  return [putBeat('f', 'i', 1), putPlace('f', { gtids: '0-1-2' }), selectPlace('f'), SHOW_BINLOG_VARIABLES]
}
