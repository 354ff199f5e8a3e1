/**
 * The transaction that writes marks and counts. It runs at READ COMMITTED, where each statement sees the latest commits and locks no gaps.
 * No transition is counted twice or missed, because:
 *
 * 1. The old rows are read with a lock. No other transaction changes, archives or removes them before our commit.
 * 2. Missing rows are added by a plain INSERT. If another transaction has inserted one since 1, the INSERT fails, and our whole transaction
 *    is repeated. From now on, others wait for our row.
 * 3. The archive is read after 2, for the inserted keys. The archived mark of a key changes only under the lock of its row, which we hold.
 *    If the row was archived between 1 and 2, the archive has it by now. Our row then `covers` the archived mark, or it is the older one
 *    and is removed again.
 * 4. The resulting transitions are added to counts and owners' sums: `n = n + ?` under the lock of their rows, read back under the same
 *    lock.
 * 5. Offsets and the outbox are written, then COMMIT.
 *
 * Rows are locked in key order, `likes` before `counts` before `owners`. Deadlocks are therefore rare, and the loser is repeated. If the
 * answer to COMMIT is lost, the repetition finds its rows and no transition, and the changes are in the outbox.
 */
import type { MarkRecord, OwnerSum } from '../../../../core/domain.ts'
import { movesLike, transitionOf, winsOver } from '../../model/merge.ts'
import type { AppliedMarks, MarkTransition, StreamOffset } from '../record-store.ts'
import type { Row, Session } from '../../../../stores/mysql/database.ts'
import { bytesLiteral, numberLiteral, signedLiteral } from '../../../../stores/mysql/literals.ts'
import { findArchived } from './archive-reads.ts'
import { type PackedRow, type PackedSubject, markCode, markRecordOf, markTuple, packSubject } from './rows.ts'
import {
  addCounts,
  addOwnerSums,
  deleteMarks,
  insertMarks,
  lockMarks,
  moveOffsets,
  selectCounts,
  selectOwnerSums,
  updateCovers,
  updateMarks,
} from './statements.ts'
import { type UnnumberedChanges, putChanges } from './outbox.ts'
import { KEYS_MAX, byOrder, placed } from '../../../../stores/mysql/tuples.ts'
import { chunked } from '../../../../stores/chunks.ts'
import { idOf } from '../../../../stores/mysql/cells.ts'

/** `rows`: in the order of the primary key, each key once. `rowsMax`: rows per writing statement. */
export async function applyMarks(
  session: Session,
  rows: readonly PackedRow[],
  offsets: readonly StreamOffset[],
  rowsMax: number,
): Promise<AppliedMarks> {
  const old = await readOld(session, rows)
  const stored = rows.map((row, place) => (winsOver(row.record, old[place]) ? row.record : (old[place] as MarkRecord)))

  const won = rows.flatMap((row, place) => (stored[place] === row.record ? [place] : []))
  const fresh = won.filter((place) => old[place] === undefined)
  const rowAt = (place: number) => rows[place] as PackedRow
  for (const chunk of chunked(fresh, rowsMax)) await session.send(insertMarks(chunk.map((place) => markTuple(rowAt(place)))))
  const existing = won.filter((place) => old[place] !== undefined)
  for (const chunk of chunked(existing, rowsMax)) await session.send(updateMarks(chunk.map((place) => markTuple(rowAt(place)))))

  await coverArchived(session, rows, fresh, old, stored, rowsMax)
  const changes = await countTransitions(session, rows, old, stored, rowsMax)
  if (offsets.length > 0) await session.send(moveOffsets(offsetTuples(offsets)))
  const number = changes === undefined ? 0 : await putChanges(session, changes)

  const inOrder: MarkRecord[] = []
  for (const [place, row] of rows.entries()) inOrder[row.index] = stored[place] as MarkRecord
  return { stored: inOrder, changes: changes && { number, ...changes } }
}

async function readOld(session: Session, rows: readonly PackedRow[]): Promise<(MarkRecord | undefined)[]> {
  const old = rows.map((): MarkRecord | undefined => undefined)
  for (let start = 0; start < rows.length; start += KEYS_MAX) {
    const keys = placed(rows.slice(start, start + KEYS_MAX).map((row) => row.tuple))
    for (const row of (await session.send(lockMarks(keys))).rows) old[start + Number(row[0])] = markRecordOf(row, 1)
  }
  return old
}

/** Completes `old` and `stored` with the archived marks of the new rows' keys. */
async function coverArchived(
  session: Session,
  rows: readonly PackedRow[],
  fresh: readonly number[],
  old: (MarkRecord | undefined)[],
  stored: MarkRecord[],
  rowsMax: number,
): Promise<void> {
  const freshRows = fresh.map((place) => rows[place] as PackedRow)
  const archived = await findArchived(
    session,
    freshRows.map((row) => row.key),
  )
  const covering: string[][] = []
  const stale: PackedRow[] = []
  fresh.forEach((place, i) => {
    const row = rows[place] as PackedRow
    const record = archived[i]
    if (record === undefined) return
    old[place] = record
    if (winsOver(row.record, record)) covering.push([...markTuple(row), String(markCode(record.mark))])
    else {
      stored[place] = record
      stale.push(row)
    }
  })
  for (const chunk of chunked(covering, rowsMax)) await session.send(updateCovers(chunk))
  for (const chunk of chunked(stale, KEYS_MAX)) await session.send(deleteMarks(placed(chunk.map((row) => row.tuple))))
}

/** The change of a subject's counts, or of an owner's sum. `place` is its index among the changed ones. */
type Delta = PackedSubject & { place: number; business: number; id: string; likes: number; dislikes: number }

async function countTransitions(
  session: Session,
  rows: readonly PackedRow[],
  old: readonly (MarkRecord | undefined)[],
  stored: readonly MarkRecord[],
  rowsMax: number,
): Promise<UnnumberedChanges | undefined> {
  const changed = rows.flatMap((row, place): { row: PackedRow; transition: MarkTransition }[] => {
    const before = old[place]?.mark ?? 'NONE'
    const record = stored[place] as MarkRecord
    return record.mark === before ? [] : [{ row, transition: { key: row.key, old: before, record } }]
  })
  const moved = rows.filter((row, place) => stored[place] === row.record && movesLike(row.record, old[place]))
  if (changed.length + moved.length === 0) return undefined
  changed.sort((a, b) => a.row.index - b.row.index)
  const deltas = new Map<string, Delta>()
  for (const { row, transition } of changed) {
    const [business = '', , oid = ''] = row.tuple
    const { likes, dislikes } = transitionOf(transition.old, transition.record.mark)
    const delta = deltas.get(row.subjectOrder)
    if (delta === undefined) {
      const subject = { order: row.subjectOrder, tuple: [business, oid], business: row.key.business, id: row.key.oid }
      deltas.set(row.subjectOrder, { ...subject, place: deltas.size, likes, dislikes })
    } else {
      delta.likes += likes
      delta.dislikes += dislikes
    }
  }
  // Only the versions of these change.
  for (const row of moved) {
    if (deltas.has(row.subjectOrder)) continue
    const [business = '', , oid = ''] = row.tuple
    const subject = { order: row.subjectOrder, tuple: [business, oid], business: row.key.business, id: row.key.oid }
    deltas.set(row.subjectOrder, { ...subject, place: deltas.size, likes: 0, dislikes: 0 })
  }
  const { counts, received } = await addToCounts(session, [...deltas.values()].sort(byOrder), rowsMax)
  const owners = await addToOwners(session, received)
  return { transitions: changed.map(({ transition }) => transition), counts, owners }
}

async function addToCounts(session: Session, deltas: readonly Delta[], rowsMax: number) {
  const counts: UnnumberedChanges['counts'] = []
  const received: Received[] = []
  for (const chunk of chunked(deltas, rowsMax))
    await session.send(addCounts(chunk.map(({ tuple, likes, dislikes }) => [...tuple, signedLiteral(likes), signedLiteral(dislikes)])))
  for (const chunk of chunked(deltas, KEYS_MAX)) {
    for (const row of (await session.send(selectCounts(placed(chunk.map((delta) => delta.tuple))))).rows) {
      const { place, business, id, likes } = chunk[Number(row[0])] as Delta
      counts[place] = { business, oid: id, counts: countsOf(row, 1) }
      if (row[4] !== null && row[4] !== undefined && likes !== 0) received.push({ business, owner: idOf(row[4]), likes })
    }
  }
  return { counts, received }
}

/** The counts in the columns from `start`: likes, dislikes, version. */
export function countsOf(row: Row, start: number) {
  return { likes: Number(row[start]), dislikes: Number(row[start + 1]), version: Number(row[start + 2]) }
}

export type Received = { business: number; owner: string; likes: number }

/** Adds received likes to the owners' sums, possibly negative, and returns the changed sums. */
export async function addToOwners(session: Session, received: readonly Received[]): Promise<OwnerSum[]> {
  const deltas = new Map<string, Delta>()
  for (const { business, owner, likes } of received) {
    const packed = packSubject({ business, oid: owner })
    const delta = deltas.get(packed.order)
    if (delta === undefined) deltas.set(packed.order, { ...packed, place: deltas.size, business, id: owner, likes, dislikes: 0 })
    else delta.likes += likes
  }
  const sums: OwnerSum[] = []
  const changed = [...deltas.values()].filter((delta) => delta.likes !== 0).sort(byOrder)
  for (const chunk of chunked(changed, KEYS_MAX)) {
    await session.send(addOwnerSums(chunk.map(({ tuple, likes }) => [...tuple, signedLiteral(likes)])))
    for (const row of (await session.send(selectOwnerSums(placed(chunk.map((delta) => delta.tuple))))).rows) {
      const { business, id } = chunk[Number(row[0])] as Delta
      sums.push({ business, owner: id, likes: Number(row[1]), version: Number(row[2]) })
    }
  }
  return sums
}

export function streamLiteral(stream: string): string {
  return bytesLiteral(Buffer.from(stream))
}

function offsetTuples(offsets: readonly StreamOffset[]): string[][] {
  return offsets
    .map(({ stream, partition, offset }) => [streamLiteral(stream), numberLiteral(partition), signedLiteral(offset)])
    .sort(([streamA = '', partitionA = ''], [streamB = '', partitionB = '']) =>
      streamA === streamB ? Number(partitionA) - Number(partitionB) : streamA < streamB ? -1 : 1,
    )
}
