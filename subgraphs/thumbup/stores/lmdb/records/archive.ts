/**
 * Turns rows into entries of blocks, under the viewer and under the subject, in the transaction that removes the rows. A row replaces the
 * archived mark that it hides. A tombstone removes it from its block, and stays.
 *
 * Rows are found in the lists of likers. A popular subject's rows come together, in the order of its blocks, and each block is packed once.
 * A viewer's blocks are packed again for each mark, but they are few and small. Only the blocks that get rows are read and written.
 * Neighbours are merged together, since a merged run must have no gap. If a row hides an archived mark, whose place is unknown, all blocks
 * of that end are read.
 */
import type { MarkKey, MarkRecord } from '../../../../../core/domain.ts'
import { blockHeader, compareEntries, decodeBlock } from '../../../archive/block.ts'
import { mergeBlocks, type MarkChange } from '../../../archive/blocks.ts'
import { distinctKeys } from '../../../../../core/progress-key.ts'
import type { Bytes } from '../../../../../stores/lmdb/environment.ts'
import { unlist } from './apply.ts'
import {
  BLOCK,
  COVERED,
  ROW,
  blockCursor,
  blockKey,
  kindOfKey,
  kindRange,
  listedAt,
  makeMarkShelf,
  otherKey,
  readLikersKey,
  readRowKey,
} from './keys.ts'
import type { MarkShelf } from './keys.ts'
import { readRow, type MarkTables } from './tables.ts'
import { decodeRow, encodeRow, markedAtOf, type HeldMark } from './values.ts'
import type { Entry } from '../../../../../stores/lmdb/scan.ts'

/** A key of the likers' table. A covering row may be a tombstone, which is in no list there. */
export function isToArchive({ key }: Entry, markedBefore: number): boolean {
  const kind = kindOfKey(key)
  return kind === COVERED || (kind !== BLOCK && listedAt(key) < markedBefore)
}

/** A key of the viewers' table. */
export function isToPurge({ key, value }: Entry, undoneBefore: number): boolean {
  return kindOfKey(key) === ROW && markedAtOf(value) < undoneBefore && isPurgeable(decodeRow(value), undoneBefore)
}

function isArchivable({ record, covers }: HeldMark, markedBefore: number): boolean {
  return record.markedAt < markedBefore && (record.mark !== 'NONE' || covers !== 'NONE')
}

function isPurgeable({ record, covers }: HeldMark, undoneBefore: number): boolean {
  return record.markedAt < undoneBefore && record.mark === 'NONE' && covers === 'NONE'
}

/** The keys were found outside the transaction, so each is checked again. Returns the number archived or uncovered. */
export function archiveRows(tables: MarkTables, keys: readonly Buffer[], markedBefore: number): number {
  const rows = heldRows(tables, distinctKeys(keys.map(readLikersKey))).filter(({ held }) => isArchivable(held, markedBefore))
  const ends = new Map<string, Merge>()
  for (const { key, held } of rows) {
    const { mark, markedAt } = held.record
    const covers = held.covers !== 'NONE'
    gather(ends, tables.likes, 'viewer', key.business, key.viewer, { id: key.oid, mark, markedAt }, covers)
    gather(ends, tables.likers, 'subject', key.business, key.oid, { id: key.viewer, mark, markedAt }, covers)
  }
  for (const merge of ends.values()) mergeInto(merge)
  for (const { key, held } of rows) removeOrUncover(tables, key, held.record, held.covers !== 'NONE')
  return rows.length
}

export function purgeRows(tables: MarkTables, keys: readonly Buffer[], undoneBefore: number): number {
  const rows = heldRows(tables, keys.map(readRowKey)).filter(({ held }) => isPurgeable(held, undoneBefore))
  for (const { key, held } of rows) {
    void tables.likes.remove(otherKey(makeMarkShelf(key.business, key.viewer), ROW, key.oid))
    unlist(tables, key, held.record)
  }
  return rows.length
}

function heldRows(tables: MarkTables, keys: readonly MarkKey[]): { key: MarkKey; held: HeldMark }[] {
  return keys.flatMap((key) => {
    const held = readRow(tables, makeMarkShelf(key.business, key.viewer), key.oid)
    return held === undefined ? [] : [{ key, held }]
  })
}

function removeOrUncover(tables: MarkTables, key: MarkKey, record: MarkRecord, covers: boolean): void {
  const { viewer, business, oid } = key
  const rowKey = otherKey(makeMarkShelf(business, viewer), ROW, oid)
  if (covers) void tables.likers.remove(otherKey(makeMarkShelf(business, oid), COVERED, viewer))
  if (record.mark === 'NONE') {
    void tables.likes.put(rowKey, encodeRow({ record, covers: 'NONE' }))
  } else {
    void tables.likes.remove(rowKey)
    unlist(tables, key, record)
  }
}

/** The changes of one end's blocks. */
type Merge = { table: Bytes; shelf: MarkShelf; changes: MarkChange[]; covers: boolean }

function gather(
  ends: Map<string, Merge>,
  table: Bytes,
  end: 'viewer' | 'subject',
  business: number,
  id: string,
  change: MarkChange,
  covers: boolean,
): void {
  const text = `${end} ${business}:${id}`
  const merge = ends.get(text) ?? { table, shelf: makeMarkShelf(business, id), changes: [], covers: false }
  merge.changes.push(change)
  merge.covers ||= covers
  ends.set(text, merge)
}

function mergeInto({ table, shelf, changes, covers }: Merge): void {
  const keys = [...table.getKeys(kindRange(shelf, BLOCK))]
  const runs = covers ? [{ first: 0, last: keys.length - 1, changes }] : splitIntoRuns(shelf, keys, changes)
  for (const run of runs) {
    const old = keys.slice(run.first, run.last + 1).map((key) => ({ key, block: table.getBinary(key) as Buffer }))
    const merged = new Set(
      mergeBlocks(
        old.map(({ block }) => block),
        run.changes,
      ),
    )
    for (const { key, block } of old) if (!merged.delete(block)) void table.remove(key)
    for (const block of merged) void table.put(blockKey(shelf, firstOf(block)), block)
  }
}

type Run = { first: number; last: number; changes: MarkChange[] }

/**
 * A change falls into the last block that begins at or before it, into the gap behind that block, or before all blocks. It needs that block
 * and the next, or the first. Runs that share a block are merged.
 */
function splitIntoRuns(shelf: MarkShelf, keys: readonly Buffer[], changes: readonly MarkChange[]): Run[] {
  const runs: Run[] = []
  let next = 0
  for (const change of changes.toSorted(compareEntries)) {
    const cursor = blockCursor(shelf, change)
    while (next < keys.length && Buffer.compare(keys[next] as Buffer, cursor) <= 0) next += 1
    const [first, last] = [Math.max(0, next - 1), Math.min(next, keys.length - 1)]
    const run = runs.at(-1)
    if (run !== undefined && (first <= run.last || keys.length === 0)) {
      run.last = Math.max(run.last, last)
      run.changes.push(change)
    } else {
      runs.push({ first, last, changes: [change] })
    }
  }
  return runs
}

/** The header has the newest time, but not the first entry of that moment. */
function firstOf(block: Buffer): { id: string; markedAt: number } {
  const [first] = decodeBlock(block)
  return first ?? { id: '', markedAt: blockHeader(block).newestAt }
}
