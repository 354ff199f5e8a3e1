/**
 * Vectors: sets of post ids as bytes.
 *
 *   bytes 8i to 8i + 7   the id number i as an unsigned integer, big endian, below 2^63
 *
 * Ids are distinct and ascend, so the newest is last. There is no header: the empty set has no bytes. A vector is never changed in place.
 * A function returns a new buffer, or a view of its argument if the bytes are a part of it. Ids are compared as two halves of 32 bits,
 * because a number of JavaScript has 53 bits only.
 */
import { packId, unpackId } from '../../../core/keys.ts'
import type { PostId } from './post-id.ts'

export const ID_BYTES = 8
export const EMPTY_VECTOR: Buffer = Buffer.alloc(0)

/** The vector of these ids, in any order and with repetitions. They must be integers below 2^63 (`isIntegerId`). */
export function packIds(ids: readonly PostId[]): Buffer {
  const sorted = new BigUint64Array(ids.length)
  ids.forEach((id, at) => (sorted[at] = BigInt(id)))
  sorted.sort()
  const vector = Buffer.allocUnsafe(ids.length * ID_BYTES)
  let end = 0
  let last = -1n
  for (const id of sorted) {
    if (id !== last) end = vector.writeBigUInt64BE(id, end)
    last = id
  }
  return vector.subarray(0, end)
}

/** Ascending. */
export function unpackIds(vector: Buffer): PostId[] {
  return Array.from({ length: lengthOf(vector) }, (_, at) => unpackId(vector, at * ID_BYTES))
}

export function lengthOf(vector: Buffer): number {
  return vector.length / ID_BYTES
}

export function hasId(vector: Buffer, id: PostId): boolean {
  const packed = packOne(id)
  return isAt(vector, placeOf(vector, packed), packed)
}

export function insertId(vector: Buffer, id: PostId): Buffer {
  const packed = packOne(id)
  const place = placeOf(vector, packed)
  if (isAt(vector, place, packed)) return vector
  return Buffer.concat([vector.subarray(0, place), packed, vector.subarray(place)])
}

export function removeId(vector: Buffer, id: PostId): Buffer {
  const packed = packOne(id)
  const place = placeOf(vector, packed)
  if (!isAt(vector, place, packed)) return vector
  return Buffer.concat([vector.subarray(0, place), vector.subarray(place + ID_BYTES)])
}

/** Ids of either vector. Takes time in proportion to both. */
export function union(a: Buffer, b: Buffer): Buffer {
  if (a.length === 0) return b
  if (b.length === 0) return a
  const all = Buffer.allocUnsafe(a.length + b.length)
  let i = 0
  let j = 0
  let end = 0
  while (i < a.length && j < b.length) {
    const order = comparePacked(a, i, b, j)
    if (order <= 0) a.copy(all, end, i, (i += ID_BYTES))
    else b.copy(all, end, j, (j += ID_BYTES))
    if (order === 0) j += ID_BYTES
    end += ID_BYTES
  }
  end += a.copy(all, end, i)
  end += b.copy(all, end, j)
  return all.subarray(0, end)
}

/** Ids of `a` that are not in `b`. Takes time in proportion to both. */
export function subtract(a: Buffer, b: Buffer): Buffer {
  if (a.length === 0 || b.length === 0) return a
  const rest = Buffer.allocUnsafe(a.length)
  let j = 0
  let end = 0
  for (let i = 0; i < a.length; i += ID_BYTES) {
    while (j < b.length && comparePacked(b, j, a, i) < 0) j += ID_BYTES
    if (j < b.length && comparePacked(b, j, a, i) === 0) continue
    end += a.copy(rest, end, i, i + ID_BYTES)
  }
  return rest.subarray(0, end)
}

/** The newest `count` ids, or all if there are fewer. A view. */
export function newestOf(vector: Buffer, count: number): Buffer {
  return vector.subarray(Math.max(0, vector.length - count * ID_BYTES))
}

/** The ids below this one; all of them without one. A view. */
export function below(vector: Buffer, id: PostId | undefined): Buffer {
  return id === undefined ? vector : vector.subarray(0, placeOf(vector, packOne(id)))
}

/** The newest `limit` ids below `before`, and whether there are lower ones. Without `part`, all ids. Views. */
export function partOf(
  vector: Buffer,
  part: { before: PostId | undefined; limit: number } | undefined,
): { added: Buffer; hasMore: boolean } {
  if (part === undefined) return { added: vector, hasMore: false }
  const all = below(vector, part.before)
  return { added: newestOf(all, part.limit), hasMore: lengthOf(all) > part.limit }
}

/** The byte offset of the first id at or above the one in these 8 bytes. Binary search. */
export function placeOf(vector: Buffer, packed: Buffer): number {
  let low = 0
  let high = lengthOf(vector)
  while (low < high) {
    const middle = (low + high) >>> 1
    if (comparePacked(vector, middle * ID_BYTES, packed, 0) < 0) low = middle + 1
    else high = middle
  }
  return low * ID_BYTES
}

export function packOne(id: PostId): Buffer {
  const packed = Buffer.allocUnsafe(ID_BYTES)
  packId(id, packed, 0)
  return packed
}

/** Negative if the id at offset `i` of `a` is lower than the one at offset `j` of `b`. */
function comparePacked(a: Buffer, i: number, b: Buffer, j: number): number {
  return a.readUInt32BE(i) - b.readUInt32BE(j) || a.readUInt32BE(i + 4) - b.readUInt32BE(j + 4)
}

function isAt(vector: Buffer, place: number, packed: Buffer): boolean {
  return place < vector.length && comparePacked(vector, place, packed, 0) === 0
}
