/**
 * Pages over both tiers: the lists of recent rows, and the blocks. Archived entries that a recent row hides are left out. Blocks are in the
 * order of pages, so that a page begins at the block of its place.
 */
import type { Mark, MarkKey, MarkPlace, MarkRecord } from '../../../../../core/domain.ts'
import { compareIds } from '../../../../../core/keys.ts'
import { compareEntries, decodeBlock, type ArchivedMark } from '../../../archive/block.ts'
import { listFromBlocks } from '../../../archive/blocks.ts'
import type { MarkRow } from '../../record-store.ts'
import type { Bytes } from '../../../../../stores/lmdb/environment.ts'
import {
  BLOCK,
  ROW,
  blockCursor,
  businessRange,
  kindRange,
  listedRange,
  makeMarkShelf,
  otherIdOf,
  otherKey,
  readListedKey,
  readMarkKey,
  rowRange,
  type MarkShelf,
} from './keys.ts'
import { readRow, type MarkTables } from './tables.ts'
import { decodeRow } from './values.ts'

export function listViewersMarks(
  tables: MarkTables,
  shelf: MarkShelf,
  marks: readonly Mark[],
  before: MarkPlace | undefined,
  limit: number,
): (MarkRecord & { oid: string })[] {
  const recent = listRecent(tables.likes, shelf, marks, before, limit)
  const isHidden = (oid: string): boolean => tables.likes.doesExist(otherKey(shelf, ROW, oid))
  const archived = listArchived(tables.likes, shelf, marks, before, limit, isHidden)
  return mergePages<MarkPlace & { mark?: Mark }>(recent, archived, limit).flatMap(({ id, markedAt, mark }) => {
    if (mark !== undefined) return [{ oid: id, mark, markedAt, version: 0 }]
    const held = readRow(tables, shelf, id)
    return held === undefined ? [] : [{ oid: id, ...held.record }]
  })
}

export function listSubjectsLikers(tables: MarkTables, shelf: MarkShelf, before: MarkPlace | undefined, limit: number): MarkPlace[] {
  const recent = listRecent(tables.likers, shelf, ['LIKE'], before, limit)
  const isHidden = (viewer: string): boolean => tables.likes.doesExist(otherKey(makeMarkShelf(shelf.business, viewer), ROW, shelf.id))
  const archived = listArchived(tables.likers, shelf, ['LIKE'], before, limit, isHidden)
  return mergePages<MarkPlace>(recent, archived, limit).map(({ id, markedAt }) => ({ id, markedAt }))
}

function listRecent(table: Bytes, shelf: MarkShelf, marks: readonly Mark[], before: MarkPlace | undefined, limit: number): MarkPlace[] {
  if (limit <= 0) return []
  return [...new Set(marks)].flatMap((mark) =>
    [...table.getKeys({ ...listedRange(shelf, mark, before), limit })].map((key) => readListedKey(shelf, key)),
  )
}

function listArchived(
  table: Bytes,
  shelf: MarkShelf,
  marks: readonly Mark[],
  before: MarkPlace | undefined,
  limit: number,
  isHidden: (id: string) => boolean,
): ArchivedMark[] {
  const page: ArchivedMark[] = []
  if (limit <= 0) return page
  for (const { value } of table.getRange(blocksFrom(table, shelf, before))) {
    for (const entry of listFromBlocks([value], marks, before, Number.POSITIVE_INFINITY)) {
      if (isHidden(entry.id)) continue
      page.push(entry)
      if (page.length === limit) return page
    }
  }
  return page
}

/** From the last block that begins at or before this place. */
function blocksFrom(table: Bytes, shelf: MarkShelf, before: MarkPlace | undefined): { start: Buffer; end: Buffer } {
  const { start, end } = kindRange(shelf, BLOCK)
  if (before === undefined) return { start, end }
  const cursor = blockCursor(shelf, before)
  const [first] = [...table.getKeys({ start: cursor, end: start, reverse: true, limit: 1 })]
  return { start: first ?? start, end }
}

function mergePages<T extends MarkPlace>(recent: readonly T[], archived: readonly T[], limit: number): T[] {
  return [...recent, ...archived].toSorted(compareEntries).slice(0, limit)
}

/** Live marks by viewer and oid. A viewer's blocks are in the order of time, so each page reads all blocks of a viewer on it. */
export function listForExport(tables: MarkTables, business: number, after: MarkKey | undefined, limit: number): MarkRow[] {
  const rows: MarkRow[] = []
  let viewer = after?.viewer
  let isResumed = after !== undefined
  while (rows.length < limit) {
    if (!isResumed) viewer = nextViewer(tables, business, viewer)
    if (viewer === undefined) break
    const ofViewer = liveMarks(tables, makeMarkShelf(business, viewer), isResumed ? after?.oid : undefined, limit - rows.length)
    for (const { oid, ...record } of ofViewer) rows.push({ key: { viewer, business, oid }, record })
    isResumed = false
  }
  return rows
}

function nextViewer(tables: MarkTables, business: number, after: string | undefined): string | undefined {
  const [key] = [...tables.likes.getKeys({ ...businessRange(business, after), limit: 1 })]
  return key === undefined ? undefined : readMarkKey(key).id
}

function liveMarks(tables: MarkTables, shelf: MarkShelf, after: string | undefined, limit: number): (MarkRecord & { oid: string })[] {
  const live: (MarkRecord & { oid: string })[] = []
  for (const { key, value } of tables.likes.getRange(rowRange(shelf, after))) {
    const { record } = decodeRow(value)
    if (record.mark !== 'NONE') live.push({ oid: otherIdOf(shelf, key), ...record })
    if (live.length === limit) break
  }
  const recent = live.length
  for (const { value } of tables.likes.getRange(kindRange(shelf, BLOCK))) {
    for (const { id, mark, markedAt } of decodeBlock(value)) {
      if (after !== undefined && compareIds(id, after) <= 0) continue
      if (!tables.likes.doesExist(otherKey(shelf, ROW, id))) live.push({ oid: id, mark, markedAt, version: 0 })
    }
  }
  return live.length === recent ? live : live.toSorted((a, b) => compareIds(a.oid, b.oid)).slice(0, limit)
}
