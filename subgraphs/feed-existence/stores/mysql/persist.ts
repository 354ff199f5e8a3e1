/** Persists filters: a call is cut into transactions, as many and as large as the write window allows. */
import type { FilterWrite } from '../record-store.ts'
import { isOverload } from '../../../../stores/mysql/failures.ts'
import type { Transactions } from '../../../../stores/mysql/transactions.ts'
import type { Turn, WriteWindow } from '../../../../stores/mysql/write-window.ts'
import { type PackedWrite, packWrites, putSome } from './put.ts'

export type FilterPersist = {
  putFilters(writes: readonly FilterWrite[]): Promise<boolean[]>
  figures(): { rows: number }
}

/** Bytes of the filters of a transaction, unless one filter alone has more. */
const TRANSACTION_BYTES_MAX = 1_048_576

export function makeFilterPersist(transactions: Pick<Transactions, 'change'>, window: WriteWindow): FilterPersist {
  let rowsSent = 0

  async function putFilters(writes: readonly FilterWrite[]): Promise<boolean[]> {
    const packed = packWrites(writes)
    const written = writes.map(() => false)
    const underWay = new Set<Promise<void>>()
    const failures: unknown[] = []
    for (let next = 0; next < packed.length && failures.length === 0;) {
      const turn = await window.enter(packed.length - next)
      const chunk = fitting(packed, next, turn.rows)
      next += chunk.length
      const sent = putChunk(chunk, turn, written)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => underWay.delete(sent))
      underWay.add(sent)
    }
    await Promise.all(underWay)
    if (failures.length > 0) throw failures[0]
    return written
  }

  async function putChunk(chunk: readonly PackedWrite[], turn: Turn, written: boolean[]): Promise<void> {
    try {
      const done = await transactions.change((session) => putSome(session, chunk))
      chunk.forEach(({ index }, at) => (written[index] = done[at] === true))
      rowsSent += chunk.length
      turn.end('done')
    } catch (error) {
      turn.end(isOverload(error) ? 'overloaded' : 'failed')
      throw error
    }
  }

  return { putFilters, figures: () => ({ rows: rowsSent }) }
}

/** From `start` on, up to `rowsMax` writes that fit into a transaction; at least one. */
function fitting(writes: readonly PackedWrite[], start: number, rowsMax: number): PackedWrite[] {
  let end = start
  for (let bytes = 0; end < writes.length && end - start < rowsMax; end++) {
    bytes += (writes[end] as PackedWrite).filter.length
    if (bytes > TRANSACTION_BYTES_MAX && end > start) break
  }
  return writes.slice(start, end)
}
