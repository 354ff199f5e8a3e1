/** Bytes in keys, members and arguments of scripts. The Lua scripts read the same formats. */
import type { BusinessNumber, ViewerId } from '../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, packId, packedIdLength, unpackId } from '../../core/keys.ts'

const TWO_48 = 2 ** 48
export const GROUP_BYTES_MAX = PACKED_ID_BYTES_MAX + 2
const scratch = Buffer.allocUnsafeSlow(GROUP_BYTES_MAX)

/** Writes a value after `offset` + 1, with its length in the byte before. */
export function lengthBefore(target: Buffer, offset: number, write: (at: number) => number): number {
  const end = write(offset + 1)
  target[offset] = end - offset - 1
  return end
}

export function readVersion(source: Buffer, offset: number): number {
  return (source[offset] as number) * TWO_48 + source.readUIntBE(offset + 1, 6)
}

/** Seven bytes, for whole numbers below 2^53 such as versions and ranks. */
export function writeVersion(value: number, target: Buffer, offset: number): number {
  target[offset] = Math.floor(value / TWO_48)
  return target.writeUIntBE(value % TWO_48, offset + 1, 6)
}

/** The prefix of a dirty mark's member: packed viewer + business. */
export function packGroup(viewer: ViewerId, business: BusinessNumber): Buffer {
  return Buffer.from(scratch.subarray(0, writeGroup(viewer, business, scratch, 0)))
}

export function writeGroup(viewer: ViewerId, business: BusinessNumber, target: Buffer, offset: number): number {
  return target.writeUInt16BE(business, packId(viewer, target, offset))
}

export function unpackGroup(member: Buffer): { viewer: ViewerId; business: BusinessNumber; end: number } {
  const businessAt = packedIdLength(member, 0)
  return { viewer: unpackId(member, 0), business: member.readUInt16BE(businessAt), end: businessAt + 2 }
}
