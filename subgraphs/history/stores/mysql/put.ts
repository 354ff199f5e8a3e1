/** Upserts of progress: rows in the order of the primary key, in statements of the size that the write window allows. */
import type { ProgressRow } from '../../../../core/domain.ts'
import { byOrder } from '../../../../stores/mysql/tuples.ts'
import { sendInTurns } from '../../../../stores/mysql/turns.ts'
import type { WriteWindow } from '../../../../stores/mysql/write-window.ts'
import { orderOf, progressLiteral } from './rows.ts'
import { upsertProgress } from './statements.ts'

/** `change`: sends a statement, and sends it again if another one held its rows. */
export function makeProgressPut(window: WriteWindow, change: (sql: string) => Promise<number>) {
  let rowsSent = 0

  return {
    async putProgress(rows: readonly ProgressRow[]): Promise<void> {
      const sorted = rows.map((row) => ({ order: orderOf(row.key), text: progressLiteral(row) })).sort(byOrder)
      await sendInTurns(window, sorted, async (chunk) => {
        await change(upsertProgress(chunk.map(({ text }) => text)))
        rowsSent += chunk.length
      })
    },
    rows: () => rowsSent,
  }
}
