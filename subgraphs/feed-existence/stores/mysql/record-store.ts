/**
 * The record store of filters on MySQL 8, MariaDB 10.11 or TiDB. Tests run it on MariaDB; the SQL is the subset all three
 * document.
 *
 * A call of `putFilters` becomes transactions of some filters each (`put.ts`), several at a time, as many and as
 * large as the database's latency allows (`write-window.ts`). Each filter is a fact by itself, so a call may be cut anywhere;
 * if a transaction fails the call rejects, and its repetition is refused for what was written. A transaction is limited in
 * bytes as well as in rows: filters of heavy viewers have a hundred times the bytes of others, and locks are held until all
 * of a transaction is on the server.
 */
import { type Clock, systemClock } from '../../../../core/clock.ts'
import { type Random, systemRandom } from '../../../../core/random.ts'
import { cutReason } from '../../../../stores/reasons.ts'
import type { FilterWrite, SeenRecords, StoredFilter } from '../record-store.ts'
import { type CheckedOptions, openCheckedDatabase } from '../../../../stores/mysql/checked-database.ts'
import type { Database } from '../../../../stores/mysql/database.ts'
import { isOverload } from '../../../../stores/mysql/failures.ts'
import { bytesLiteral, idLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import { type PackedWrite, packFilterKey, packWrites, putSome } from './put.ts'
import {
  MEASURE_FILTERS,
  COUNT_QUARANTINED,
  copyToQuarantine,
  deleteExpiredOf,
  lockFilters,
  selectFilters,
  selectFiltersOf,
  selectQuarantined,
  setFilterAside,
} from './statements.ts'
import { makeTransactions } from '../../../../stores/mysql/transactions.ts'
import {
  type Turn,
  type WriteWindow,
  type WriteWindowOptions,
  makeWriteWindow,
  type MysqlFigures,
} from '../../../../stores/mysql/write-window.ts'
import { PING } from '../../../../stores/mysql/statements.ts'
import { KEYS_MAX, chunked, placed } from '../../../../stores/mysql/tuples.ts'
import { idOf } from '../../../../stores/mysql/cells.ts'

/** In the window's options a statement is a transaction here, and `rowsMax` its filters. */
export type MysqlSeenRecordsOptions = CheckedOptions & WriteWindowOptions

/** As of progress: a statement is a transaction. */
export type MysqlSeenRecords = SeenRecords & { figures(): MysqlFigures }

/** Bytes of the filters of a transaction, unless one filter alone has more. */
const TRANSACTION_BYTES_MAX = 1_048_576
const PURGED_AT_ONCE = 1_000
const SLOW_MS = 1_000
/** Operators who measure have time. */
const MEASURE_TIMEOUT_MS = 600_000

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
  let rowsSent = 0

  async function putFilters(writes: readonly FilterWrite[]): Promise<boolean[]> {
    const packed = packWrites(writes)
    const written = writes.map(() => false)
    const underWay = new Set<Promise<void>>()
    const failures: unknown[] = []
    for (let next = 0; next < packed.length && failures.length === 0;) {
      const turn = await window.enter(packed.length - next)
      const chunk = fitting(packed, next, turn.rows)
      next += chunk.length
      const sent = putChunk(chunk, turn, written)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => underWay.delete(sent))
      underWay.add(sent)
    }
    await Promise.all(underWay)
    if (failures.length > 0) throw failures[0]
    return written
  }

  async function putChunk(chunk: readonly PackedWrite[], turn: Turn, written: boolean[]): Promise<void> {
    try {
      const done = await transactions.change((session) => putSome(session, chunk))
      chunk.forEach(({ index }, at) => (written[index] = done[at] === true))
      rowsSent += chunk.length
      turn.end('done')
    } catch (error) {
      turn.end(isOverload(error) ? 'overloaded' : 'failed')
      throw error
    }
  }

  return {
    readsAtOnceMax: database.connectionsMax,
    putFilters,

    async getFilters(keys) {
      const found = keys.map((): StoredFilter | undefined => undefined)
      const read = async (start: number): Promise<void> => {
        const some = keys.slice(start, start + KEYS_MAX).map((key) => packFilterKey(key).key)
        const { rows } = await database.send(selectFilters(placed(some)))
        for (const row of rows) found[start + Number(row[0])] = { filter: row[2] as Buffer, version: Number(row[1]) }
      }
      await Promise.all(Array.from({ length: Math.ceil(keys.length / KEYS_MAX) }, (_, chunk) => read(chunk * KEYS_MAX)))
      return found
    },

    async listFilters(viewers) {
      const found = viewers.map((): (StoredFilter & { month: number })[] => [])
      const read = async (some: readonly string[], start: number): Promise<void> => {
        const { rows } = await database.send(selectFiltersOf(placed(some.map((viewer) => [idLiteral(viewer)]))))
        for (const row of rows) {
          const list = found[start + Number(row[0])]
          list?.push({ month: Number(row[1]), filter: row[3] as Buffer, version: Number(row[2]) })
        }
      }
      await Promise.all(chunked(viewers, KEYS_MAX).map((some, chunk) => read(some, chunk * KEYS_MAX)))
      for (const list of found) list.sort((a, b) => a.month - b.month)
      return found
    },

    quarantineFilter(key, version, reason, rebuilt) {
      const [viewer = '', month = ''] = packFilterKey(key).key
      const text = bytesLiteral(Buffer.from(cutReason(reason)))
      return transactions.change(async (session) => {
        const [row] = (await session.send(lockFilters([['0', viewer, month]]))).rows
        if (row === undefined || Number(row[1]) !== version || Number(row[2]) === 1) return false
        await session.send(copyToQuarantine(viewer, month, text))
        await session.send(setFilterAside(viewer, month, placeOf(rebuilt)))
        return true
      })
    },

    async listQuarantined(limit, whose) {
      const { rows } = await database.send(selectQuarantined(Math.max(0, limit), whose === undefined ? undefined : idLiteral(whose)))
      return rows.map((row) => ({
        viewer: idOf(row[0]),
        month: Number(row[1]),
        version: Number(row[2]),
        reason: String(row[3]),
        filter: row[4] as Buffer,
      }))
    },

    async countQuarantined() {
      const { rows } = await database.send(COUNT_QUARANTINED)
      return Number(rows[0]?.[0])
    },

    async purgeExpired(expiredBefore, limit) {
      const some = Math.min(limit, PURGED_AT_ONCE)
      if (expiredBefore < 0 || some <= 0) return 0
      for (const table of ['seen_filters', 'seen_quarantine'] as const) {
        const { affected } = await transactions.change((session) => session.send(deleteExpiredOf(table, expiredBefore, some)))
        if (affected > 0) return affected
      }
      return 0
    },

    async measureFilters() {
      const { rows } = await database.send(MEASURE_FILTERS, MEASURE_TIMEOUT_MS)
      const expiring = rows.map((row) => ({ day: Number(row[0]), filters: Number(row[1]) }))
      return {
        filters: expiring.reduce((sum, { filters }) => sum + filters, 0),
        bytes: rows.reduce((sum, row) => sum + Number(row[2]), 0),
        expiring,
      }
    },

    async check() {
      await database.send(PING)
    },

    close: () => database.close(),
    figures: () => ({ ...window.figures(), rows: rowsSent, retries: transactions.retries() }),
  }
}

function placeOf(rebuilt: Buffer | undefined): { bytes: string; filter: string } | undefined {
  return rebuilt && { bytes: numberLiteral(rebuilt.length), filter: bytesLiteral(rebuilt) }
}

/** From `start` on, up to `rowsMax` writes that fit into a transaction; at least one. */
function fitting(writes: readonly PackedWrite[], start: number, rowsMax: number): PackedWrite[] {
  let end = start
  for (let bytes = 0; end < writes.length && end - start < rowsMax; end++) {
    bytes += (writes[end] as PackedWrite).filter.length
    if (bytes > TRANSACTION_BYTES_MAX && end > start) break
  }
  return writes.slice(start, end)
}
