/**
 * Values of the marks' tables, to bytes and back.
 *
 *     a row         mark + 4 × the archived mark that it covers (1 byte; 0 NONE, 1 LIKE, 2 DISLIKE) · markedAt (6) · version (f64)
 *     counts        likes (f64) · dislikes (f64) · version (f64) · if known, the owner of the subject (packed id)
 *     owners' sums  likes (f64) · version (f64)
 *
 * A double holds whole numbers up to 2^53, the limit of counts.
 */
import type { Mark, MarkRecord, SubjectCounts, ViewerId } from '../../../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, unpackId } from '../../../../../core/keys.ts'

/** A recent row, and the archived mark of its key that it hides. NONE: there is none. */
export type HeldMark = { record: MarkRecord; covers: Mark }

export type HeldCounts = { counts: SubjectCounts; owner: ViewerId | undefined }

const MARKS = ['NONE', 'LIKE', 'DISLIKE'] as const satisfies readonly Mark[]
const TIME_BYTES = 6
const ROW_BYTES = 1 + TIME_BYTES + 8
const COUNTS_BYTES = 24

export function encodeRow({ record, covers }: HeldMark): Buffer {
  const bytes = Buffer.allocUnsafe(ROW_BYTES)
  bytes[0] = MARKS.indexOf(record.mark) | (MARKS.indexOf(covers) << 2)
  bytes.writeUIntBE(record.markedAt, 1, TIME_BYTES)
  bytes.writeDoubleBE(record.version, 1 + TIME_BYTES)
  return bytes
}

export function decodeRow(bytes: Buffer): HeldMark {
  const record = { mark: markOf(bytes, 0), markedAt: markedAtOf(bytes), version: bytes.readDoubleBE(1 + TIME_BYTES) }
  return { record, covers: markOf(bytes, 2) }
}

/** The flags of a row, without its rest. */
export function markedAtOf(bytes: Buffer): number {
  return bytes.readUIntBE(1, TIME_BYTES)
}

function markOf(bytes: Buffer, shift: number): Mark {
  const mark = MARKS[((bytes[0] as number) >>> shift) & 3]
  if (mark === undefined) throw new Error(`mark code ${bytes[0]} of a row is not valid`)
  return mark
}

/** The value of COVERED. */
export function encodeMark(mark: Mark): Buffer {
  return Buffer.from([MARKS.indexOf(mark)])
}

export function decodeMark(bytes: Buffer): Mark {
  return markOf(bytes, 0)
}

export const NOTHING_COUNTED: HeldCounts = { counts: { likes: 0, dislikes: 0, version: 0 }, owner: undefined }

export function encodeCounts({ counts, owner }: HeldCounts): Buffer {
  const bytes = Buffer.allocUnsafe(COUNTS_BYTES + PACKED_ID_BYTES_MAX)
  bytes.writeDoubleBE(counts.likes, 0)
  bytes.writeDoubleBE(counts.dislikes, 8)
  bytes.writeDoubleBE(counts.version, 16)
  return bytes.subarray(0, owner === undefined ? COUNTS_BYTES : packId(owner, bytes, COUNTS_BYTES))
}

export function decodeCounts(bytes: Buffer): HeldCounts {
  const counts = { likes: bytes.readDoubleBE(0), dislikes: bytes.readDoubleBE(8), version: bytes.readDoubleBE(16) }
  return { counts, owner: bytes.length > COUNTS_BYTES ? unpackId(bytes, COUNTS_BYTES) : undefined }
}

export function encodeSum({ likes, version }: { likes: number; version: number }): Buffer {
  const bytes = Buffer.allocUnsafe(16)
  bytes.writeDoubleBE(likes, 0)
  bytes.writeDoubleBE(version, 8)
  return bytes
}

export function decodeSum(bytes: Buffer): { likes: number; version: number } {
  return { likes: bytes.readDoubleBE(0), version: bytes.readDoubleBE(8) }
}
