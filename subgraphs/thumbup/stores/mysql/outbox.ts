/**
 * The outbox: the changes of each transaction, written by that transaction. It is JSON of plain arrays, a third of the size of objects, in
 * parts that fit into a packet of the server.
 */
import type { Mark } from '../../../../core/domain.ts'
import type { MarkChanges } from '../record-store.ts'
import type { Database, Session } from '../../../../stores/mysql/database.ts'
import { bytesLiteral } from '../../../../stores/mysql/literals.ts'
import { deleteOutbox, insertOutbox, insertOutboxPart, selectOutbox, selectOutboxNumbers } from './statements.ts'

export type UnnumberedChanges = Omit<MarkChanges, 'number'>

/** As hexadecimal digits, a part fills half a packet of 1 MiB. */
const PART_BYTES_MAX = 262_144
const FORMAT = 1

type Stored = {
  format: number
  transitions: [viewer: string, business: number, oid: string, old: Mark, mark: Mark, markedAt: number, version: number][]
  counts: [business: number, oid: string, likes: number, dislikes: number, version: number][]
  owners: [business: number, owner: string, likes: number, version: number][]
}

export function encodeChanges({ transitions, counts, owners }: UnnumberedChanges): Buffer {
  const stored: Stored = {
    format: FORMAT,
    transitions: transitions.map(({ key, old, record }) => [
      key.viewer,
      key.business,
      key.oid,
      old,
      record.mark,
      record.markedAt,
      record.version,
    ]),
    counts: counts.map((counted) => [counted.business, counted.oid, counted.counts.likes, counted.counts.dislikes, counted.counts.version]),
    owners: owners.map(({ business, owner, likes, version }) => [business, owner, likes, version]),
  }
  return Buffer.from(JSON.stringify(stored))
}

export function decodeChanges(number: number, bytes: Buffer): MarkChanges {
  const stored = JSON.parse(bytes.toString()) as Stored
  if (stored.format !== FORMAT)
    throw new Error(`the outbox has changes of format ${stored.format}, and this version reads format ${FORMAT}`)
  return {
    number,
    transitions: stored.transitions.map(([viewer, business, oid, old, mark, markedAt, version]) => ({
      key: { viewer, business, oid },
      old,
      record: { mark, markedAt, version },
    })),
    counts: stored.counts.map(([business, oid, likes, dislikes, version]) => ({ business, oid, counts: { likes, dislikes, version } })),
    owners: stored.owners.map(([business, owner, likes, version]) => ({ business, owner, likes, version })),
  }
}

/** Runs within a transaction. Returns the number of the changes. */
export async function putChanges(session: Session, changes: UnnumberedChanges): Promise<number> {
  const bytes = encodeChanges(changes)
  const { insertedNumber } = await session.send(insertOutbox(bytesLiteral(bytes.subarray(0, PART_BYTES_MAX))))
  for (let part = 1; part * PART_BYTES_MAX < bytes.length; part++) {
    const slice = bytes.subarray(part * PART_BYTES_MAX, (part + 1) * PART_BYTES_MAX)
    await session.send(insertOutboxPart(insertedNumber, part, bytesLiteral(slice)))
  }
  return insertedNumber
}

/**
 * Changes that another process drops between the two statements are missing. Changes that commit in between, with a lower number than the
 * last, may be included.
 */
export async function readOutbox(database: Database, limit: number, after: number): Promise<MarkChanges[]> {
  const numbers = await readOutboxNumbers(database, limit, after)
  const [first, last] = [numbers[0], numbers.at(-1)]
  if (first === undefined || last === undefined) return []
  const parts = new Map<number, Buffer[]>()
  for (const [number, bytes] of (await database.send(selectOutbox(first, last))).rows) {
    const known = parts.get(Number(number))
    if (known === undefined) parts.set(Number(number), [bytes as Buffer])
    else known.push(bytes as Buffer)
  }
  // The end of the outbox is an empty page. These changes were dropped in between, and others may follow.
  if (parts.size === 0) return readOutbox(database, limit, last)
  return [...parts].slice(0, limit).map(([number, slices]) => decodeChanges(number, Buffer.concat(slices)))
}

export async function readOutboxNumbers(database: Database, limit: number, after: number): Promise<number[]> {
  return (await database.send(selectOutboxNumbers(limit, after))).rows.map((row) => Number(row[0]))
}

const NUMBERS_MAX = 1_000

export async function dropChanges(database: Database, numbers: readonly number[]): Promise<void> {
  for (let next = 0; next < numbers.length; next += NUMBERS_MAX) await database.send(deleteOutbox(numbers.slice(next, next + NUMBERS_MAX)))
}
