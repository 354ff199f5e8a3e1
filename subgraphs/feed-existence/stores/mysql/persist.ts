/** Persists filters: splits a call into transactions, whose number and size follow the write window. */
import type { FilterWrite } from '../record-store.ts'
import type { Transactions } from '../../../../stores/mysql/transactions.ts'
import { sendInTurns } from '../../../../stores/mysql/turns.ts'
import type { WriteWindow } from '../../../../stores/mysql/write-window.ts'
import { type PackedWrite, packWrites, putSome } from './put.ts'

export type FilterPersist = {
  putFilters(writes: readonly FilterWrite[]): Promise<boolean[]>
  figures(): { rows: number }
}

/** Bytes of filters per transaction, unless one filter alone has more. */
const TRANSACTION_BYTES_MAX = 1_048_576

export function makeFilterPersist(transactions: Pick<Transactions, 'change'>, window: WriteWindow): FilterPersist {
  let rowsSent = 0

  async function putFilters(writes: readonly FilterWrite[]): Promise<boolean[]> {
    const packed = packWrites(writes)
    const written = writes.map(() => false)
    const send = async (chunk: readonly PackedWrite[]): Promise<void> => {
      const done = await transactions.change((session) => putSome(session, chunk))
      chunk.forEach(({ index }, at) => (written[index] = done[at] === true))
      rowsSent += chunk.length
    }
    await sendInTurns(window, packed, send, (start, rowsMax) => fitting(packed, start, rowsMax))
    return written
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
