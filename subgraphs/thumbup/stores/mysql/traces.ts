/** The traces of a viewer in the tables of marks on MySQL. */
import type { MarkKey, Subject } from '../../../../core/domain.ts'
import type { Database, Session } from '../../../../stores/mysql/database.ts'
import { keyOf } from '../../../../stores/mysql/cells.ts'
import { idLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import type { Transactions } from '../../../../stores/mysql/transactions.ts'
import { KEYS_MAX, placed } from '../../../../stores/mysql/tuples.ts'
import { chunked } from '../../../../stores/chunks.ts'
import type { MarkRecordTraces, UndoneMarks } from '../traces.ts'
import { endsOf, listsOf, takeOut } from './archive.ts'
import { findArchived } from './archive-reads.ts'
import { markRecordOf, packRows } from './rows.ts'
import { LOCK_ARCHIVE, deleteMarks } from './statements.ts'
import { countOfSubject, countOfViewer, deleteCounts, deleteOwner, forgetOwner, lockUndone } from './traces-statements.ts'

export function openMarkRecordTraces(database: Database, transactions: Transactions): MarkRecordTraces {
  const textsOf = ({ business, oid }: Subject): [string, string] => [numberLiteral(business), idLiteral(oid)]
  const sum = async (sql: string): Promise<number> => (await database.send(sql)).rows.reduce((total, [count]) => total + Number(count), 0)

  return {
    eraseUndone: (of, upToVersion, limit) => transactions.change((session) => eraseSome(session, of, upToVersion, limit)),
    eraseOwner: (business, owner) =>
      transactions.change(async (session) => {
        const texts = textsOf({ business, oid: owner })
        const { affected } = await session.send(forgetOwner(...texts))
        return affected + (await session.send(deleteOwner(...texts))).affected
      }),
    async eraseCounts(subject) {
      return (await transactions.change((session) => session.send(deleteCounts(...textsOf(subject))))).affected
    },
    count: (viewer, business) => sum(countOfViewer(...textsOf({ business, oid: viewer }))),
    countSubject: (subject) => sum(countOfSubject(...textsOf(subject))),
  }
}

/** Locks as archiving does. The archived marks that the tombstones cover leave their blocks, then the tombstones go. */
async function eraseSome(session: Session, of: UndoneMarks, upToVersion: number, limit: number): Promise<MarkKey[]> {
  await session.send(LOCK_ARCHIVE)
  const { rows } = await session.send(lockUndone(of, upToVersion, limit))
  const packed = packRows(
    rows.map((row) => {
      const [business, viewer, oid] = row
      return { key: keyOf([viewer as Buffer, business as number, oid as Buffer]), record: markRecordOf(row, 3) }
    }),
  )
  const covering = packed.filter(({ index }) => Number(rows[index]?.[6]) !== 0)
  const covered = await findArchived(
    session,
    covering.map(({ key }) => key),
  )
  const removals = covering.flatMap((row, at) => {
    const { markedAt } = covered[at] ?? {}
    return markedAt === undefined ? [] : endsOf(row, { mark: 'NONE', markedAt })
  })
  await takeOut(session, listsOf(removals))
  for (const chunk of chunked(packed, KEYS_MAX)) await session.send(deleteMarks(placed(chunk.map(({ tuple }) => tuple))))
  return packed.map(({ key }) => key)
}
