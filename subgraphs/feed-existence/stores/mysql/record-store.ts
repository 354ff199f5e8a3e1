/**
 * The record store of filters on MySQL 8, MariaDB 10.11 or TiDB. Tests run it on MariaDB; the SQL is the subset that all three document.
 *
 * A call of `putFilters` becomes transactions of some filters each (`put.ts`), several at a time. Their number and size follow the
 * database's latency (`write-window.ts`). Each filter is independent, so a call may be split anywhere. If a transaction fails, the call
 * rejects; its repetition is refused for the filters that were written. A transaction is limited in bytes as well as in rows: filters of
 * heavy viewers have a hundred times the bytes of others, and locks are held until the whole transaction is on the server.
 */
import { type Clock, systemClock } from '../../../../core/clock.ts'
import { type Random, systemRandom } from '../../../../core/random.ts'
import type { SeenRecords } from '../record-store.ts'
import { type CheckedOptions, openCheckedDatabase } from '../../../../stores/mysql/checked-database.ts'
import type { Database } from '../../../../stores/mysql/database.ts'
import { PING } from '../../../../stores/mysql/statements.ts'
import { makeTransactions } from '../../../../stores/mysql/transactions.ts'
import { type MysqlFigures, type WriteWindow, type WriteWindowOptions, makeWriteWindow } from '../../../../stores/mysql/write-window.ts'
import { makeFilterPersist } from './persist.ts'
import { makeQuarantine } from './quarantine.ts'
import { makeFilterReads } from './read.ts'
import { deleteExpiredOf } from './statements.ts'

/** In the window's options, a statement is a transaction here, and `rowsMax` is its number of filters. */
export type MysqlSeenRecordsOptions = CheckedOptions & WriteWindowOptions

/** As in the record store of history: a statement is a transaction. */
export type MysqlSeenRecords = SeenRecords & { figures(): MysqlFigures }

const PURGED_AT_ONCE = 1_000
const SLOW_MS = 1_000
/** As `openMysqlRecordStore`. */
export async function openMysqlSeenRecords(
  options: MysqlSeenRecordsOptions,
  clock: Clock = systemClock,
  random: Random = systemRandom,
): Promise<MysqlSeenRecords> {
  const database = await openCheckedDatabase(options, clock)
  return makeSeenRecords(database, makeWriteWindow(clock, { slowMs: SLOW_MS, ...options }), clock, random)
}

function makeSeenRecords(database: Database, window: WriteWindow, clock: Clock, random: Random): MysqlSeenRecords {
  const transactions = makeTransactions(database, clock, random)
  const persist = makeFilterPersist(transactions, window)

  return {
    readsAtOnceMax: database.connectionsMax,
    putFilters: persist.putFilters,
    ...makeFilterReads(database),
    ...makeQuarantine(database, transactions),

    async purgeExpired(expiredBefore, limit) {
      const some = Math.min(limit, PURGED_AT_ONCE)
      if (expiredBefore < 0 || some <= 0) return 0
      for (const table of ['seen_filters', 'seen_quarantine'] as const) {
        const { affected } = await transactions.change((session) => session.send(deleteExpiredOf(table, expiredBefore, some)))
        if (affected > 0) return affected
      }
      return 0
    },

    async check() {
      await database.send(PING)
    },

    close: () => database.close(),
    figures: () => ({ ...window.figures(), ...persist.figures(), retries: transactions.retries() }),
  }
}
