/** Reads of filters. */
import type { SeenRecords, StoredFilter } from '../record-store.ts'
import type { Database } from '../../../../stores/mysql/database.ts'
import { idLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import { KEYS_MAX, placed } from '../../../../stores/mysql/tuples.ts'
import { idOf } from '../../../../stores/mysql/cells.ts'
import { chunked } from '../../../../stores/chunks.ts'
import { packFilterKey } from './put.ts'
import { MEASURE_FILTERS, selectAllFilters, selectFilters, selectFiltersOf } from './statements.ts'

/** Measurements are for operators, who can wait. */
const MEASURE_TIMEOUT_MS = 600_000

export function makeFilterReads(database: Database): Pick<SeenRecords, 'getFilters' | 'listFilters' | 'listAllFilters' | 'measureFilters'> {
  return {
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

    async listAllFilters(after, limit, viewer) {
      const from = after && { viewer: idLiteral(after.viewer), month: numberLiteral(after.month) }
      const { rows } = await database.send(selectAllFilters(from, limit, viewer && idLiteral(viewer)))
      return rows.map((row) => ({
        viewer: idOf(row[0]),
        month: Number(row[1]),
        version: Number(row[2]),
        expiresAt: Number(row[3]),
        filter: row[4] as Buffer,
      }))
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
  }
}
