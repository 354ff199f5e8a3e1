/**
 * Values of the seen store's table, encoded and decoded.
 *
 *     a state     folds (f64), then per slot with staged plays: u8 slot · u32 number
 *     a play      playedAt (6 bytes)
 *     issued      its moment (f64, `issued-moments.ts`) · packed oid, one after another, newest first
 *     a layout    u8 slots · u32 shards
 */
import { PACKED_ID_BYTES_MAX, packId, packedIdLength, unpackId } from '../../../../core/keys.ts'
import type { RingShape } from '../hot-store.ts'

export type IssuedMoment = { oid: string; moment: number }
export type SeenState = { folds: number; staged: Map<number, number> }

const TIME_BYTES = 6
const MOMENT_BYTES = 8
const SLOT_BYTES = 5

export function encodeState({ folds, staged }: SeenState): Buffer {
  const target = Buffer.allocUnsafe(8 + staged.size * SLOT_BYTES)
  let end = target.writeDoubleBE(folds)
  for (const [slot, count] of staged) end = target.writeUInt32BE(count, target.writeUInt8(slot, end))
  return target
}

/** `length` is the end of values that the library does not trim. */
export function decodeState(value: Buffer, length: number): SeenState {
  const staged = new Map<number, number>()
  for (let at = 8; at < length; at += SLOT_BYTES) staged.set(value[at] as number, value.readUInt32BE(at + 1))
  return { folds: value.readDoubleBE(0), staged }
}

export function encodeTime(time: number): Buffer {
  const target = Buffer.allocUnsafe(TIME_BYTES)
  target.writeUIntBE(time, 0, TIME_BYTES)
  return target
}

export function decodeTime(value: Buffer): number {
  return value.readUIntBE(0, TIME_BYTES)
}

export function encodeIssued(issued: readonly IssuedMoment[]): Buffer {
  const target = Buffer.allocUnsafe(issued.length * (MOMENT_BYTES + PACKED_ID_BYTES_MAX))
  let end = 0
  for (const { oid, moment } of issued) end = packId(oid, target, target.writeDoubleBE(moment, end))
  return target.subarray(0, end)
}

export function decodeIssued(value: Buffer, length: number): IssuedMoment[] {
  const issued: IssuedMoment[] = []
  for (let at = 0; at < length;) {
    const oidAt = at + MOMENT_BYTES
    issued.push({ oid: unpackId(value, oidAt), moment: value.readDoubleBE(at) })
    at = oidAt + packedIdLength(value, oidAt)
  }
  return issued
}

/** For a list that is not empty. */
export function newestMoment(value: Buffer): number {
  return value.readDoubleBE(0)
}

export function encodeShape({ slots, shards }: RingShape): Buffer {
  const target = Buffer.allocUnsafe(5)
  target.writeUInt32BE(shards, target.writeUInt8(slots))
  return target
}

export function decodeShape(value: Buffer): RingShape {
  return { slots: value[0] as number, shards: value.readUInt32BE(1) }
}
