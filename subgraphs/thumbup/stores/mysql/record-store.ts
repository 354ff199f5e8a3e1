/**
 * The record store of marks on MySQL 8, MariaDB 10.11 or TiDB. Tests run it on MariaDB; the SQL is the subset all three
 * document.
 *
 * `apply.ts` is the transaction that writes. Calls in flight are as many as the database's latency allows
 * (`write-window.ts`), so a slow database gets lag; a call is not split, for its rows and its offsets are one fact. Recent
 * marks are rows of `likes`, archived ones lie in `mark_blocks` (`archive.ts`); a row covers what the archive has of
 * its key, whatever the row says.
 *
 * What reads one tier after the other reads rows first: marks move from rows to blocks and never back, so none is missed.
 * Lists and recounts, which would see one twice, read as of one moment.
 */
import { type Clock, systemClock } from '../../../../core/clock.ts'
import type { MarkKey, MarkRecord } from '../../../../core/domain.ts'
import { type Random, systemRandom } from '../../../../core/random.ts'
import type { MarkRecords } from '../record-store.ts'
import { applyMarks, countsOf, streamLiteral } from './apply.ts'
import { type CheckedOptions, openCheckedDatabase } from '../../../../stores/mysql/checked-database.ts'
import type { Database } from '../../../../stores/mysql/database.ts'
import { isOverload } from '../../../../stores/mysql/failures.ts'
import { idLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import { findArchived } from './archive-reads.ts'
import { archiveSome, purgeSome } from './archive.ts'
import { readCounts, readOwnerSums, recountOwnersSome, recountSome, registerSome } from './recount.ts'
import { exportPage } from './export.ts'
import { ofSubject, ofViewer, readMarkedSubjects, readPage } from './lists.ts'
import { markRecordOf, packKey, packRows } from './rows.ts'
import {
  ANALYZE,
  MEASURE_BLOCKS,
  MEASURE_BYTES,
  MEASURE_ROWS,
  TABLES_OF_BUSINESS,
  deleteOfBusiness,
  measureOfBusiness,
  selectMarks,
  selectOffsets,
  selectOwners,
  selectRegistrations,
  selectSubjects,
} from './statements.ts'
import { dropChanges, putChanges, readOutbox, readOutboxNumbers } from './outbox.ts'
import { makeTransactions } from '../../../../stores/mysql/transactions.ts'
import { type WriteWindow, type WriteWindowOptions, makeWriteWindow, type MysqlFigures } from '../../../../stores/mysql/write-window.ts'
import { PING } from '../../../../stores/mysql/statements.ts'
import { KEYS_MAX, chunked, placed } from '../../../../stores/mysql/tuples.ts'
import { idOf } from '../../../../stores/mysql/cells.ts'

/** In the window's options a statement is a transaction here, and `rowsMax` the rows of each of its statements. */
export type MysqlMarkRecordsOptions = CheckedOptions & WriteWindowOptions

/** As of progress: a statement is a transaction. */
export type MysqlMarkRecords = MarkRecords & { figures(): MysqlFigures }

/** Rows that one transaction moves into the archive. */
const ARCHIVED_AT_ONCE = 2_000
/** A transaction of some thousand marks takes some hundred milliseconds. */
const SLOW_MS = 2_000
/** Operators who measure have time. */
const MEASURE_TIMEOUT_MS = 600_000

/** As `openMysqlRecordStore`. */
export async function openMysqlMarkRecords(
  options: MysqlMarkRecordsOptions,
  clock: Clock = systemClock,
  random: Random = systemRandom,
): Promise<MysqlMarkRecords> {
  const database = await openCheckedDatabase(options, clock)
  return makeMarkRecords(database, makeWriteWindow(clock, { slowMs: SLOW_MS, ...options }), clock, random)
}

function makeMarkRecords(database: Database, window: WriteWindow, clock: Clock, random: Random): MysqlMarkRecords {
  const transactions = makeTransactions(database, clock, random)
  let rowsSent = 0

  async function getMarkMany(keys: readonly MarkKey[]): Promise<(MarkRecord | undefined)[]> {
    const found = keys.map((): MarkRecord | undefined => undefined)
    const read = async (chunk: readonly MarkKey[], start: number): Promise<void> => {
      const { rows } = await database.send(selectMarks(placed(chunk.map((key) => packKey(key).tuple))))
      for (const row of rows) found[start + Number(row[0])] = markRecordOf(row, 1)
    }
    await Promise.all(chunked(keys, KEYS_MAX).map((chunk, i) => read(chunk, i * KEYS_MAX)))
    const missing = keys.flatMap((_, place) => (found[place] === undefined ? [place] : []))
    const archived = await findArchived(
      database,
      missing.map((place) => keys[place] as MarkKey),
    )
    missing.forEach((place, i) => (found[place] = archived[i]))
    return found
  }

  return {
    readsAtOnceMax: database.connectionsMax,

    async applyMarks(rows, offsets) {
      const packed = packRows(rows)
      const turn = await window.enter(Math.max(1, rows.length))
      try {
        const applied = await transactions.change((session) => applyMarks(session, packed, offsets, turn.rows))
        rowsSent += rows.length
        turn.end('done')
        return applied
      } catch (error) {
        turn.end(isOverload(error) ? 'overloaded' : 'failed')
        throw error
      }
    },

    async getOffsets(stream) {
      const { rows } = await database.send(selectOffsets(streamLiteral(stream)))
      return rows.map(([partition, offset]) => ({ stream, partition: Number(partition), offset: Number(offset) }))
    },

    listOutbox: (limit, after = 0) => readOutbox(database, limit, after),
    listOutboxNumbers: (limit) => readOutboxNumbers(database, limit, 0),
    dropOutbox: (numbers) => dropChanges(database, numbers),

    getMarkMany,

    async listMarks(viewer, business, marks, before, limit) {
      const page = await readPage(database, transactions, ofViewer(viewer, business), marks, before, limit)
      return page.map(({ id, mark, markedAt, version }) => ({ oid: id, mark, markedAt, version }))
    },

    async listLikers(subject, before, limit) {
      const page = await readPage(database, transactions, ofSubject(subject), ['LIKE'], before, limit)
      return page.map(({ id, markedAt }) => ({ id, markedAt }))
    },

    async getCountsMany(subjects) {
      return (await readCounts(database, subjects)).map(({ counts }) => counts)
    },

    getOwnerSums: (owners) => readOwnerSums(database, owners),

    registerSubjects: (registrations) =>
      transactions.change(async (session) => {
        const owners = await registerSome(session, registrations)
        if (owners.length > 0) await putChanges(session, { transitions: [], counts: [], owners })
        return owners
      }),

    async getOwners(subjects) {
      return (await readCounts(database, subjects)).map(({ owner }) => owner)
    },

    recount: (subjects) => transactions.snapshot((session) => recountSome(session, subjects)),
    recountOwners: (owners) => transactions.snapshot((session) => recountOwnersSome(session, owners)),

    async listSubjects(business, after, limit) {
      const from = after === undefined ? undefined : idLiteral(after)
      const { rows } = await database.send(selectSubjects(numberLiteral(business), from, limit))
      return rows.map((row) => ({ business, oid: idOf(row[0]), counts: countsOf(row, 1) }))
    },

    listMarkedSubjects: (business, after, limit) => readMarkedSubjects(database, business, after, limit),

    async listOwners(business, after, limit) {
      const from = after === undefined ? undefined : idLiteral(after)
      const { rows } = await database.send(selectOwners(numberLiteral(business), from, limit))
      return rows.map((row) => ({ business, owner: idOf(row[0]), likes: Number(row[1]), version: Number(row[2]) }))
    },

    async archiveMarks(markedBefore, limit) {
      let archived = 0
      while (archived < limit) {
        const some = Math.min(ARCHIVED_AT_ONCE, limit - archived)
        const went = await transactions.change((session) => archiveSome(session, markedBefore, some))
        if (went === 0) break
        archived += went
      }
      return archived
    },

    purgeUndone: (undoneBefore, limit) => transactions.change((session) => purgeSome(session, undoneBefore, limit)),

    exportMarks: (business, after, limit) => transactions.snapshot((session) => exportPage(session, business, after, limit)),

    async listRegistrations(business, after, limit) {
      const from = after === undefined ? undefined : idLiteral(after)
      const { rows } = await database.send(selectRegistrations(numberLiteral(business), from, limit))
      return rows.map((row) => ({ business, oid: idOf(row[0]), owner: idOf(row[1]) }))
    },

    async measureBusiness(business) {
      const [row] = (await database.send(measureOfBusiness(numberLiteral(business)), MEASURE_TIMEOUT_MS)).rows
      return { rows: Number(row?.[0]), blocks: Number(row?.[1]), subjects: Number(row?.[2]), owners: Number(row?.[3]) }
    },

    async deleteBusiness(business, limit) {
      for (const table of TABLES_OF_BUSINESS) {
        const { affected } = await transactions.change((session) => session.send(deleteOfBusiness(table, numberLiteral(business), limit)))
        if (affected > 0) return affected
      }
      return 0
    },

    async measureMarks() {
      const [row] = (await database.send(MEASURE_ROWS, MEASURE_TIMEOUT_MS)).rows
      const [archived] = (await database.send(MEASURE_BLOCKS, MEASURE_TIMEOUT_MS)).rows
      await database.send(ANALYZE, MEASURE_TIMEOUT_MS)
      const bytes = new Map((await database.send(MEASURE_BYTES)).rows.map(([table, size]) => [String(table), Number(size)]))
      return {
        recent: Number(row?.[0]),
        archived: Number(archived?.[0]) - Number(row?.[1]),
        recentBytes: bytes.get('likes') ?? 0,
        archivedBytes: bytes.get('mark_blocks') ?? 0,
      }
    },

    async check() {
      await database.send(PING)
    },

    close: () => database.close(),
    figures: () => ({ ...window.figures(), rows: rowsSent, retries: transactions.retries() }),
  }
}
