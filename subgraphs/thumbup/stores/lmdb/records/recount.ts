/**
 * The reads of the reconciler: counted rows, summed likes, and walks over everything with counts. Use them inside a read of the
 * environment.
 */
import type { BusinessNumber, Mark, OwnerSum, Subject, ViewerId, CountedSubject } from '../../../../../core/domain.ts'
import { unpackId } from '../../../../../core/keys.ts'
import { blockHeader } from '../../../archive/block.ts'
import type { BusinessSize, Drift, Registration } from '../../record-store.ts'
import type { Bytes, Environment } from '../../../../../stores/lmdb/environment.ts'
import {
  BLOCK,
  COVERED,
  ROW,
  businessRange,
  idOfPlainKey,
  kindOfKey,
  kindRange,
  listedRange,
  makeMarkShelf,
  plainMarkKey,
  readMarkKey,
} from './keys.ts'
import { readCounts, readSum, type MarkTables } from './tables.ts'
import { decodeCounts, decodeMark, decodeRow, decodeSum } from './values.ts'
import { visitAll } from '../../../../../stores/lmdb/scan.ts'

type Counted = Record<'LIKE' | 'DISLIKE', number>

export function findDrift(tables: MarkTables, { business, oid }: Subject): Drift[] {
  const { counts } = readCounts(tables, { business, oid })
  const rows = countRows(tables, { business, oid })
  return rows.LIKE === counts.likes && rows.DISLIKE === counts.dislikes
    ? []
    : [{ business, oid, counts, rows: { likes: rows.LIKE, dislikes: rows.DISLIKE } }]
}

/** LMDB counts the keys of the lists. The headers of blocks have their counts, minus entries that recent rows cover. */
function countRows({ likers }: MarkTables, { business, oid }: Subject): Counted {
  const shelf = makeMarkShelf(business, oid)
  const rows: Counted = {
    LIKE: likers.getKeysCount(listedRange(shelf, 'LIKE', undefined)),
    DISLIKE: likers.getKeysCount(listedRange(shelf, 'DISLIKE', undefined)),
  }
  for (const { value } of likers.getRange(kindRange(shelf, BLOCK))) {
    const { likes, dislikes } = blockHeader(value)
    rows.LIKE += likes
    rows.DISLIKE += dislikes
  }
  for (const { value } of likers.getRange(kindRange(shelf, COVERED))) count(rows, decodeMark(value), -1)
  return rows
}

function count(rows: Counted, mark: Mark, by: number): void {
  if (mark !== 'NONE') rows[mark] += by
}

export function findOwnerDrift(
  tables: MarkTables,
  { business, owner }: { business: BusinessNumber; owner: ViewerId },
): (OwnerSum & { summed: number })[] {
  const shelf = makeMarkShelf(business, owner)
  let summed = 0
  for (const key of tables.owned.getKeys(kindRange(shelf, ROW))) {
    summed += readCounts(tables, { business, oid: unpackId(key, shelf.kindAt + 1) }).counts.likes
  }
  const sum = readSum(tables, { business, owner })
  return sum.likes === summed ? [] : [{ ...sum, summed }]
}

export function listCounted(tables: MarkTables, business: BusinessNumber, after: string | undefined, limit: number): CountedSubject[] {
  return listPlain(tables.counts, business, after, limit, (id, value) => {
    const { counts } = decodeCounts(value)
    return counts.version === 0 ? undefined : { business, oid: id, counts }
  })
}

/** One step per subject, for any number of marks. */
export function listMarked({ likers }: MarkTables, business: BusinessNumber, after: string | undefined, limit: number): string[] {
  const found: string[] = []
  for (let last = after; found.length < limit;) {
    const [key] = likers.getKeys({ ...businessRange(business, last), limit: 1 })
    if (key === undefined) break
    last = readMarkKey(key).id
    found.push(last)
  }
  return found
}

export function listRegistered(tables: MarkTables, business: BusinessNumber, after: string | undefined, limit: number): Registration[] {
  return listPlain(tables.counts, business, after, limit, (oid, value) => {
    const { owner } = decodeCounts(value)
    return owner === undefined ? undefined : { business, oid, owner }
  })
}

export function listSums(tables: MarkTables, business: BusinessNumber, after: string | undefined, limit: number): OwnerSum[] {
  return listPlain(tables.owners, business, after, limit, (owner, value) => ({ business, owner, ...decodeSum(value) }))
}

function listPlain<T>(
  table: Bytes,
  business: BusinessNumber,
  after: string | undefined,
  limit: number,
  read: (id: string, value: Buffer) => T | undefined,
): T[] {
  const found: T[] = []
  if (limit <= 0) return found
  const range = businessRange(business)
  const from = after === undefined ? range : { ...range, start: plainMarkKey(business, after), exclusiveStart: true }
  for (const { key, value } of table.getRange(from)) {
    const item = read(idOfPlainKey(key), value)
    if (item !== undefined) found.push(item)
    if (found.length === limit) break
  }
  return found
}

/** Only keys distinguish rows from blocks, so both tables are walked. */
export async function measureBusiness(environment: Environment, tables: MarkTables, business: BusinessNumber): Promise<BusinessSize> {
  const range = businessRange(business)
  const size = environment.read(() => ({
    rows: 0,
    blocks: 0,
    subjects: tables.counts.getKeysCount(range),
    owners: tables.owners.getKeysCount(range),
  }))
  const [first, second] = [range.start[0], range.start[1]]
  for (const table of [tables.likes, tables.likers]) {
    await visitAll(environment, table, ({ key }) => {
      if (key[0] !== first || key[1] !== second) return
      if (kindOfKey(key) === BLOCK) size.blocks += 1
      else if (table === tables.likes && kindOfKey(key) === ROW) size.rows += 1
    })
  }
  return size
}

/** Live marks, and bytes of keys and values of both tables, by a walk over all of them. */
export async function measure(environment: Environment, tables: MarkTables) {
  const measured = { recent: 0, archived: 0, recentBytes: 0, archivedBytes: 0 }
  const addBytes = (key: Buffer, value: Buffer): void => {
    if (kindOfKey(key) === BLOCK) measured.archivedBytes += key.length + value.length
    else measured.recentBytes += key.length + value.length
  }
  await visitAll(environment, tables.likes, ({ key, value }) => {
    addBytes(key, value)
    const kind = kindOfKey(key)
    if (kind === BLOCK) {
      const { likes, dislikes } = blockHeader(value)
      measured.archived += likes + dislikes
    } else if (kind === ROW) {
      const { record, covers } = decodeRow(value)
      if (record.mark !== 'NONE') measured.recent += 1
      if (covers !== 'NONE') measured.archived -= 1
    }
  })
  await visitAll(environment, tables.likers, ({ key, value }) => addBytes(key, value))
  return measured
}
