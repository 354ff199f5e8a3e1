/** Reads of a whole business on MySQL, page by page in order of ids, and its removal. */
import type { Database } from '../../../../stores/mysql/database.ts'
import type { Transactions } from '../../../../stores/mysql/transactions.ts'
import { idOf } from '../../../../stores/mysql/cells.ts'
import { idLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import type { MarkRecords } from '../record-store.ts'
import { countsOf } from './apply.ts'
import { exportPage } from './export.ts'
import { readMarkedSubjects } from './lists.ts'
import { MEASURE_TIMEOUT_MS } from './sizes.ts'
import { TABLES_OF_BUSINESS, deleteOfBusiness, measureOfBusiness, selectOwners, selectRegistrations, selectSubjects } from './statements.ts'

type BusinessReads = Pick<MarkRecords, 'listSubjects' | 'listMarkedSubjects' | 'listOwners' | 'exportMarks' | 'listRegistrations'>

export function businessReads(database: Database, transactions: Transactions): BusinessReads {
  return {
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

    exportMarks: (business, after, limit) => transactions.snapshot((session) => exportPage(session, business, after, limit)),

    async listRegistrations(business, after, limit) {
      const from = after === undefined ? undefined : idLiteral(after)
      const { rows } = await database.send(selectRegistrations(numberLiteral(business), from, limit))
      return rows.map((row) => ({ business, oid: idOf(row[0]), owner: idOf(row[1]) }))
    },
  }
}

export function businessRemoval(database: Database, transactions: Transactions): Pick<MarkRecords, 'measureBusiness' | 'deleteBusiness'> {
  return {
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
  }
}
