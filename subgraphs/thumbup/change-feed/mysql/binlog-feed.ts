/**
 * The change feed of counts from the binary log of MySQL or MariaDB: every committed change, from any writer.
 *
 * A feed writes its own beat into the database each second. When it reads the beat back, every earlier commit has come too. Freshness is
 * therefore measured from end to end, with one clock. The feed stores its place with the beat: the last transaction for which `onChanges`
 * has resolved. After a restart of the process, the changes since the last beat may come again. After a reconnect none do, since waiting
 * changes stay in memory.
 *
 * A connection that ends is replaced, after a growing delay. A connection without a byte while beats are written counts as dead. If the
 * server has purged the next transaction, the feed reports a gap and continues with the next commit.
 *
 * A second feed of the same name in another process would read the same log and move the same place. Use one name per process.
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
  /** The name of the place: one name per process that follows. 1 to 64 bytes. */
  name: string
  /** The server and the account for the binary log (REPLICATION SLAVE, REPLICATION CLIENT): the primary, or a replica that writes one. */
  mysql: MysqlOptions
  /** Milliseconds between two beats. Minimum 50. Default 1000. */
  beatEveryMs?: number
  /** Milliseconds without a byte, while beats are written, before the feed reconnects. Default 15000. */
  stalledAfterMs?: number
  /** Changes per call of `onChanges`. A larger transaction comes as a whole. Minimum 1. Default 1000. */
  batchMax?: number
}

const FIRST_BEAT_MAX_MS = 5_000

/** `database` is the primary: beats and places are written there. Connects when started. */
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
  /** The place that the database has. */
  let storedTo = place

  const delivery = startDelivery(clock, onChanges, { name, instance, place, batchMax }, logger)
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

/** The stored place, or the end of the binary log, which is then stored. */
async function firstPlace(database: Database, source: Database, name: string, onGap: (sentence: string) => void): Promise<Place> {
  const facts = await readBinlogFacts(source)
  const obstacle = binlogObstacle(facts)
  if (obstacle !== undefined)
    throw new TidemarkError('CONFIG_INVALID', `the change feed cannot read the binary log of ${source.server}: ${obstacle}`)
  const stored = await readPlace(database, name)
  // A place of another kind comes from another server, or from before GTIDs were switched on or off.
  if (stored !== undefined && 'gtids' in stored === facts.hasGtids) return stored
  const end = await readEnd(source, facts)
  if (stored !== undefined)
    onGap(`the change feed "${name}" starts at the end of the binary log of ${source.server}: its place is of another kind of binary log`)
  await database.send(putPlace(name, end))
  return end
}
