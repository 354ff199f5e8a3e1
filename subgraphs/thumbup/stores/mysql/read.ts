/** Reads of marks on MySQL. Lookups by key read rows, then the archive. Lists read both tiers in one snapshot. */
import type { MarkKey, MarkRecord } from '../../../../core/domain.ts'
import type { Database } from '../../../../stores/mysql/database.ts'
import type { Transactions } from '../../../../stores/mysql/transactions.ts'
import { KEYS_MAX, placed } from '../../../../stores/mysql/tuples.ts'
import { chunked } from '../../../../stores/chunks.ts'
import type { MarkRecords } from '../record-store.ts'
import { findArchived } from './archive-reads.ts'
import { ofSubject, ofViewer, readPage } from './lists.ts'
import { keyTuple, markRecordOf } from './rows.ts'
import { selectMarks } from './statements.ts'

export function markReads(database: Database, transactions: Transactions): Pick<MarkRecords, 'getMarkMany' | 'listMarks' | 'listLikers'> {
  async function getMarkMany(keys: readonly MarkKey[]): Promise<(MarkRecord | undefined)[]> {
    const found = keys.map((): MarkRecord | undefined => undefined)
    const read = async (chunk: readonly MarkKey[], start: number): Promise<void> => {
      const { rows } = await database.send(selectMarks(placed(chunk.map(keyTuple))))
      for (const row of rows) found[start + Number(row[0])] = markRecordOf(row, 1)
    }
    await Promise.all(chunked(keys, KEYS_MAX).map((chunk, i) => read(chunk, i * KEYS_MAX)))
    const missing = keys.flatMap((_, place) => (found[place] === undefined ? [place] : []))
    const archived = await findArchived(
      database,
      missing.map((place) => keys[place] as MarkKey),
    )
    missing.forEach((place, i) => (found[place] = archived[i]))
    return found
  }

  return {
    getMarkMany,

    async listMarks(viewer, business, marks, before, limit) {
      const page = await readPage(database, transactions, ofViewer(viewer, business), marks, before, limit)
      return page.map(({ id, mark, markedAt, version }) => ({ oid: id, mark, markedAt, version }))
    },

    async listLikers(subject, before, limit) {
      const page = await readPage(database, transactions, ofSubject(subject), ['LIKE'], before, limit)
      return page.map(({ id, markedAt }) => ({ id, markedAt }))
    },
  }
}
