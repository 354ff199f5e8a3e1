/** Filters in quarantine. */
import type { SeenRecords } from '../record-store.ts'
import { idOf } from '../../../../stores/mysql/cells.ts'
import type { Database } from '../../../../stores/mysql/database.ts'
import { bytesLiteral, idLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import type { Transactions } from '../../../../stores/mysql/transactions.ts'
import { cutReason } from '../../../../stores/reasons.ts'
import { packFilterKey } from './put.ts'
import { COUNT_QUARANTINED, copyToQuarantine, lockFilters, selectQuarantined, setFilterAside } from './statements.ts'

export function makeQuarantine(
  database: Database,
  transactions: Pick<Transactions, 'change'>,
): Pick<SeenRecords, 'quarantineFilter' | 'listQuarantined' | 'countQuarantined'> {
  return {
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
  }
}

function placeOf(rebuilt: Buffer | undefined): { bytes: string; filter: string } | undefined {
  return rebuilt && { bytes: numberLiteral(rebuilt.length), filter: bytesLiteral(rebuilt) }
}
