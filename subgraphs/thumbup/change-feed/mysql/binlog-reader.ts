/**
 * One connection to a binary log, from start to end. It turns the driver's events into transactions.
 *
 * The driver (zongji) delivers events as they come and does not wait. A reader that is behind pauses the connection, and the server waits
 * for up to its net_write_timeout. A transaction too large for memory comes in pieces, and only the last piece has a place. A reader that
 * continues from a place gets whole transactions.
 */
import ZongJi from '@vlasky/zongji'
import type { MysqlOptions } from '../../../../stores/mysql/database.ts'
import { connectionOptions } from '../../../../stores/mysql/database.ts'
import { type Change, FEED_TABLES, type FeedRow, type FeedTable, changeOf } from '../feed-rows.ts'
import type { Place } from './feed-places.ts'

/** `place` is absent if the transaction continues. */
export type Piece = { changes: readonly Change[]; place?: Place }

export type BinlogReader = {
  /** Resolves with the reason when nothing more comes. */
  ended: Promise<unknown>
  /** Bytes received, for any table: a sign that the connection lives. */
  bytesRead(): number
  pause(): void
  resume(): void
  end(): Promise<void>
}

export type ReaderHooks = {
  onPiece(piece: Piece): void
  /** Called for each unreadable row of our tables. The row is skipped. */
  onUnreadable(error: unknown): void
}

const PIECE_MAX = 5_000
const EVENTS = ['tablemap', 'writerows', 'updaterows', 'deleterows', 'xid']

type RowsEvent = { tableId: number; tableMap: Record<number, { tableName: string }>; rows: readonly unknown[] }

export function readBinlog(options: MysqlOptions, place: Place, serverId: number, hooks: ReaderHooks): BinlogReader {
  const connection = connectionOptions(options)
  const zongji = new ZongJi({ ...connection, dateStrings: true })
  const ending = Promise.withResolvers<unknown>()
  let changes: Change[] = []

  zongji.on('error', ending.resolve)
  zongji.on('binlog', (event) => {
    const name = event.getTypeName() as string
    if (name === 'WriteRows') take(event as unknown as RowsEvent, (row) => row as FeedRow)
    else if (name === 'UpdateRows') take(event as unknown as RowsEvent, (row) => (row as { after: FeedRow }).after)
    else if (name === 'Xid' && changes.length > 0) pass({ changes, place: placeNow() })
  })
  zongji.start({
    serverId,
    ...('gtids' in place ? { gtidSet: place.gtids } : { filename: place.file, position: place.position }),
    includeEvents: EVENTS,
    includeSchema: { [connection.database]: [...FEED_TABLES] },
  })

  function take(event: RowsEvent, rowOf: (row: unknown) => FeedRow): void {
    const table = event.tableMap[event.tableId]?.tableName as FeedTable
    for (const row of event.rows) {
      try {
        const change = changeOf(table, rowOf(row))
        if (change !== undefined) changes.push(change)
      } catch (error) {
        hooks.onUnreadable(error)
      }
    }
    if (changes.length >= PIECE_MAX) pass({ changes })
  }

  function pass(piece: Piece): void {
    changes = []
    hooks.onPiece(piece)
  }

  /** Call it only within the event that ends a transaction: the place then includes that transaction. */
  function placeNow(): Place {
    if ('gtids' in place && zongji.gtidSet !== undefined) return { gtids: zongji.gtidSet }
    return { file: zongji.options.filename ?? '', position: zongji.options.position ?? 4 }
  }

  return {
    ended: ending.promise,
    bytesRead: () => (zongji.connection as unknown as { stream?: { bytesRead: number } } | null)?.stream?.bytesRead ?? 0,
    pause: () => zongji.connection?.pause(),
    resume: () => zongji.connection?.resume(),
    end: () =>
      new Promise((resolve) => {
        zongji.once('stopped', () => resolve())
        zongji.stop()
      }),
  }
}
