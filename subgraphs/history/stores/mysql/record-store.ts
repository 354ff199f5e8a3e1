/**
 * The record store on MySQL 8, MariaDB 10.11 or TiDB. Tests run it on MariaDB; the SQL is the subset that all three document.
 *
 * A call of `putProgress` becomes multi-row upserts that merge inside the database (`statements.ts`), several at a time. Their number and
 * size follow the database's latency (`write-window.ts`). A statement is atomic and repeatable, and a call is several statements: if one
 * fails the call rejects, and the job sends all of it again. Rows are in the order of the primary key, so that writers lock in one order.
 * If they still deadlock, the loser sends its statement again.
 *
 * Viewers with consecutive ids make no hot spot: no index begins with a time or a counter, every key begins with the viewer, and the
 * viewers who write in one minute are spread over all viewers. A row enters the index by `written_hour` once an hour. On TiDB, a TTL table
 * would be better for that index and for `purgeExpired` (a DATETIME of the last write, `TTL = written_at + INTERVAL 90 DAY`): its nodes
 * then scan and delete expired rows by themselves, each in its own key range.
 */
import { type Clock, systemClock } from '../../../../core/clock.ts'
import type { ProgressRecord, TimelineEntry, ViewerId } from '../../../../core/domain.ts'
import { comparePlaces } from '../../model/places.ts'
import { type Random, systemRandom } from '../../../../core/random.ts'
import type { RecordStore } from '../record-store.ts'
import { type CheckedOptions, openCheckedDatabase } from '../../../../stores/mysql/checked-database.ts'
import type { Database, Row } from '../../../../stores/mysql/database.ts'
import { makeProgressPut } from './put.ts'
import { byOrder } from '../../../../stores/mysql/tuples.ts'
import { chunked } from '../../../../stores/chunks.ts'
import { makeContendedChange } from '../../../../stores/mysql/contended.ts'
import { packedHex } from '../../../../stores/mysql/literals.ts'
import { recordOf, settingsLiterals, settingsOf } from './rows.ts'
import {
  COUNT_PROGRESS,
  deleteCleared,
  deleteExpired,
  deleteHoursBefore,
  selectAllProgress,
  selectAllSettings,
  selectExpiredOfHour,
  selectPage,
  selectProgress,
  selectSettings,
  upsertSettings,
} from './statements.ts'
import { type WriteWindow, type WriteWindowOptions, makeWriteWindow, type MysqlFigures } from '../../../../stores/mysql/write-window.ts'
import { PING } from '../../../../stores/mysql/statements.ts'
import { idOf, keyOf } from '../../../../stores/mysql/cells.ts'

export type MysqlRecordStoreOptions = CheckedOptions & WriteWindowOptions

export type MysqlRecordStore = RecordStore & { figures(): MysqlFigures }

/** Keys per lookup statement. */
const KEYS_MAX = 128
/** Businesses per page statement. */
const PAGES_MAX = 16
/** Rows of the expiring hour that one purge step examines. The remaining rows wait until the hour is over. */
const HOUR_ROWS_MAX = 20_000
/** Counts are for operators, who can wait. */
const COUNT_TIMEOUT_MS = 600_000
const HOUR_MS = 3_600_000
/** A version is milliseconds times this number, plus a count. */
const VERSION_UNIT = 1_024

/**
 * Rejects with DATA_INCOMPATIBLE if the schema is missing, old or newer, or has another region count, and with CONFIG_INVALID if the
 * options are wrong or the server rejects the credentials. A server that does not answer does not prevent the start: the store opens, and
 * its calls reject with RECORD_STORE_UNAVAILABLE until the server answers and has been checked.
 */
export async function openMysqlRecordStore(
  options: MysqlRecordStoreOptions,
  clock: Clock = systemClock,
  random: Random = systemRandom,
): Promise<MysqlRecordStore> {
  const database = await openCheckedDatabase(options, clock)
  return makeRecordStore(database, makeWriteWindow(clock, options), clock, random)
}

function makeRecordStore(database: Database, window: WriteWindow, clock: Clock, random: Random): MysqlRecordStore {
  let retries = 0

  const change = makeContendedChange(database, clock, random, () => void (retries += 1))

  const put = makeProgressPut(window, change)
  return {
    readsAtOnceMax: database.connectionsMax,

    putProgress: put.putProgress,

    async putSettings(rows) {
      // A viewer's rows belong together, so they stay in one statement.
      const sorted = rows.map((row) => ({ order: packedHex(row.viewer), texts: settingsLiterals(row) })).sort(byOrder)
      for (const chunk of chunked(sorted, KEYS_MAX)) await change(upsertSettings(chunk.flatMap((row) => row.texts)))
    },

    async getProgressMany(keys) {
      const found = keys.map((): ProgressRecord | undefined => undefined)
      const read = async (start: number): Promise<void> => {
        const { rows } = await database.send(selectProgress(keys.slice(start, start + KEYS_MAX)))
        for (const row of rows) found[start + Number(row[0])] = recordOf(row, 1)
      }
      await Promise.all(Array.from({ length: Math.ceil(keys.length / KEYS_MAX) }, (_, chunk) => read(chunk * KEYS_MAX)))
      return found
    },

    async getSettingsMany(viewers) {
      const answers = await Promise.all(chunked(viewers, KEYS_MAX).map((chunk) => database.send(selectSettings(chunk))))
      const found = settingsOf(answers.flatMap((answer) => answer.rows))
      return viewers.map((viewer) => found.get(viewer))
    },

    async listProgress(viewer, businesses, before, limit) {
      const statements = chunked([...new Set(businesses)], PAGES_MAX).map((chunk) => selectPage(viewer, chunk, before, limit))
      const answers = await Promise.all(statements.map((statement) => database.send(statement)))
      const entries = answers.flatMap((answer) => answer.rows.map(entryOf))
      return entries.sort((a, b) => comparePlaces(placeOf(a), placeOf(b))).slice(0, limit)
    },

    purgeCleared: (viewer: ViewerId, business, clearedAt, limit) => change(deleteCleared(viewer, business, clearedAt, limit)),

    async purgeExpired(writtenBefore, limit) {
      if (writtenBefore <= 0) return 0
      const hour = Math.floor(writtenBefore / HOUR_MS)
      const removed = await change(deleteHoursBefore(hour, limit))
      if (removed > 0) return removed
      const version = writtenBefore * VERSION_UNIT
      const { rows } = await database.send(selectExpiredOfHour(hour, version, HOUR_ROWS_MAX, limit))
      let removedOfHour = 0
      for (const chunk of chunked(rows.map(keyOf), KEYS_MAX)) removedOfHour += await change(deleteExpired(chunk, version))
      return removedOfHour
    },

    async listAllProgress(after, limit, viewer) {
      const { rows } = await database.send(selectAllProgress(after, limit, viewer))
      return rows.map((row) => ({ key: keyOf(row), record: recordOf(row, 3) }))
    },

    async listAllSettings(after, limit) {
      const { rows } = await database.send(selectAllSettings(after, limit))
      return Array.from(settingsOf(rows), ([viewer, settings]) => ({ viewer, settings }))
    },

    async countProgress() {
      return Number((await database.send(COUNT_PROGRESS, COUNT_TIMEOUT_MS)).rows[0]?.[0])
    },

    async check() {
      await database.send(PING)
    },

    close: () => database.close(),
    figures: () => ({ ...window.figures(), rows: put.rows(), retries }),
  }
}

function entryOf(row: Row): TimelineEntry {
  return { business: Number(row[0]), oid: idOf(row[1]), record: recordOf(row, 2) }
}

function placeOf({ business, oid, record }: TimelineEntry) {
  return { viewedAt: record.viewedAt, business, oid }
}
