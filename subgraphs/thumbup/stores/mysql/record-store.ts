/**
 * The record store of marks on MySQL 8, MariaDB 10.11 or TiDB. Tests run it on MariaDB. The SQL is the subset that all three document.
 *
 * `apply.ts` is the writing transaction. The latency of the database limits the calls in flight (`write-window.ts`), so a slow database
 * gets lag. A call is not split, since its rows and its offsets belong together. Recent marks are rows of `likes`, and archived ones are in
 * `mark_blocks` (`archive.ts`). A row covers the archived mark of its key, whatever the row's mark is.
 *
 * A reader of both tiers reads rows first. Marks move from rows to blocks and never back, so none is missed. Lists and recounts would count
 * a moving mark twice, so they use a snapshot.
 */
import { type Clock, systemClock } from '../../../../core/clock.ts'
import { type Random, systemRandom } from '../../../../core/random.ts'
import type { MarkRecords } from '../record-store.ts'
import { applyMarks, streamLiteral } from './apply.ts'
import { type CheckedOptions, openCheckedDatabase } from '../../../../stores/mysql/checked-database.ts'
import type { Database } from '../../../../stores/mysql/database.ts'
import { archiveSome, purgeSome } from './archive.ts'
import { readCounts, readOwnerSums, recountOwnersSome, recountSome, registerSome } from './recount.ts'
import { packRows } from './rows.ts'
import { selectOffsets } from './statements.ts'
import { businessReads, businessRemoval } from './businesses.ts'
import { markReads } from './read.ts'
import { measureMarks } from './sizes.ts'
import { dropChanges, putChanges, readOutbox, readOutboxNumbers } from './outbox.ts'
import { makeTransactions } from '../../../../stores/mysql/transactions.ts'
import { type WriteWindow, type WriteWindowOptions, makeWriteWindow, type MysqlFigures } from '../../../../stores/mysql/write-window.ts'
import { PING } from '../../../../stores/mysql/statements.ts'
import { runInTurn } from '../../../../stores/mysql/turns.ts'

/** A statement of the window's options is a transaction here, and `rowsMax` applies to each statement of it. */
export type MysqlMarkRecordsOptions = CheckedOptions & WriteWindowOptions

/** As for progress, with a transaction in place of a statement. */
export type MysqlMarkRecords = MarkRecords & { figures(): MysqlFigures }

/** Rows per archiving transaction. */
const ARCHIVED_AT_ONCE = 2_000
/** A transaction of a few thousand marks takes a few hundred milliseconds. */
const SLOW_MS = 2_000
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

  return {
    readsAtOnceMax: database.connectionsMax,

    async applyMarks(rows, offsets) {
      const packed = packRows(rows)
      const turn = await window.enter(Math.max(1, rows.length))
      const applied = await runInTurn(turn, () => transactions.change((session) => applyMarks(session, packed, offsets, turn.rows)))
      rowsSent += rows.length
      return applied
    },

    async getOffsets(stream) {
      const { rows } = await database.send(selectOffsets(streamLiteral(stream)))
      return rows.map(([partition, offset]) => ({ stream, partition: Number(partition), offset: Number(offset) }))
    },

    listOutbox: (limit, after = 0) => readOutbox(database, limit, after),
    listOutboxNumbers: (limit) => readOutboxNumbers(database, limit, 0),
    dropOutbox: (numbers) => dropChanges(database, numbers),

    ...markReads(database, transactions),
    ...businessReads(database, transactions),
    ...businessRemoval(database, transactions),
    measureMarks: () => measureMarks(database),

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

    async check() {
      await database.send(PING)
    },

    close: () => database.close(),
    figures: () => ({ ...window.figures(), rows: rowsSent, retries: transactions.retries() }),
  }
}
