/**
 * Values of the hot store's tables, encoded and decoded.
 *
 *     a record, settings   dirtySince (6 bytes, 0 = clean) · protobuf
 *     stats                u32 entries · u32 last day + 1 · (if truncated) trimmedAt (f64) · floor: viewedAt (6 bytes) · packed oid
 *
 * `dirtySince` is the time of the first unpersisted change, so writing a dirty key again needs no lookup of its dirty mark. Encoders share
 * one buffer: the bytes are valid until the next call. That is sufficient inside a transaction, where LMDB copies at once.
 *
 * Decoders throw DATA_DAMAGED for bytes that they cannot decode. Any other error would count as a failure of the whole store. They check
 * the length first, because a value that was read fast is at the start of a buffer with bytes of other values.
 */
import type { Place, ProgressRecord, ViewerSettings } from '../../../../core/domain.ts'
import { TidemarkError } from '../../../../core/errors.ts'
import { PACKED_ID_BYTES_MAX, packId, packedIdLength, unpackId } from '../../../../core/keys.ts'
import { decodeProgress, decodeSettings, encodeProgress, encodeSettings } from '../../model/record-codec.ts'

export type Held<T> = { dirtySince: number; content: T }

/**
 * The stats of a viewer's timeline in one business. `floor` is the newest place ever trimmed. `trimmedAt` is the last assigned version at
 * the last trimming, so that no trimmed version is above it.
 */
export type Stats = { entries: number; lastDay: number; floor: Place | undefined; trimmedAt: number }

export const NO_DAY = -1
const TIME_BYTES = 6
const TRIMMED_AT = 8
const FLOOR_AT = TRIMMED_AT + 8
const STATS_BYTES_MAX = FLOOR_AT + TIME_BYTES + PACKED_ID_BYTES_MAX

let scratch = Buffer.allocUnsafeSlow(1_024)
const statsScratch = Buffer.allocUnsafeSlow(STATS_BYTES_MAX)

export function encodeHeldProgress(dirtySince: number, record: ProgressRecord): Buffer {
  return encodeHeld(dirtySince, encodeProgress(record))
}

export function encodeHeldSettings(dirtySince: number, settings: ViewerSettings): Buffer {
  return encodeHeld(dirtySince, encodeSettings(settings))
}

function encodeHeld(dirtySince: number, content: Uint8Array): Buffer {
  const length = TIME_BYTES + content.length
  if (length > scratch.length) scratch = Buffer.allocUnsafeSlow(length * 2)
  scratch.writeUIntBE(dirtySince, 0, TIME_BYTES)
  scratch.set(content, TIME_BYTES)
  return scratch.subarray(0, length)
}

export function decodeHeldProgress(value: Buffer, length: number): Held<ProgressRecord> {
  return decodeHeld(value, length, decodeProgress)
}

export function decodeHeldSettings(value: Buffer, length: number): Held<ViewerSettings> {
  return decodeHeld(value, length, decodeSettings)
}

function decodeHeld<T>(value: Buffer, length: number, decode: (bytes: Uint8Array) => T): Held<T> {
  if (length < TIME_BYTES) throw damaged(`it has ${length} bytes`)
  try {
    return { dirtySince: value.readUIntBE(0, TIME_BYTES), content: decode(value.subarray(TIME_BYTES, length)) }
  } catch (error) {
    throw damaged(error instanceof Error ? error.message : String(error), error)
  }
}

export function readDirtySince(value: Buffer): number {
  return value.readUIntBE(0, TIME_BYTES)
}

export function encodeStats(stats: Stats): Buffer {
  statsScratch.writeUInt32BE(stats.entries, 0)
  statsScratch.writeUInt32BE(stats.lastDay + 1, 4)
  if (stats.floor === undefined) return statsScratch.subarray(0, TRIMMED_AT)
  statsScratch.writeDoubleBE(stats.trimmedAt, TRIMMED_AT)
  statsScratch.writeUIntBE(stats.floor.viewedAt, FLOOR_AT, TIME_BYTES)
  return statsScratch.subarray(0, packId(stats.floor.oid, statsScratch, FLOOR_AT + TIME_BYTES))
}

export function decodeStats(value: Buffer, length: number, business: number): Stats {
  if (length < TRIMMED_AT || (length > TRIMMED_AT && length <= FLOOR_AT + TIME_BYTES)) throw damaged(`it has ${length} bytes`)
  const [entries, lastDay] = [value.readUInt32BE(0), value.readUInt32BE(4) - 1]
  if (length === TRIMMED_AT) return { entries, lastDay, floor: undefined, trimmedAt: 0 }
  const oidAt = FLOOR_AT + TIME_BYTES
  if (length !== oidAt + packedIdLength(value, oidAt)) throw damaged(`it has ${length} bytes`)
  const floor = { viewedAt: value.readUIntBE(FLOOR_AT, TIME_BYTES), business, oid: unpackId(value, oidAt) }
  return { entries, lastDay, floor, trimmedAt: value.readDoubleBE(TRIMMED_AT) }
}

function damaged(reason: string, cause?: unknown): TidemarkError {
  return new TidemarkError('DATA_DAMAGED', `a value of the hot store is damaged, ${reason}: remove it, or restore a backup`, { cause })
}
