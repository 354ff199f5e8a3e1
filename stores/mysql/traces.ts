/** Removes and counts the rows of one viewer on MySQL, for `core/erasure/traces.ts`. A statement that loses against another one is sent again. */
import type { Clock } from '../../core/clock.ts'
import type { ViewerId } from '../../core/domain.ts'
import type { Traces } from '../../core/erasure/traces.ts'
import type { Random } from '../../core/random.ts'
import { makeContendedChange } from './contended.ts'
import type { Database } from './database.ts'
import { idLiteral, numberLiteral } from './literals.ts'

/** `condition`: the rows of the viewer, whose packed id it gets as a literal. `version`: the column that orders writes, if there is one. */
export type TracedRows = { table: string; condition(viewer: string): string; version?: string }

const ROWS_PER_STATEMENT = 5_000
/** A version is milliseconds times this number, plus a count. */
const VERSION_UNIT = 1_024

export function makeMysqlTraces(database: Database, clock: Clock, random: Random, all: readonly TracedRows[]): Traces {
  const change = makeContendedChange(database, clock, random)

  return {
    async erase(viewer: ViewerId, upTo: number) {
      let removed = 0
      for (const rows of all) {
        for (let some = ROWS_PER_STATEMENT; some === ROWS_PER_STATEMENT; removed += some)
          some = await change(deleteRows(rows, viewer, upTo, ROWS_PER_STATEMENT))
      }
      return removed
    },
    async count(viewer: ViewerId) {
      const { rows } = await database.send(countRows(all, viewer))
      return rows.reduce((sum, [count]) => sum + Number(count), 0)
    },
  }
}

export function deleteRows({ table, condition, version }: TracedRows, viewer: ViewerId, upTo: number, limit: number): string {
  const older = version === undefined ? '' : ` AND ${version} <= ${numberLiteral(upTo * VERSION_UNIT)}`
  return `DELETE FROM ${table} WHERE ${condition(idLiteral(viewer))}${older} LIMIT ${numberLiteral(limit)}`
}

export function countRows(all: readonly TracedRows[], viewer: ViewerId): string {
  return all.map(({ table, condition }) => `SELECT COUNT(*) FROM ${table} WHERE ${condition(idLiteral(viewer))}`).join(' UNION ALL ')
}
