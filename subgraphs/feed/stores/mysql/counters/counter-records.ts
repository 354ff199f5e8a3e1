/**
 * The record store of counters on MySQL 8, MariaDB 10.11 or TiDB. Tests run it on MariaDB. A call of `putTotals` is one statement per chunk
 * of rows, each idempotent, so no transaction joins them. Rows are in the order of the key, so that writers do not deadlock.
 */
import { type Clock, systemClock } from '../../../../../core/clock.ts'
import { type CheckedOptions, openCheckedDatabase } from '../../../../../stores/mysql/checked-database.ts'
import { unpackId } from '../../../../../core/keys.ts'
import { asLiteral, bytesLiteral, idLiteral, numberLiteral, packedHex } from '../../../../../stores/mysql/literals.ts'
import { PING } from '../../../../../stores/mysql/statements.ts'
import { KEYS_MAX, byOrder, placed, type Tuple } from '../../../../../stores/mysql/tuples.ts'
import { chunked } from '../../../../../stores/chunks.ts'
import { runInTurn } from '../../../../../stores/mysql/turns.ts'
import { makeWriteWindow, type MysqlFigures, type WriteWindowOptions } from '../../../../../stores/mysql/write-window.ts'
import type { CountRow, VersionedCounts } from '../../../model/counts.ts'
import type { CounterRecords } from '../../counter-records.ts'
import { decodeCounts, encodeCounts } from '../../counts-codec.ts'
import { COUNT_SUBJECTS, selectTotals, selectTotalsOf, upsertTotals } from './statements.ts'

export type MysqlCounterRecords = CounterRecords & { figures(): Omit<MysqlFigures, 'retries'> }

/** Counts are for operators, who can wait. */
const COUNT_TIMEOUT_MS = 600_000

/** As `openMysqlRecordStore`. */
export async function openMysqlCounterRecords(
  options: CheckedOptions & WriteWindowOptions,
  clock: Clock = systemClock,
): Promise<MysqlCounterRecords> {
  const database = await openCheckedDatabase(options, clock)
  const window = makeWriteWindow(clock, options)
  let rowsSent = 0

  async function putChunk(rows: readonly Tuple[]): Promise<void> {
    const turn = await window.enter(rows.length)
    await runInTurn(turn, async () => {
      for (const some of chunked(rows, turn.rows)) await database.send(upsertTotals(some))
    })
    rowsSent += rows.length
  }

  return {
    readsAtOnceMax: database.connectionsMax,

    async putTotals(rows) {
      const ordered = rows.map((row) => ({ order: orderOf(row), tuple: tupleOf(row) })).sort(byOrder)
      if (rows.length > 0) await putChunk(ordered.map(({ tuple }) => tuple))
    },

    async getTotalsMany(subjects) {
      const read = async (some: typeof subjects): Promise<(VersionedCounts | undefined)[]> => {
        const found = some.map((): VersionedCounts | undefined => undefined)
        const keys = placed(some.map(({ business, oid }) => [numberLiteral(business), idLiteral(oid)]))
        for (const [place, version, counts] of (await database.send(selectTotals(keys))).rows)
          found[Number(place)] = { version: Number(version), counts: decodeCounts(counts as Buffer) }
        return found
      }
      return (await Promise.all(chunked(subjects, KEYS_MAX).map(read))).flat()
    },

    async listTotals(business, after, limit) {
      const { rows } = await database.send(selectTotalsOf(business, after, limit))
      return rows.map(([oid, version, counts]) => ({
        subject: { business, oid: unpackId(oid as Buffer, 0) },
        version: Number(version),
        counts: decodeCounts(counts as Buffer),
      }))
    },

    async countSubjects() {
      return Number((await database.send(COUNT_SUBJECTS, COUNT_TIMEOUT_MS)).rows[0]?.[0])
    },

    async check() {
      await database.send(PING)
    },

    close: () => database.close(),
    figures: () => ({ ...window.figures(), rows: rowsSent }),
  }
}

function orderOf({ subject }: CountRow): string {
  return subject.business.toString(16).padStart(4, '0') + packedHex(subject.oid)
}

function tupleOf({ subject, version, counts }: CountRow): Tuple {
  return [numberLiteral(subject.business), asLiteral(packedHex(subject.oid)), numberLiteral(version), bytesLiteral(encodeCounts(counts))]
}
