/**
 * The bytes of a viewer's hash of marks. `scripts/mark.lua` has the same in Lua, and only the scripts write it. Numbers are big endian.
 *
 * A pending mark or a tombstone: bits (1): the mark, the counted mark × 4, 16 if dirty; markedAt (6), version (7). A pending mark also has
 * the markedAt of the counted row (6), which only scripts read.
 *
 * The state of a viewer in a business: kind (1), 1 + the latest markedAt that ever left (6), the region's clock when a mark last left (7),
 * the day of the last expiry (4), the floor's markedAt (6) and its oid, empty if there is none.
 *
 * A clean like or dislike is only in the sorted set, and has no version: it reads as 0.
 */
import type { Mark, MarkPlace, MarkRecord } from '../../../../core/domain.ts'
import { readVersion, writeVersion } from '../../../../stores/redis/packing.ts'

/** The field of the hash that holds the state: no oid is empty. */
export const STATE_FIELD = ''

const MARKS = ['NONE', 'LIKE', 'DISLIKE'] as const satisfies Mark[]
const NUMBERS = { NONE: 0, LIKE: 1, DISLIKE: 2 } as const satisfies Record<Mark, number>
const DIRTY = 16

export const RECORD_BYTES = 14

export function markNumber(mark: Mark): number {
  return NUMBERS[mark]
}

export function markOf(number: number): Mark {
  return MARKS[number & 3] ?? 'NONE'
}

/** Writes mark, markedAt and version. Returns the next offset. */
export function writeMark(record: MarkRecord, target: Buffer, offset: number): number {
  target[offset] = markNumber(record.mark)
  return writeVersion(record.version, target, target.writeUIntBE(record.markedAt, offset + 1, 6))
}

export type HeldMark = { record: MarkRecord; counted: Mark; dirty: boolean }

export function decodeMark(source: Buffer, offset = 0): HeldMark {
  const bits = source[offset] as number
  return {
    record: { mark: markOf(bits), markedAt: source.readUIntBE(offset + 1, 6), version: readVersion(source, offset + 7) },
    counted: markOf(bits >> 2),
    dirty: (bits & DIRTY) !== 0,
  }
}

/** A mark that is only in a sorted set. */
export function cleanMark(mark: Mark, score: Buffer): HeldMark {
  return { record: { mark, markedAt: Number(String(score)), version: 0 }, counted: mark, dirty: false }
}

export type MarksKind = 'unknown' | 'complete' | 'truncated'
const KINDS = ['unknown', 'complete', 'truncated'] as const satisfies MarksKind[]
const FLOOR_AT = 1 + 6 + 7 + 4

export function kindOf(state: Buffer | null | undefined): MarksKind {
  return KINDS[state?.[0] ?? 0] ?? 'unknown'
}

export function floorOf(state: Buffer | null | undefined): MarkPlace | null | undefined {
  const kind = kindOf(state)
  if (state === null || state === undefined || kind === 'unknown') return null
  return kind === 'complete' ? undefined : { markedAt: state.readUIntBE(FLOOR_AT, 6), id: state.toString('utf8', FLOOR_AT + 6) }
}
