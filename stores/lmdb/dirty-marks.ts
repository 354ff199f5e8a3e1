/**
 * Dirty marks by age: the keys that are newer in the hot store than in the record store, oldest change first.
 *
 *     dirtySince (6 bytes) · u16 region · packed viewer · u16 business · packed oid  →  (nothing)
 *
 * The time comes before the region, although marks are read by region. New marks are therefore at one end of the table instead of in a
 * hundred places, and one process owns all regions here. Reading a few of many regions examines the marks of the others too.
 */
import type { DirtyWalk, ProgressKey } from '../../core/domain.ts'
import type { Bytes } from './environment.ts'
import { PACKED_ID_BYTES_MAX, packId, packedIdLength, unpackId } from '../../core/keys.ts'

const TIME_BYTES = 6
const VIEWER_AT = TIME_BYTES + 2
const TIME_MAX = 2 ** 48 - 1
const scratch = Buffer.allocUnsafeSlow(VIEWER_AT + PACKED_ID_BYTES_MAX + 2 + PACKED_ID_BYTES_MAX)

/** Valid until the next call. */
export function dirtyMark(dirtySince: number, region: number, key: ProgressKey): Buffer {
  scratch.writeUIntBE(dirtySince, 0, TIME_BYTES)
  scratch.writeUInt16BE(region, TIME_BYTES)
  const businessAt = packId(key.viewer, scratch, VIEWER_AT)
  return scratch.subarray(0, packId(key.oid, scratch, scratch.writeUInt16BE(key.business, businessAt)))
}

export function regionOfMark(mark: Buffer): number {
  return mark.readUInt16BE(TIME_BYTES)
}

export function keyOfMark(mark: Buffer): ProgressKey {
  const businessAt = VIEWER_AT + packedIdLength(mark, VIEWER_AT)
  return { viewer: unpackId(mark, VIEWER_AT), business: mark.readUInt16BE(businessAt), oid: unpackId(mark, businessAt + 2) }
}

/** The end of the marks at or before this moment, exclusive. */
export function marksUntil(dirtyBefore: number): Buffer {
  const end = Buffer.alloc(TIME_BYTES + 2)
  end.writeUIntBE(Math.min(Math.max(dirtyBefore, 0) + 1, TIME_MAX), 0, TIME_BYTES)
  return end
}

/** Keys of an index by time, of these regions, up to a moment, oldest first. With a walk, keys after the last one of the previous call. */
export function listMarks(index: Bytes, regions: readonly number[], until: number, limit: number, walk: DirtyWalk = {}): ProgressKey[] {
  const wanted = new Set(regions)
  const keys: ProgressKey[] = []
  if (wanted.size === 0 || limit <= 0) return keys
  const from = walk.place instanceof Buffer ? { start: walk.place, exclusiveStart: true } : {}
  for (const mark of index.getKeys({ ...from, end: marksUntil(until) })) {
    walk.place = mark
    if (!wanted.has(regionOfMark(mark))) continue
    keys.push(keyOfMark(mark))
    if (keys.length === limit) break
  }
  return keys
}
