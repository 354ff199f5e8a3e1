/**
 * All live marks of a business in key order, from both tiers, with one snapshot per page. Rows are read in the order of the primary key.
 * Blocks are read viewer by viewer, since their entries are in the order of time. Each read ends at some key, and both are complete up to
 * the nearer end.
 */
import type { BusinessNumber, MarkKey } from '../../../../core/domain.ts'
import { compareIds } from '../../../../core/keys.ts'
import { decodeBlock } from '../../archive/block.ts'
import type { MarkRow } from '../record-store.ts'
import type { Session } from '../../../../stores/mysql/database.ts'
import { idLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import { archivedRecord } from './archive-reads.ts'
import { markRecordOf } from './rows.ts'
import { selectBlocks, selectExport, selectExportBlocks } from './statements.ts'
import { idOf } from '../../../../stores/mysql/cells.ts'

const BLOCKS_MAX = 64

type Place = Pick<MarkKey, 'viewer' | 'oid'>

function comparePlace(a: Place, b: Place): number {
  return compareIds(a.viewer, b.viewer) || compareIds(a.oid, b.oid)
}

/** Runs within a snapshot. */
export async function exportPage(
  session: Session,
  business: BusinessNumber,
  after: MarkKey | undefined,
  limit: number,
): Promise<MarkRow[]> {
  const page: MarkRow[] = []
  for (let from: Place | undefined = after; page.length < limit;) {
    const [rows, archive] = [await readRows(session, business, from, limit), await readArchive(session, business, from)]
    const rowsEnd = rows.length < limit ? undefined : rows.at(-1)?.key
    const inReach = ({ key }: MarkRow) =>
      (rowsEnd === undefined || comparePlace(key, rowsEnd) <= 0) &&
      (archive.lastViewer === undefined || compareIds(key.viewer, archive.lastViewer) <= 0)
    const covered = new Set(rows.map(({ key }) => placeText(key)))
    const start = from
    const archived = archive.marks.filter(
      ({ key }) => (start === undefined || comparePlace(key, start) > 0) && !covered.has(placeText(key)),
    )
    const found = [...rows.filter(({ record }) => record.mark !== 'NONE'), ...archived].filter(inReach)
    page.push(...found.sort((a, b) => comparePlace(a.key, b.key)))
    if (rowsEnd === undefined && archive.lastViewer === undefined) break
    from = nearerEnd(rowsEnd, archive.lastViewer)
  }
  return page.slice(0, limit)
}

/** Sorts after all ids of a viewer: 64 bytes that never occur in UTF-8. */
const LAST_OID = '\u{10FFFF}'.repeat(16)

function nearerEnd(rowsEnd: Place | undefined, lastViewer: string | undefined): Place {
  if (lastViewer === undefined) return rowsEnd as Place
  if (rowsEnd === undefined || compareIds(rowsEnd.viewer, lastViewer) > 0) return { viewer: lastViewer, oid: LAST_OID }
  return rowsEnd
}

function placeText({ viewer, oid }: Place): string {
  return `${viewer.length}:${viewer}${oid}`
}

async function readRows(session: Session, business: BusinessNumber, after: Place | undefined, limit: number): Promise<MarkRow[]> {
  const from = after && { viewer: idLiteral(after.viewer), oid: idLiteral(after.oid) }
  const { rows } = await session.send(selectExport(numberLiteral(business), from, limit))
  return rows.map((row) => ({ key: { viewer: idOf(row[0]), business, oid: idOf(row[1]) }, record: markRecordOf(row, 2) }))
}

/** The archives of the next viewers, each complete. `lastViewer` is undefined after the last one. */
async function readArchive(
  session: Session,
  business: BusinessNumber,
  after: Place | undefined,
): Promise<{ marks: MarkRow[]; lastViewer: string | undefined }> {
  const text = numberLiteral(business)
  const from = after && { viewer: idLiteral(after.viewer), done: after.oid === LAST_OID }
  const { rows } = await session.send(selectExportBlocks(text, from, BLOCKS_MAX))
  let blocks = rows.map((row) => ({ viewer: idOf(row[0]), block: row[1] as Buffer }))
  let lastViewer: string | undefined
  if (rows.length === BLOCKS_MAX) {
    // The last viewer may have more blocks. They wait for the next page, unless this viewer alone fills the page.
    const cut = blocks.at(-1)?.viewer as string
    const whole = blocks.filter(({ viewer }) => viewer !== cut)
    lastViewer = whole.at(-1)?.viewer ?? cut
    if (whole.length > 0) blocks = whole
    else {
      const all = await session.send(selectBlocks([['0', '0', text, idLiteral(cut)]]))
      blocks = all.rows.map((row) => ({ viewer: cut, block: row[3] as Buffer }))
    }
  }
  const marks = blocks.flatMap(({ viewer, block }) =>
    decodeBlock(block).map((entry): MarkRow => ({ key: { viewer, business, oid: entry.id }, record: archivedRecord(entry) })),
  )
  return { marks, lastViewer }
}
