/** Upserts of progress: rows in the order of the primary key, in statements of the size that the write window allows. */
import { isOverload } from '../../../../stores/mysql/failures.ts'
import type { WriteWindow } from '../../../../stores/mysql/write-window.ts'
import type { ProgressRow } from '../../../../core/domain.ts'
import { orderOf, progressLiteral } from './rows.ts'
import { upsertProgress } from './statements.ts'

/** `change`: sends a statement, and sends it again if another one held its rows. */
export function makeProgressPut(window: WriteWindow, change: (sql: string) => Promise<number>) {
  let rowsSent = 0

  async function putProgress(rows: readonly ProgressRow[]): Promise<void> {
    const sorted = rows.map((row) => ({ order: orderOf(row.key), text: progressLiteral(row) })).sort((a, b) => (a.order < b.order ? -1 : 1))
    const texts = sorted.map((row) => row.text)
    const underWay = new Set<Promise<void>>()
    const failures: unknown[] = []
    for (let next = 0; next < texts.length && failures.length === 0;) {
      const turn = await window.enter(texts.length - next)
      const chunk = texts.slice(next, next + turn.rows)
      next += chunk.length
      const sent = putChunk(chunk, turn.end)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => underWay.delete(sent))
      underWay.add(sent)
    }
    await Promise.all(underWay)
    if (failures.length > 0) throw failures[0]
  }

  async function putChunk(chunk: readonly string[], end: (result: 'done' | 'failed' | 'overloaded') => void): Promise<void> {
    try {
      await change(upsertProgress(chunk))
      rowsSent += chunk.length
      end('done')
    } catch (error) {
      end(isOverload(error) ? 'overloaded' : 'failed')
      throw error
    }
  }

  return { putProgress, rows: () => rowsSent }
}
