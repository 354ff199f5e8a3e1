/**
 * The connection of a feed to the binary log. If it ends, or brings no byte for too long, a new connection continues behind the last
 * transaction that was read.
 */
import { randomBytes } from 'node:crypto'
import { type Clock, sleep } from '../../../../core/clock.ts'
import { TidemarkError } from '../../../../core/errors.ts'
import { readBinlogFacts } from '../../../../stores/mysql/binlog-facts.ts'
import type { Database, MysqlOptions } from '../../../../stores/mysql/database.ts'
import { isMisconfigured } from '../../../../stores/mysql/failures.ts'
import { type BinlogReader, type Piece, readBinlog } from './binlog-reader.ts'
import { type Place, readEnd } from './feed-places.ts'
import { retryDelayMs } from './feed-retries.ts'

export type FeedLogger = Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>

export type BinlogConnectionHooks = {
  /** Until the returned promise resolves, the connection pauses. */
  onPiece(piece: Piece): Promise<void> | undefined
  onGap(sentence: string): void
  /** The server refuses the account. The feed does not connect again. */
  onRefused(error: TidemarkError): void
}

/** Tries before the feed gives up a place at which the log cannot continue. */
const TRIES_MAX = 5
const CANNOT_SEND = 1236
const NO_SUCH_GTID = new Set([1945, 1955])
const PURGED = /purge|could not find|not found|not in the|no longer|missing|does not exist|impossible position/i

/** `source`: queries the server whose binary log is read. */
export function connectToBinlog(
  clock: Clock,
  source: Database,
  { mysql, name, stalledAfterMs }: { mysql: MysqlOptions; name: string; stalledAfterMs: number },
  place: Place,
  logger: FeedLogger,
  { onPiece, onGap, onRefused }: BinlogConnectionHooks,
) {
  const stopping = Promise.withResolvers<void>()
  let stopped = false
  let reader: BinlogReader | undefined
  /** Behind the last transaction that was read. */
  let readTo = place
  let stall: (reason: Error) => void = () => undefined
  let bytes = -1
  let heardAt = clock.now()
  const finished = keepConnected()

  async function keepConnected(): Promise<void> {
    let tries = 0
    for (let failures = 0; !stopped; failures++) {
      const began = readTo
      const stalled = new Promise<Error>((resolve) => {
        stall = resolve
      })
      reader = readBinlog(mysql, readTo, 2 ** 31 + (randomBytes(4).readUInt32BE() % 2 ** 31), {
        onPiece(piece) {
          if (piece.place !== undefined) readTo = piece.place
          const room = onPiece(piece)
          if (room === undefined) return
          reader?.pause()
          void room.then(() => reader?.resume())
        },
        onUnreadable: (error) => onGap(`a row of counts in the binary log of ${source.server} cannot be read: ${sentenceOf(error)}`),
      })
      const reason = await Promise.race([reader.ended, stalled, stopping.promise])
      await reader.end()
      if (stopped) break
      if (isMisconfigured(reason)) {
        onRefused(refusedError(source.server, reason))
        break
      }
      if (readTo !== began) failures = tries = 0
      logger.warn({ err: reason, feed: name }, 'the change feed lost its connection and reconnects')
      if (isOver(reason, ++tries)) await goOnFromNow(reason)
      await Promise.race([sleep(clock, retryDelayMs(failures)), stopping.promise])
    }
  }

  async function goOnFromNow(reason: unknown): Promise<void> {
    try {
      readTo = await readEnd(source, await readBinlogFacts(source))
      onGap(
        `the change feed "${name}" continues with the next commit, since ${source.server} no longer has the next transaction: ${sentenceOf(reason)}`,
      )
    } catch (error) {
      logger.warn({ err: error, feed: name }, 'the end of the binary log cannot be read')
    }
  }

  /** Called after each beat. `isPaused`: no byte is expected. */
  function endIfStalled(isPaused: boolean): void {
    const now = clock.now()
    const read = reader?.bytesRead() ?? 0
    if (read !== bytes || isPaused) heardAt = now
    bytes = read
    if (now - heardAt < stalledAfterMs) return
    heardAt = now
    stall(Object.assign(new Error(`the connection brought no byte for ${stalledAfterMs} ms`), { code: 'STALLED' }))
  }

  /** Called when a beat could not be written: no byte of it can come. */
  function excuseSilence(): void {
    heardAt = clock.now()
  }

  return {
    endIfStalled,
    excuseSilence,
    async stop() {
      stopped = true
      stopping.resolve()
      await finished
    },
  }
}

/** True if the log was purged, never existed, or fails at the same place each time: too large, damaged, unknown. */
function isOver(reason: unknown, tries: number): boolean {
  const { errno, code, message } = reason as { errno?: number; code?: string; message?: string }
  if (errno !== undefined && NO_SUCH_GTID.has(errno)) return true
  if (errno === CANNOT_SEND) return PURGED.test(message ?? '') || tries >= TRIES_MAX
  return errno === undefined && code === undefined && tries >= TRIES_MAX
}

function refusedError(server: string, reason: unknown): TidemarkError {
  return new TidemarkError(
    'CONFIG_INVALID',
    `${server} refuses to send its binary log (${sentenceOf(reason)}): GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* to this account, or set feed to events`,
    { cause: reason },
  )
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
