/**
 * One transaction of filter writes: locks the existing rows, compares their versions, inserts the new ones, and replaces the others.
 *
 * 1. One statement locks the existing rows, in the order of the primary key.
 * 2. A write is refused if its expected version is not the stored one, or if it was read as missing and exists now. From here on no other
 *    transaction changes the locked rows, so the decision holds until the commit.
 * 3. Missing rows are inserted. The insert fails if another transaction has inserted them since step 1: READ COMMITTED locks no gaps. The
 *    whole transaction is then repeated (`transactions.ts`), and finds the row in step 1.
 * 4. Locked rows are replaced by an upsert of many rows, which finds each by the primary key.
 *
 * One guarded upsert without a transaction would not suffice: it returns the number of changed rows but not their keys, and a version that
 * is one higher may be another writer's. REPEATABLE READ would lock the gaps of missing rows, so that two workers with neighbouring new
 * viewers would always deadlock.
 */
import assert from 'node:assert/strict'
import type { FilterKey, FilterWrite } from '../record-store.ts'
import type { Session } from '../../../../stores/mysql/database.ts'
import { bytesLiteral, numberLiteral, packedHex, asLiteral } from '../../../../stores/mysql/literals.ts'
import { insertFilters, lockFilters, updateFilters } from './statements.ts'
import { type Tuple, byOrder, placed } from '../../../../stores/mysql/tuples.ts'
import { chunkedByWeight } from '../../../../stores/chunks.ts'

/** Bytes of filters per statement, unless one filter alone has more: half a megabyte of hexadecimal digits. */
const STATEMENT_BYTES_MAX = 262_144

/** A write with the text of its key, and its place in the call. */
export type PackedWrite = FilterWrite & { order: string; key: Tuple; index: number }

export function packFilterKey({ viewer, month }: FilterKey): { order: string; key: Tuple } {
  const hex = packedHex(viewer)
  return { order: hex + month.toString(16).padStart(4, '0'), key: [asLiteral(hex), numberLiteral(month)] }
}

/** In the order of the primary key. */
export function packWrites(writes: readonly FilterWrite[]): PackedWrite[] {
  const packed = writes.map((write, index) => ({ ...write, ...packFilterKey(write), index })).sort(byOrder)
  packed.forEach(({ order, filter }, at) => {
    assert(order !== packed[at + 1]?.order, 'keys of a call are distinct')
    assert(filter.length > 0, 'a filter has a byte at least')
  })
  return packed
}

/** True for each write that was applied, in the order of `writes`, which is that of the primary key. */
export async function putSome(session: Session, writes: readonly PackedWrite[]): Promise<boolean[]> {
  const stored = new Map<number, { version: number; isAside: boolean }>()
  for (const [place, version, aside] of (await session.send(lockFilters(placed(writes.map(({ key }) => key))))).rows)
    stored.set(Number(place), { version: Number(version), isAside: Number(aside) === 1 })
  const fresh: [PackedWrite, number][] = []
  const known: [PackedWrite, number][] = []
  const written = writes.map((write, place) => {
    const row = stored.get(place)
    if ((row === undefined || row.isAside ? 0 : row.version) !== write.expected) return false
    if (row === undefined) fresh.push([write, 1])
    else known.push([write, row.version + 1])
    return true
  })
  for (const some of chunkedByWeight(fresh, STATEMENT_BYTES_MAX, filterBytes)) await session.send(insertFilters(some.map(rowOf)))
  for (const some of chunkedByWeight(known, STATEMENT_BYTES_MAX, filterBytes)) await session.send(updateFilters(some.map(rowOf)))
  return written
}

function filterBytes([{ filter }]: [PackedWrite, number]): number {
  return filter.length
}

function rowOf([{ key, filter, expiresAt }, version]: [PackedWrite, number]): Tuple {
  return [...key, ...[version, expiresAt, filter.length].map(numberLiteral), bytesLiteral(filter)]
}
