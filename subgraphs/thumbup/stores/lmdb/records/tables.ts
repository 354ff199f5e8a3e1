/** The tables of marks, and their reads by key. Use them inside a transaction or a read of the environment. */
import { gatherDamage } from '../../../model/damaged-marks.ts'
import type { BusinessNumber, MarkKey, OwnerSum, Subject, ViewerId } from '../../../../../core/domain.ts'
import { findInBlocks } from '../../../archive/blocks.ts'
import type { Bytes, Environment } from '../../../../../stores/lmdb/environment.ts'
import { BLOCK, ROW, kindRange, makeMarkShelf, otherKey, plainMarkKey, type MarkShelf } from './keys.ts'
import { NOTHING_COUNTED, decodeCounts, decodeRow, decodeSum, type HeldCounts, type HeldMark } from './values.ts'

export type MarkTables = {
  /** Rows, lists and blocks by viewer. */
  likes: Bytes
  /** Lists and blocks by subject. */
  likers: Bytes
  counts: Bytes
  /** Owners' sums. */
  owners: Bytes
  /** Business and owner, then the oid: the subjects of an owner. */
  owned: Bytes
  offsets: Bytes
  outbox: Bytes
  counters: Bytes
}

export function openMarkTables(environment: Environment): MarkTables {
  return {
    likes: environment.table('likes'),
    likers: environment.table('likers'),
    counts: environment.table('counts'),
    owners: environment.table('owners'),
    owned: environment.table('owned'),
    offsets: environment.table('mark-offsets'),
    outbox: environment.table('mark-outbox'),
    counters: environment.table('mark-counters'),
  }
}

/** Valid until the next read: decode it at once. */
export function getBytes(table: Bytes, key: Buffer): Buffer | undefined {
  const value = table.getBinaryFast(key)
  return value === undefined ? undefined : value.subarray(0, value.length)
}

export function readRow(tables: MarkTables, shelf: MarkShelf, oid: string): HeldMark | undefined {
  const value = getBytes(tables.likes, otherKey(shelf, ROW, oid))
  return value === undefined ? undefined : decodeRow(value)
}

export type FoundMark = HeldMark & { isRecent: boolean }

/**
 * In key order, of both tiers. An archived mark has version 0, and a row written over it covers it. Throws DamagedMarks for all viewers
 * with a damaged block that had to be searched.
 */
export function findMarks(tables: MarkTables, keys: readonly MarkKey[]): (FoundMark | undefined)[] {
  const found: (FoundMark | undefined)[] = []
  const missing = new Map<string, { owner: MarkKey; shelf: MarkShelf; places: number[]; oids: string[] }>()
  for (const [place, key] of keys.entries()) {
    const { viewer, business, oid } = key
    const shelf = makeMarkShelf(business, viewer)
    const held = readRow(tables, shelf, oid)
    found.push(held === undefined ? undefined : { ...held, isRecent: true })
    if (held !== undefined) continue
    const text = `${business}:${viewer}`
    const own = missing.get(text)
    if (own === undefined) {
      missing.set(text, { owner: key, shelf, places: [place], oids: [oid] })
    } else {
      own.places.push(place)
      own.oids.push(oid)
    }
  }
  const damage = gatherDamage()
  for (const { owner, shelf, places, oids } of missing.values()) {
    const blocks = [...tables.likes.getRange(kindRange(shelf, BLOCK))].map(({ value }) => value)
    if (blocks.length === 0) continue
    for (const [at, entry] of damage.read(owner, () => findInBlocks(blocks, oids))?.entries() ?? []) {
      if (entry === undefined) continue
      const record = { mark: entry.mark, markedAt: entry.markedAt, version: 0 }
      found[places[at] as number] = { record, covers: entry.mark, isRecent: false }
    }
  }
  damage.throwIfAny()
  return found
}

export function readCounts(tables: MarkTables, { business, oid }: Subject): HeldCounts {
  const value = getBytes(tables.counts, plainMarkKey(business, oid))
  return value === undefined ? NOTHING_COUNTED : decodeCounts(value)
}

export function readSum(tables: MarkTables, { business, owner }: { business: BusinessNumber; owner: ViewerId }): OwnerSum {
  const value = getBytes(tables.owners, plainMarkKey(business, owner))
  return { business, owner, ...(value === undefined ? { likes: 0, version: 0 } : decodeSum(value)) }
}
