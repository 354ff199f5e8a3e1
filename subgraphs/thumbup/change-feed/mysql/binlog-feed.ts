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
import type { CountFeed, RunningFeed } from '../count-feed.ts'
import { type BinlogReader, type Piece, readBinlog } from './binlog-reader.ts'
import { type Database, type MysqlOptions, openDatabase } from '../../../../stores/mysql/database.ts'
import { isMisconfigured } from '../../../../stores/mysql/failures.ts'
import { type Place, putBeat, putPlace, readEnd, readPlace } from './feed-places.ts'
import { binlogObstacle, readBinlogFacts } from '../../../../stores/mysql/binlog-facts.ts'

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

export type FeedLogger = Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>

const RETRY_MIN_MS = 100
const RETRY_MAX_MS = 5_000
/** Changes that wait for `onChanges`, beyond which nothing more is read. */
const WAITING_MAX = 10_000
const FIRST_BEAT_MAX_MS = 5_000
/** The log does not go on from this place, whatever is tried. */
const TRIES_MAX = 5
const CANNOT_SEND = 1236
const NO_SUCH_GTID = new Set([1945, 1955])
const PURGED = /purge|could not find|not found|not in the|no longer|missing|does not exist|impossible position/i

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
  const pieces: Piece[] = []
  const ended = Promise.withResolvers<unknown>()
  const stopping = Promise.withResolvers<void>()
  const firstBeat = Promise.withResolvers<void>()
  let stopped = false
  let finishing: Promise<void> | undefined
  let reader: BinlogReader | undefined
  let readUntil = 0
  let waiting = 0
  let wake: () => void = () => undefined
  /** Behind the last transaction that was read; that was taken; that is known to the database to be taken. */
  let readTo: Place
  let takenTo: Place
  let storedTo: Place | undefined
  let stall: (reason: Error) => void = () => undefined

  try {
    readTo = takenTo = await firstPlace()
  } catch (error) {
    await source.close()
    throw error
  }
  const lives = live()
  const taking = take()
  const beating = beat()
  const refusal = await Promise.race([ended.promise, firstBeat.promise, sleep(clock, FIRST_BEAT_MAX_MS)])
  if (refusal !== undefined) {
    await stop()
    throw refusal
  }
  return { readUntil: () => readUntil, ended: ended.promise, stop }

  async function firstPlace(): Promise<Place> {
    const facts = await readBinlogFacts(source)
    const obstacle = binlogObstacle(facts)
    if (obstacle !== undefined) throw new TidemarkError('CONFIG_INVALID', `no change feed can be read from ${source.server}: ${obstacle}`)
    const stored = await readPlace(database, name)
    // A place of another kind is of another server, or of one whose GTIDs were switched on or off since.
    if (stored !== undefined && 'gtids' in stored === facts.hasGtids) return (storedTo = stored)
    const end = await readEnd(source, facts)
    if (stored !== undefined)
      onGap(`the change feed "${name}" begins anew at ${source.server}: its place was of another kind of binary log`)
    await database.send(putPlace(name, end))
    return (storedTo = end)
  }

  async function live(): Promise<void> {
    let tries = 0
    for (let failures = 0; !stopped; failures++) {
      const began = readTo
      const stalled = new Promise<Error>((resolve) => {
        stall = resolve
      })
      reader = readBinlog(options.mysql, readTo, 2 ** 31 + (randomBytes(4).readUInt32BE() % 2 ** 31), {
        onPiece,
        onUnreadable: (error) => onGap(`a row of counts in the binary log of ${source.server} cannot be read: ${sentenceOf(error)}`),
      })
      const reason = await Promise.race([reader.ended, stalled, stopping.promise])
      await reader.end()
      if (stopped) break
      if (isMisconfigured(reason)) {
        ended.resolve(refusedError(source.server, reason))
        break
      }
      if (readTo !== began) failures = tries = 0
      logger.warn({ err: reason, feed: name }, 'the change feed lost its connection; making another')
      if (isOver(reason, ++tries)) await goOnFromNow(reason)
      await Promise.race([sleep(clock, Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(failures, 10))), stopping.promise])
    }
  }

  async function goOnFromNow(reason: unknown): Promise<void> {
    try {
      readTo = await readEnd(source, await readBinlogFacts(source))
      onGap(`the change feed "${name}" goes on from now, since ${source.server} has no more what came next: ${sentenceOf(reason)}`)
    } catch (error) {
      logger.warn({ err: error, feed: name }, 'the end of the binary log cannot be asked for')
    }
  }

  function onPiece(piece: Piece): void {
    pieces.push(piece)
    waiting += piece.changes.length
    if (piece.place !== undefined) readTo = piece.place
    if (waiting > WAITING_MAX) reader?.pause()
    wake()
  }

  async function take(): Promise<void> {
    while (!stopped) {
      if (pieces.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve
          if (stopped) resolve()
        })
        continue
      }
      let count = 0
      let size = 0
      while (count < pieces.length && (count === 0 || size + (pieces[count]?.changes.length ?? 0) <= batchMax))
        size += pieces[count++]?.changes.length ?? 0
      const batch = pieces.slice(0, count)
      if (!(await deliver(batch))) return
      pieces.splice(0, count)
      if (waiting > WAITING_MAX && waiting - size <= WAITING_MAX) reader?.resume()
      waiting -= size
    }
  }

  /** False if it was told to stop before they were taken. */
  async function deliver(batch: readonly Piece[]): Promise<boolean> {
    const changes = batch.flatMap((piece) => piece.changes)
    const counts = changes.flatMap((change) => (change.kind === 'count' ? [change.counted] : []))
    const owners = changes.flatMap((change) => (change.kind === 'owner' ? [change.sum] : []))
    for (let failures = 0; counts.length + owners.length > 0; failures++) {
      try {
        await onChanges({ counts, owners })
        break
      } catch (error) {
        if (failures === 0) logger.warn({ err: error, feed: name }, 'changes of counts could not be taken; trying again')
        await Promise.race([sleep(clock, Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(failures, 10))), stopping.promise])
        if (stopped) return false
      }
    }
    takenTo = batch.findLast((piece) => piece.place !== undefined)?.place ?? takenTo
    for (const change of changes) {
      if (change.kind !== 'beat' || change.feed !== name || change.instance !== instance) continue
      readUntil = Math.max(readUntil, change.beatAt)
      firstBeat.resolve()
    }
    return true
  }

  async function beat(): Promise<void> {
    let isSilent = false
    let bytes = -1
    let heardAt = clock.now()
    while (!stopped) {
      try {
        await database.session(async (session) => {
          await session.send(putBeat(name, instance, clock.now()))
          const place = takenTo
          if (place !== storedTo) await session.send(putPlace(name, place))
          storedTo = place
        })
        isSilent = false
        const now = clock.now()
        const read = reader?.bytesRead() ?? 0
        if (read !== bytes || waiting > WAITING_MAX) heardAt = now
        bytes = read
        if (now - heardAt >= stalledAfterMs) {
          heardAt = now
          stall(Object.assign(new Error(`no byte came for ${stalledAfterMs} ms`), { code: 'STALLED' }))
        }
      } catch (error) {
        heardAt = clock.now()
        if (!isSilent) logger.warn({ err: error, feed: name }, 'the beat of the change feed cannot be written')
        isSilent = true
      }
      await Promise.race([sleep(clock, beatEveryMs), stopping.promise])
    }
  }

  function stop(): Promise<void> {
    finishing ??= finish()
    return finishing
  }

  async function finish(): Promise<void> {
    stopped = true
    stopping.resolve()
    wake()
    await Promise.all([lives, taking, beating])
    if (takenTo !== storedTo) await database.send(putPlace(name, takenTo)).catch(() => undefined)
    await source.close()
    ended.resolve(new Error('the change feed was stopped'))
  }
}

/** Purged, or never there; or the same complaint about what comes next each time: too large, damaged, unknown. */
function isOver(reason: unknown, tries: number): boolean {
  const { errno, code, message } = reason as { errno?: number; code?: string; message?: string }
  if (errno !== undefined && NO_SUCH_GTID.has(errno)) return true
  if (errno === CANNOT_SEND) return PURGED.test(message ?? '') || tries >= TRIES_MAX
  return errno === undefined && code === undefined && tries >= TRIES_MAX
}

function refusedError(server: string, reason: unknown): TidemarkError {
  return new TidemarkError(
    'CONFIG_INVALID',
    `${server} does not let us read its binary log (${sentenceOf(reason)}): GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* to this account, or set feed to events`,
    { cause: reason },
  )
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
