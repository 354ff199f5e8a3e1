/**
 * The data of a change feed in the database: its beats and its place in the binary log. Also facts about the binary log: whether it is on,
 * whether it has whole rows, and its end.
 */
import { TidemarkError } from '../../../../core/errors.ts'
import type { WriteBeat } from '../count-feed.ts'
import type { Database, Session } from '../../../../stores/mysql/database.ts'
import { bytesLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import { SHOW_BINLOG_VARIABLES, type BinlogFacts } from '../../../../stores/mysql/binlog-facts.ts'

/** A place to continue from: behind these transactions, or at this byte of this file. */
export type Place = { gtids: string } | { file: string; position: number }

export const SELECT_MARIADB_END = 'SELECT @@GLOBAL.gtid_binlog_pos'
export const SELECT_MYSQL_END = 'SELECT @@GLOBAL.gtid_executed'
export const SHOW_FILES = 'SHOW BINARY LOGS'

export function putBeat(feed: string, instance: string, beatAt: number): string {
  return `INSERT INTO heartbeats (feed, instance, beat_at) VALUES (${textLiteral(feed)}, ${textLiteral(instance)}, ${numberLiteral(beatAt)})
ON DUPLICATE KEY UPDATE instance = VALUES(instance), beat_at = VALUES(beat_at)`
}

/** For a feed that reads its beats back from TiCDC's topic. */
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

/** The end of the binary log: every later commit is behind it. */
export async function readEnd(database: Database, facts: BinlogFacts): Promise<Place> {
  if (facts.hasGtids) {
    const [row] = (await database.send(facts.isMariadb ? SELECT_MARIADB_END : SELECT_MYSQL_END)).rows
    return { gtids: String(row?.[0] ?? '').replaceAll(/\s/g, '') }
  }
  const last = (await database.send(SHOW_FILES)).rows.at(-1)
  if (last === undefined)
    throw new TidemarkError('RECORD_STORE_UNAVAILABLE', `${database.server} lists no file of its binary log: wait until it has started`)
  return { file: String(last[0]), position: Number(last[1]) }
}

/** One example of each statement, for the parser of another database. */
export function sampleFeedStatements(): string[] {
  return [putBeat('f', 'i', 1), putPlace('f', { gtids: '0-1-2' }), selectPlace('f'), SHOW_BINLOG_VARIABLES]
}
