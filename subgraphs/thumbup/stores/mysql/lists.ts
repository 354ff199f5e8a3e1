/**
 * Pages of marks from both tiers. One statement reads the rows and the time of the newest archived mark. Nearly always no archived mark
 * belongs on the page, and the page is done. Otherwise the page is read again with its blocks, in one snapshot. A mark that is archived
 * meanwhile is then neither missed nor listed twice.
 *
 * A row hides the archived mark of its key, whatever the row's mark is.
 */
import type { Mark, MarkPlace, MarkRecord, Subject, ViewerId } from '../../../../core/domain.ts'
import { compareIds } from '../../../../core/keys.ts'
import { compareEntries } from '../../archive/block.ts'
import { listFromBlocks } from '../../archive/blocks.ts'
import type { Database, Row, Session } from '../../../../stores/mysql/database.ts'
import { idLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import { archivedRecord } from './archive-reads.ts'
import { markCode, markRecordOf } from './rows.ts'
import {
  BLOCK,
  type ListOwner,
  type PlaceText,
  selectMarkedSubjects,
  selectMarks,
  selectPageOfBlocks,
  selectPageOfMarks,
} from './statements.ts'
import type { Transactions } from '../../../../stores/mysql/transactions.ts'
import { KEYS_MAX, placed } from '../../../../stores/mysql/tuples.ts'
import { chunked } from '../../../../stores/chunks.ts'
import { idOf } from '../../../../stores/mysql/cells.ts'

export type ListedMark = MarkRecord & { id: string }

const BLOCKS_MAX = 4

export function ofViewer(viewer: ViewerId, business: number): ListOwner {
  return { side: 0, business: numberLiteral(business), id: idLiteral(viewer) }
}

export function ofSubject({ business, oid }: Subject): ListOwner {
  return { side: 1, business: numberLiteral(business), id: idLiteral(oid) }
}

/** Newest first, at most `limit`, strictly after `before`. */
export async function readPage(
  database: Database,
  transactions: Transactions,
  list: ListOwner,
  marks: readonly Mark[],
  before: MarkPlace | undefined,
  limit: number,
): Promise<ListedMark[]> {
  if (marks.length === 0 || limit <= 0) return []
  const sql = selectPageOfMarks(list, [...new Set(marks)].map(markCode), before && placeText(before.markedAt, before.id), limit)
  const { recent, newestBlockAt } = pageOf((await database.send(sql)).rows)
  const page = recent.slice(0, limit)
  const last = page.length < limit ? undefined : page.at(-1)
  if (newestBlockAt === undefined || (last !== undefined && last.markedAt > newestBlockAt)) return page
  return transactions.snapshot(async (session) => {
    const { recent: rows } = pageOf((await session.send(sql)).rows)
    const archived = await readArchived(session, list, marks, before, limit)
    return [...rows, ...archived].sort(compareEntries).slice(0, limit)
  })
}

/** Index entries per page of subjects and tier. The next page begins behind all marks of its last subject. */
const SCANNED = 2_000

/** By id, at most `limit`. If a tier had more to read, subjects beyond its last one are unknown and left out. */
export async function readMarkedSubjects(
  database: Database,
  business: number,
  after: string | undefined,
  limit: number,
  scanned = SCANNED,
): Promise<string[]> {
  const from = after === undefined ? undefined : idLiteral(after)
  const { rows } = await database.send(selectMarkedSubjects(numberLiteral(business), from, scanned))
  let ids = [...new Set(rows.map((row) => idOf(row[1])))].sort(compareIds)
  for (const tier of [0, 1]) {
    const own = rows.filter((row) => Number(row[0]) === tier)
    if (own.reduce((sum, row) => sum + Number(row[2]), 0) < scanned) continue
    const last = own.map((row) => idOf(row[1])).reduce((a, b) => (compareIds(a, b) > 0 ? a : b))
    ids = ids.filter((id) => compareIds(id, last) <= 0)
  }
  return ids.slice(0, limit)
}

/** Rows of several marks are several lists. They are merged here. */
function pageOf(rows: readonly Row[]): { recent: ListedMark[]; newestBlockAt: number | undefined } {
  const newest = rows.find((row) => Number(row[1]) === BLOCK)
  const recent = rows.filter((row) => row !== newest).map((row) => ({ id: idOf(row[0]), ...markRecordOf(row, 1) }))
  return { recent: recent.sort(compareEntries), newestBlockAt: newest && Number(newest[2]) }
}

async function readArchived(
  session: Session,
  list: ListOwner,
  marks: readonly Mark[],
  before: MarkPlace | undefined,
  limit: number,
): Promise<ListedMark[]> {
  const found: ListedMark[] = []
  const from = before && placeText(before.markedAt, before.id)
  for (let after: PlaceText | undefined; found.length < limit;) {
    const { rows } = await session.send(selectPageOfBlocks(list, from, after, BLOCKS_MAX))
    const listed = listFromBlocks(
      rows.map((row) => row[2] as Buffer),
      marks,
      before,
      Number.MAX_SAFE_INTEGER,
    )
    for (const chunk of chunked(listed, KEYS_MAX)) {
      if (found.length >= limit) break
      const covered = await coveredPlaces(
        session,
        list,
        chunk.map(({ id }) => idLiteral(id)),
      )
      for (const [place, entry] of chunk.entries()) if (!covered.has(place)) found.push({ id: entry.id, ...archivedRecord(entry) })
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < BLOCKS_MAX) break
    after = placeText(Number(last[0]), idOf(last[1]))
  }
  return found
}

async function coveredPlaces(session: Session, { side, business, id }: ListOwner, others: readonly string[]): Promise<Set<number>> {
  const keys = others.map((other) => (side === 0 ? [business, id, other] : [business, other, id]))
  return new Set((await session.send(selectMarks(placed(keys)))).rows.map((row) => Number(row[0])))
}

function placeText(at: number, id: string): PlaceText {
  return { at: numberLiteral(at), id: idLiteral(id) }
}
