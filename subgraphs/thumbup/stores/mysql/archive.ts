/**
 * Moves rows into the archive, and removes tombstones. A mark is in a block of its viewer and in one of its subject. One transaction writes
 * both and removes the row. Only one process archives at a time (`LOCK_ARCHIVE`), while other transactions write marks. It locks the rows
 * first, in the writers' order.
 *
 * A row that covers an archived mark replaces it: the old mark leaves its blocks, and the new one is added at its time. A tombstone removes
 * the archived mark that it covers. It then stays, covering nothing, until it is purged.
 *
 * All blocks of a viewer are read to find the covered mark. A subject may have millions of likers, so only its blocks of the given moments
 * are read.
 */
import type { MarkEntry } from '../../../../core/domain.ts'
import { blockHeader, decodeBlock } from '../../archive/block.ts'
import { type MarkChange, mergeBlocks } from '../../archive/blocks.ts'
import type { Session } from '../../../../stores/mysql/database.ts'
import { bytesLiteral, idLiteral, numberLiteral } from '../../../../stores/mysql/literals.ts'
import { findArchived } from './archive-reads.ts'
import { type PackedRow, businessOrder, markRecordOf, markTuple, packRows } from './rows.ts'
import {
  LOCK_ARCHIVE,
  deleteBlocks,
  deleteMarks,
  deleteUndone,
  lockMarks,
  putBlocks,
  selectAged,
  selectAgedOfHour,
  selectBlocksAround,
  selectBlocksFrom,
  updateCovers,
} from './statements.ts'
import { type Tuple, KEYS_MAX, placed } from '../../../../stores/mysql/tuples.ts'
import { chunked } from '../../../../stores/chunks.ts'
import { keyOf } from '../../../../stores/mysql/cells.ts'

const HOUR_MS = 3_600_000
/** Rows per step in the hour of the bound. The remaining ones wait until the hour is over. */
const HOUR_ROWS_MAX = 20_000
/** As hexadecimal digits they fill half a packet of 1 MiB. */
const BLOCK_BYTES_MAX = 262_144

/** Runs within a transaction. Returns the number of archived rows; 0 = done. */
export async function archiveSome(session: Session, markedBefore: number, limit: number): Promise<number> {
  await session.send(LOCK_ARCHIVE)
  const found = await lockAged(session, markedBefore, limit)
  const covering = found.filter((row) => row.covers !== 0)
  const covered = await findArchived(
    session,
    covering.map((row) => row.key),
  )
  const removals = covering.flatMap((row, place) => {
    const { markedAt } = covered[place] ?? {}
    return markedAt === undefined ? [] : endsOf(row, { mark: 'NONE', markedAt })
  })
  await takeOut(session, listsOf(removals))
  const live = found.filter((row) => row.record.mark !== 'NONE')
  await putIn(session, listsOf(live.flatMap((row) => endsOf(row, row.record))))
  for (const chunk of chunked(live, KEYS_MAX)) await session.send(deleteMarks(placed(chunk.map((row) => row.tuple))))
  const tombstones = found.filter((row) => row.record.mark === 'NONE')
  for (const chunk of chunked(tombstones, KEYS_MAX)) await session.send(updateCovers(chunk.map((row) => [...markTuple(row), '0'])))
  return found.length
}

/** Returns the number removed; 0 = done. */
export async function purgeSome(session: Session, undoneBefore: number, limit: number): Promise<number> {
  let removed = 0
  for (const chunk of chunked(await findAged(session, 'removable', undoneBefore, limit), KEYS_MAX))
    removed += (await session.send(deleteUndone(placed(chunk.map((row) => row.tuple)), undoneBefore))).affected
  return removed
}

async function findAged(session: Session, what: 'archivable' | 'removable', before: number, limit: number): Promise<PackedRow[]> {
  if (before <= 0) return []
  const hour = Math.floor(before / HOUR_MS)
  let { rows } = await session.send(selectAged(what, hour, limit))
  if (rows.length === 0) rows = (await session.send(selectAgedOfHour(what, hour, before, HOUR_ROWS_MAX, limit))).rows
  return packRows(
    rows.slice(0, limit).map((row) => {
      const [business, viewer, oid] = row
      return { key: keyOf([viewer as Buffer, business as number, oid as Buffer]), record: markRecordOf(row, 3) }
    }),
  )
}

type AgedRow = PackedRow & { covers: number }

/** The rows to archive, as they are under the lock, in the order of the primary key. */
async function lockAged(session: Session, before: number, limit: number): Promise<AgedRow[]> {
  const locked: AgedRow[] = []
  for (const chunk of chunked(await findAged(session, 'archivable', before, limit), KEYS_MAX)) {
    for (const row of (await session.send(lockMarks(placed(chunk.map(({ tuple }) => tuple))))).rows) {
      const record = markRecordOf(row, 1)
      const covers = Number(row[4])
      if (record.markedAt < before && (record.mark !== 'NONE' || covers !== 0))
        locked.push({ ...(chunk[Number(row[0])] as PackedRow), record, covers })
    }
  }
  return locked
}

type End = { order: string; tuple: Tuple; change: MarkChange }

/** The entries of a mark: in its viewer's list, and in its subject's list. */
export function endsOf({ key, tuple, subjectOrder }: PackedRow, { mark, markedAt }: Pick<MarkChange, 'mark' | 'markedAt'>): End[] {
  const [business = '', viewer = '', oid = ''] = tuple
  return [
    { order: `0${businessOrder(key.business)}${viewer}`, tuple: ['0', business, viewer], change: { id: key.oid, mark, markedAt } },
    { order: `1${subjectOrder}`, tuple: ['1', business, oid], change: { id: key.viewer, mark, markedAt } },
  ]
}

/** The changes of a viewer's or a subject's blocks. `tuple`: side, business, id. */
type ListChanges = { tuple: Tuple; changes: MarkChange[] }

export function listsOf(ends: readonly End[]): ListChanges[] {
  const lists = new Map<string, ListChanges>()
  for (const { order, tuple, change } of ends) {
    const known = lists.get(order)
    if (known === undefined) lists.set(order, { tuple, changes: [change] })
    else known.changes.push(change)
  }
  return [...lists.values()]
}

async function putIn(session: Session, lists: readonly ListChanges[]): Promise<void> {
  for (const chunk of chunked(lists, KEYS_MAX)) {
    const from = chunk.map(({ tuple, changes }) => [...tuple, numberLiteral(Math.min(...changes.map((change) => change.markedAt)))])
    const stored = await readBlocks(session, selectBlocksFrom(placed(from)))
    const written = chunk.map(({ tuple, changes }, place) => {
      const before = stored.get(place) ?? []
      return { tuple, before, after: mergeBlocks(before, changes) }
    })
    await writeBlocks(session, written)
  }
}

/** Each mark is in a block at the moment of its change. Blocks between those moments are not read. */
export async function takeOut(session: Session, lists: readonly ListChanges[]): Promise<void> {
  for (const chunk of chunked(lists, KEYS_MAX)) {
    const moments = chunk.flatMap(({ tuple, changes }, place) =>
      [...new Set(changes.map((change) => change.markedAt))].map((markedAt) => ({ place, tuple: [...tuple, numberLiteral(markedAt)] })),
    )
    const stored = new Map<number, Buffer[]>()
    for (const some of chunked(moments, KEYS_MAX)) {
      const blocks = await readBlocks(session, selectBlocksAround(placed(some.map((moment) => moment.tuple))))
      for (const [at, found] of blocks) {
        const { place } = some[at] as { place: number }
        const known = stored.get(place) ?? []
        stored.set(place, [...known, ...found.filter((block) => !known.some((other) => other.equals(block)))])
      }
    }
    const written = chunk.map(({ tuple, changes }, place) => {
      const before = stored.get(place) ?? []
      return { tuple, before, after: changes.reduce(withoutOne, before) }
    })
    await writeBlocks(session, written)
  }
}

/** One by one: blocks that are not neighbours must not be merged. */
function withoutOne(blocks: readonly Buffer[], change: MarkChange): Buffer[] {
  const holds = (block: Buffer) => {
    const { oldestAt, newestAt } = blockHeader(block)
    return oldestAt <= change.markedAt && change.markedAt <= newestAt
  }
  return [...blocks.filter((block) => !holds(block)), ...mergeBlocks(blocks.filter(holds), [change])]
}

async function readBlocks(session: Session, sql: string): Promise<Map<number, Buffer[]>> {
  const blocks = new Map<number, Buffer[]>()
  for (const [place, , , block] of (await session.send(sql)).rows) {
    const known = blocks.get(Number(place))
    if (known === undefined) blocks.set(Number(place), [block as Buffer])
    else known.push(block as Buffer)
  }
  return blocks
}

type Written = { tuple: Tuple; before: readonly Buffer[]; after: readonly Buffer[] }

async function writeBlocks(session: Session, lists: readonly Written[]): Promise<void> {
  const gone: Tuple[] = []
  const made: { tuple: Tuple; bytes: number }[] = []
  for (const { tuple, before, after } of lists) {
    const kept = new Set(after)
    const known = new Set(before)
    const [side = '', business = '', id = ''] = tuple
    const fresh = after.filter((block) => !known.has(block)).map((block) => ({ block, at: addressOf(block) }))
    const addresses = new Set(fresh.map(({ at }) => at.join()))
    for (const block of before) {
      const at = addressOf(block)
      if (!kept.has(block) && !addresses.has(at.join())) gone.push([side, business, id, ...at])
    }
    for (const { block, at } of fresh) {
      const { newestAt, likes, dislikes } = blockHeader(block)
      const numbers = [newestAt, likes, dislikes].map(numberLiteral)
      made.push({ tuple: [business, side, id, ...at, ...numbers, bytesLiteral(block)], bytes: block.length })
    }
  }
  for (const chunk of chunked(gone, KEYS_MAX)) await session.send(deleteBlocks(placed(chunk)))
  for (let next = 0; next < made.length;) {
    const chunk: Tuple[] = []
    for (let bytes = 0; next < made.length && chunk.length < KEYS_MAX && bytes < BLOCK_BYTES_MAX; next++) {
      const { tuple, bytes: own } = made[next] as { tuple: Tuple; bytes: number }
      chunk.push(tuple)
      bytes += own
    }
    await session.send(putBlocks(chunk))
  }
}

/** SQL texts of oldest_at and oldest_id. */
function addressOf(block: Buffer): [at: string, id: string] {
  const { id, markedAt } = decodeBlock(block).at(-1) as MarkEntry
  return [numberLiteral(markedAt), idLiteral(id)]
}
