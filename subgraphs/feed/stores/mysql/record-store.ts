/**
 * The record store of the feed on MySQL 8, MariaDB 10.11 or TiDB. Tests run it on MariaDB; the SQL is the subset that all three document.
 *
 * A call of `putPosts` is one transaction (`put.ts`), since posts and their inboxes belong together. The latency of the database limits the
 * transactions in flight (`write-window.ts`), so a slow database gets lag.
 */
import { type Clock, systemClock } from '../../../../core/clock.ts'
import { type Random, systemRandom } from '../../../../core/random.ts'
import { type CheckedOptions, openCheckedDatabase } from '../../../../stores/mysql/checked-database.ts'
import type { Database, Session } from '../../../../stores/mysql/database.ts'
import { PING } from '../../../../stores/mysql/statements.ts'
import { makeTransactions } from '../../../../stores/mysql/transactions.ts'
import { runInTurn } from '../../../../stores/mysql/turns.ts'
import { type MysqlFigures, type WriteWindow, type WriteWindowOptions, makeWriteWindow } from '../../../../stores/mysql/write-window.ts'
import type { FeedRecords } from '../record-store.ts'
import { putPosts, putWords } from './put.ts'
import { makeFeedReads } from './read.ts'
import { deleteTombstones } from './statements.ts'

/** A statement of the window's options is a transaction here, and `rowsMax` applies to each statement of it. */
export type MysqlFeedRecordsOptions = CheckedOptions & WriteWindowOptions

/** As in the record store of history, with a transaction in place of a statement. */
export type MysqlFeedRecords = FeedRecords & { figures(): MysqlFigures }

const PURGED_AT_ONCE = 1_000
/** A transaction has a few hundred posts, and thousands of rows of inboxes. */
const SLOW_MS = 2_000

/** As `openMysqlRecordStore`. */
export async function openMysqlFeedRecords(
  options: MysqlFeedRecordsOptions,
  clock: Clock = systemClock,
  random: Random = systemRandom,
): Promise<MysqlFeedRecords> {
  const database = await openCheckedDatabase(options, clock)
  return makeFeedRecords(database, makeWriteWindow(clock, { slowMs: SLOW_MS, ...options }), clock, random)
}

function makeFeedRecords(database: Database, window: WriteWindow, clock: Clock, random: Random): MysqlFeedRecords {
  const transactions = makeTransactions(database, clock, random)
  let rowsSent = 0

  async function change(rows: number, work: (session: Session, rowsMax: number) => Promise<void>): Promise<void> {
    if (rows === 0) return
    const turn = await window.enter(rows)
    await runInTurn(turn, () => transactions.change((session) => work(session, turn.rows)))
    rowsSent += rows
  }

  return {
    readsAtOnceMax: database.connectionsMax,
    putPosts: (posts) => {
      const inboxRows = posts.reduce((sum, { audience = [] }) => sum + audience.length, 0)
      return change(posts.length + inboxRows, (session, rowsMax) => putPosts(session, posts, rowsMax))
    },
    putWords: (rows) => change(rows.length, (session) => putWords(session, rows)),
    ...makeFeedReads(database),

    async purgeDeleted(versionBelow, limit) {
      const some = Math.min(limit, PURGED_AT_ONCE)
      if (versionBelow <= 0 || some <= 0) return 0
      return (await transactions.change((session) => session.send(deleteTombstones(versionBelow, some)))).affected
    },

    async check() {
      await database.send(PING)
    },

    close: () => database.close(),
    figures: () => ({ ...window.figures(), rows: rowsSent, retries: transactions.retries() }),
  }
}
