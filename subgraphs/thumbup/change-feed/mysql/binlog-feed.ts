/**
 * The change feed of counts from the binary log of MySQL or MariaDB: what was committed, whoever committed it.
 *
 * A feed writes its own beat into the database each second; when it reads the beat back, everything committed before has
 * come too. So its freshness is measured from end to end, with one clock. With the beat goes its place: the last transaction
 * for which `onChanges` has resolved. After a restart of the process at most the changes of a beat's time come again; after a
 * reconnect none, since what waits in memory stays there.
 *
 * Connections end and are made again, with a growing delay; one that brings no byte while beats are written is taken for
 * dead. If the server has purged what would come next, the feed goes on with what is committed from then on, and tells.
 *
 * A second feed of the same name, in another process, reads the same and moves the same place; names are for one process each.
 */
import { randomBytes } from 'node:crypto'
import { type Clock, sleep } from '../../../../core/clock.ts'
import { TidemarkError } from '../../../../core/errors.ts'
import { binlogObstacle, readBinlogFacts } from '../../../../stores/mysql/binlog-facts.ts'
import { type Database, type MysqlOptions, openDatabase } from '../../../../stores/mysql/database.ts'
import type { CountFeed, RunningFeed } from '../count-feed.ts'
import { startBeats } from '../feed-beats.ts'
import { type FeedLogger, connectToBinlog } from './binlog-connection.ts'
import { startDelivery } from './delivery.ts'
import { type Place, putBeat, putPlace, readEnd, readPlace } from './feed-places.ts'

export type BinlogFeedOptions = {
  /** Whose place it is: one name per process that follows. 1 to 64 bytes. */
  name: string
  /** Whose binary log is read, and as whom (REPLICATION SLAVE, REPLICATION CLIENT): the primary's, or a replica's that writes one. */
  mysql: MysqlOptions
  /** Milliseconds between two beats. Minimum 50. Default 1000. */
  beatEveryMs?: number
  /** Milliseconds without a byte, while beats are written, after which the connection is made anew. Default 15000. */
  stalledAfterMs?: number
  /** Changes one call of `onChanges` gets at most, where a single transaction has not more. Minimum 1. Default 1000. */
  batchMax?: number
}

const FIRST_BEAT_MAX_MS = 5_000

/** `database` is where beats and places are written: the primary. Connects when started. */
export function makeBinlogFeed(
  database: Database,
  options: BinlogFeedOptions,
  { clock, logger }: { clock: Clock; logger: FeedLogger },
): CountFeed {
  return { start: (onChanges, onGap = () => undefined) => startFeed(database, options, clock, logger, onChanges, onGap) }
}

async function startFeed(
  database: Database,
  options: BinlogFeedOptions,
  clock: Clock,
  logger: FeedLogger,
  onChanges: Parameters<CountFeed['start']>[0],
  onGap: (sentence: string) => void,
): Promise<RunningFeed> {
  const { name, beatEveryMs = 1_000, stalledAfterMs = 15_000, batchMax = 1_000 } = options
  const instance = randomBytes(8).toString('hex')
  const source = openDatabase(clock, { ...options.mysql, connectionsMax: 1 })
  const ended = Promise.withResolvers<unknown>()
  let finishing: Promise<void> | undefined
  let place: Place
  try {
    place = await firstPlace(database, source, name, onGap)
  } catch (error) {
    await source.close()
    throw error
  }
  /** Known to the database to be taken. */
  let storedTo = place

  const delivery = startDelivery(clock, { name, instance }, place, batchMax, onChanges, () => connection, logger)
  const connection = connectToBinlog(clock, source, { mysql: options.mysql, name, stalledAfterMs }, place, logger, {
    onPiece: delivery.add,
    onGap,
    onRefused: ended.resolve,
  })
  const beats = startBeats(clock, beatEveryMs, name, beat, logger)
  const refusal = await Promise.race([ended.promise, delivery.firstBeat, sleep(clock, FIRST_BEAT_MAX_MS)])
  if (refusal !== undefined) {
    await stop()
    throw refusal
  }
  return { readUntil: delivery.readUntil, ended: ended.promise, stop }

  async function beat(): Promise<void> {
    try {
      await database.session(async (session) => {
        await session.send(putBeat(name, instance, clock.now()))
        const takenTo = delivery.takenTo()
        if (takenTo !== storedTo) await session.send(putPlace(name, takenTo))
        storedTo = takenTo
      })
    } catch (error) {
      connection.excuseSilence()
      throw error
    }
    connection.endIfStalled(delivery.isFull())
  }

  function stop(): Promise<void> {
    finishing ??= finish()
    return finishing
  }

  async function finish(): Promise<void> {
    await Promise.all([connection.stop(), delivery.stop(), beats.stop()])
    const takenTo = delivery.takenTo()
    if (takenTo !== storedTo) await database.send(putPlace(name, takenTo)).catch(() => undefined)
    await source.close()
    ended.resolve(new Error('the change feed was stopped'))
  }
}

/** The stored place; without one, the end of the binary log, which is stored. */
async function firstPlace(database: Database, source: Database, name: string, onGap: (sentence: string) => void): Promise<Place> {
  const facts = await readBinlogFacts(source)
  const obstacle = binlogObstacle(facts)
  if (obstacle !== undefined) throw new TidemarkError('CONFIG_INVALID', `no change feed can be read from ${source.server}: ${obstacle}`)
  const stored = await readPlace(database, name)
  // A place of another kind is of another server, or of one whose GTIDs were switched on or off since.
  if (stored !== undefined && 'gtids' in stored === facts.hasGtids) return stored
  const end = await readEnd(source, facts)
  if (stored !== undefined) onGap(`the change feed "${name}" begins anew at ${source.server}: its place was of another kind of binary log`)
  await database.send(putPlace(name, end))
  return end
}
