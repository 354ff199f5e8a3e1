/**
 * The values of a contents hash, byte by byte. `scripts/record.lua` is the same in Lua; `test/subgraphs/history/stores/redis` compares them. Numbers are big
 * endian.
 *
 * A record: flags (1), viewedAt (6), version (7), then `since` (6) if it is not 0, then `rank` (7) if it differs from that of a real visit
 * at `viewedAt` under the rule "newest", then the resume point. Scripts move the resume point without reading it: position × 2 + finished
 * and duration as varints, and the device. A tombstone ends after its version: its `since` is its viewedAt, its rank 0. A video's record
 * with the device "phone" takes 25 bytes; a hash with values of up to 64 bytes stays a listpack.
 *
 * A timeline's state: clearedAt (6), the floor's viewedAt (6), day last claimed + 1 (4), day of the last expiry (4). After a trimming, the
 * region's last version at that time (7) and the floor's packed oid follow.
 */
import type { BusinessNumber, Place, ProgressRecord } from '../../../../core/domain.ts'
import { unpackId } from '../../../../core/keys.ts'
import { rankOf } from '../../model/merge.ts'
import { readVersion, writeVersion } from '../../../../stores/redis/packing.ts'

const DELETED = 1
const SINCE = 2
const RANKED = 4
const TOMBSTONE_BYTES = 14
const RECORD_BYTES_MAX = TOMBSTONE_BYTES + 6 + 7 + 5 + 5

/** Maximum bytes of `writeRecord` for a device of this many UTF-16 units. */
export function recordBytesMax(device: string): number {
  return RECORD_BYTES_MAX + device.length * 3
}

export function encodeRecord(record: ProgressRecord): Buffer {
  const target = Buffer.allocUnsafe(recordBytesMax(record.device))
  return target.subarray(0, writeRecord(record, target, 0))
}

/** Writes the record at `offset`; returns the offset after it. */
export function writeRecord(record: ProgressRecord, target: Buffer, offset: number): number {
  const { viewedAt, since, rank } = record
  const ranked = rank !== usualRank(viewedAt)
  target[offset] = record.deleted ? DELETED : (since > 0 ? SINCE : 0) | (ranked ? RANKED : 0)
  let end = writeVersion(record.version, target, target.writeUIntBE(viewedAt, offset + 1, 6))
  if (record.deleted) return end
  if (since > 0) end = target.writeUIntBE(since, end, 6)
  if (ranked) end = writeVersion(rank, target, end)
  return writeResume(record, target, end)
}

/** Position, finished, duration and device: the part that scripts move as a whole. */
export function writeResume(record: ProgressRecord, target: Buffer, offset: number): number {
  let end = writeVarint(record.position * 2 + (record.finished ? 1 : 0), target, offset)
  end = writeVarint(record.duration, target, end)
  return record.device === '' ? end : end + target.write(record.device, end)
}

/** Throws a RangeError for a value that ends too early. */
export function decodeRecord(source: Buffer, offset = 0): ProgressRecord {
  const flags = source[offset] as number
  const viewedAt = source.readUIntBE(offset + 1, 6)
  const version = readVersion(source, offset + 7)
  if ((flags & DELETED) !== 0) {
    return { viewedAt, since: viewedAt, rank: 0, version, position: 0, duration: 0, device: '', finished: false, deleted: true }
  }
  let at = offset + TOMBSTONE_BYTES
  let since = 0
  let rank = usualRank(viewedAt)
  if ((flags & SINCE) !== 0) {
    since = source.readUIntBE(at, 6)
    at += 6
  }
  if ((flags & RANKED) !== 0) {
    rank = readVersion(source, at)
    at += 7
  }
  const position = readVarint(source, at)
  const duration = readVarint(source, position.end)
  return {
    viewedAt,
    since,
    rank,
    version,
    position: Math.floor(position.value / 2),
    duration: duration.value,
    device: duration.end === source.length ? '' : source.toString('utf8', duration.end),
    finished: position.value % 2 === 1,
    deleted: false,
  }
}

export type TimelineState = { clearedAt: number; floor: Place | undefined }

export function decodeState(value: Buffer | null | undefined, business: BusinessNumber): TimelineState {
  if (value === null || value === undefined) return { clearedAt: 0, floor: undefined }
  if (value.length < STATE_BYTES) throw new RangeError(`the state of a timeline has ${value.length} bytes`)
  const truncated = value.length > STATE_BYTES
  return {
    clearedAt: value.readUIntBE(0, 6),
    floor: truncated ? { viewedAt: value.readUIntBE(6, 6), business, oid: unpackId(value, STATE_BYTES + TRIMMED_AT_BYTES) } : undefined,
  }
}

const STATE_BYTES = 20
const TRIMMED_AT_BYTES = 7

/** The field of a contents hash that holds the timeline's state: no packed oid is empty. */
export const STATE_FIELD = ''

function usualRank(viewedAt: number): number {
  return rankOf('newest', { viewedAt, position: 0, finished: false, glance: false })
}

function writeVarint(value: number, target: Buffer, offset: number): number {
  let rest = value
  let end = offset
  while (rest >= 128) {
    target[end++] = (rest % 128) | 128
    rest = Math.floor(rest / 128)
  }
  target[end++] = rest
  return end
}

function readVarint(source: Buffer, offset: number): { value: number; end: number } {
  let value = 0
  let scale = 1
  let end = offset
  for (;;) {
    const byte = source[end++] as number
    value += (byte & 127) * scale
    if (byte < 128) return { value, end }
    if (end >= source.length) throw new RangeError(`a record ends within a number, after ${source.length} bytes`)
    scale *= 128
  }
}
