/**
 * Values of the mark store's table, to bytes and back.
 *
 *     a mark   u8 mark and counted · markedAt (6 bytes) · version (f64) · (if dirty) dirtySince (6 bytes) · countedAt (6 bytes)
 *     a state  u8 flags · u32 likes · u32 dislikes · droppedUntil (f64) · leftAt (f64) · (if truncated) floor: markedAt (6 bytes) · packed oid
 *
 * Encoders write into one buffer: the bytes are valid until the next one encodes, which is long enough inside a
 * transaction, where LMDB copies at once.
 */
import type { Mark, MarkPlace, MarkRecord } from '../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, unpackId } from '../../../../core/keys.ts'

/**
 * `dirtySince` is the time of the first unpersisted change; 0 = clean. `countedAt` is the `markedAt` of the counted row: a clean mark's
 * own, or 0 if unknown for a dirty mark.
 */
export type HeldMark = { record: MarkRecord; counted: Mark; countedAt: number; dirtySince: number }

/** The knowledge about a viewer's marks in one business. */
export type MarkState = {
  /** False if a mark that is not held may be anywhere. */
  known: boolean
  /** The newest place that ever left, or the oldest of a fill. Set if the marks are known and not complete. */
  floor: MarkPlace | undefined
  likes: number
  dislikes: number
  /** The latest `markedAt` that ever left, or -1. */
  droppedUntil: number
  /** The version of the moment at which a mark last left. */
  leftAt: number
}

const MARKS = ['NONE', 'LIKE', 'DISLIKE'] as const satisfies Mark[]
const TIME_BYTES = 6
const VERSION_AT = 1 + TIME_BYTES
const DIRTY_AT = VERSION_AT + 8
const COUNTED_AT = DIRTY_AT + TIME_BYTES
const KNOWN = 1
const TRUNCATED = 2
const FLOOR_AT = 1 + 4 + 4 + 8 + 8
const scratch = Buffer.allocUnsafeSlow(FLOOR_AT + TIME_BYTES + PACKED_ID_BYTES_MAX)

export function encodeHeldMark({ record, counted, countedAt, dirtySince }: HeldMark): Buffer {
  scratch[0] = MARKS.indexOf(record.mark) | (MARKS.indexOf(counted) << 2)
  scratch.writeUIntBE(record.markedAt, 1, TIME_BYTES)
  scratch.writeDoubleBE(record.version, VERSION_AT)
  if (dirtySince === 0) return scratch.subarray(0, DIRTY_AT)
  return scratch.subarray(0, scratch.writeUIntBE(countedAt, scratch.writeUIntBE(dirtySince, DIRTY_AT, TIME_BYTES), TIME_BYTES))
}

export function decodeHeldMark(value: Buffer, length: number): HeldMark {
  const marks = value[0] as number
  const record = { mark: markAt(marks & 3), markedAt: value.readUIntBE(1, TIME_BYTES), version: value.readDoubleBE(VERSION_AT) }
  const counted = markAt(marks >> 2)
  if (length === DIRTY_AT) return { record, counted, countedAt: record.markedAt, dirtySince: 0 }
  // A value from before `countedAt` existed has none.
  const countedAt = length === COUNTED_AT ? 0 : value.readUIntBE(COUNTED_AT, TIME_BYTES)
  return { record, counted, countedAt, dirtySince: value.readUIntBE(DIRTY_AT, TIME_BYTES) }
}

function markAt(index: number): Mark {
  return MARKS[index] ?? 'NONE'
}

export function encodeMarkState(state: MarkState): Buffer {
  scratch[0] = (state.known ? KNOWN : 0) | (state.floor === undefined ? 0 : TRUNCATED)
  scratch.writeUInt32BE(state.likes, 1)
  scratch.writeUInt32BE(state.dislikes, 5)
  scratch.writeDoubleBE(state.droppedUntil, 9)
  scratch.writeDoubleBE(state.leftAt, 17)
  if (state.floor === undefined) return scratch.subarray(0, FLOOR_AT)
  return scratch.subarray(0, packId(state.floor.id, scratch, scratch.writeUIntBE(state.floor.markedAt, FLOOR_AT, TIME_BYTES)))
}

export function decodeMarkState(value: Buffer): MarkState {
  const flags = value[0] as number
  const floor = { markedAt: 0, id: '' }
  if ((flags & TRUNCATED) !== 0) {
    floor.markedAt = value.readUIntBE(FLOOR_AT, TIME_BYTES)
    floor.id = unpackId(value, FLOOR_AT + TIME_BYTES)
  }
  return {
    known: (flags & KNOWN) !== 0,
    floor: (flags & TRUNCATED) === 0 ? undefined : floor,
    likes: value.readUInt32BE(1),
    dislikes: value.readUInt32BE(5),
    droppedUntil: value.readDoubleBE(9),
    leftAt: value.readDoubleBE(17),
  }
}
