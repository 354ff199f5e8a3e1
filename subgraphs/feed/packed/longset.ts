/**
 * The longset: a set of viewer ids as one value, for example the authors that a viewer follows. It is an open-addressed hash table with
 * double hashing (D. E. Knuth, "The Art of Computer Programming", volume 3, section 6.4, algorithm D). A store can therefore answer
 * `contains` from a few slots, without the whole value.
 *
 *   byte 0            the format: 1
 *   bytes 1 to 3      the most probes that a member of the set needs
 *   bytes 4 to 7      M, the number of slots: the lowest prime that is at least twice the number of ids, and at least 5
 *   bytes 8 to 11     the number of ids
 *   bytes 12 to 15    B, the number of bytes of the names
 *   16 to 8M + 15     M slots of 8 bytes
 *   then B bytes      the names: ids that are no integers, as `packId` writes them
 *
 * Numbers are unsigned and big endian. A slot holds one of these:
 *
 *   an integer id     below 2^63, so its first bit is 0
 *   the hash of a name  the first 8 bytes of its SHA-256 with the first bit set. All ones become all ones but the last
 *   empty             all ones
 *
 * The probe number i of an id, from 0 on, is slot (`start` + i × (1 + `step` mod (M - 1))) mod M. `start` and `step` are hashes of 32 bits
 * of the slot's content (`longsetHash`). The search ends at the id, at an empty slot, or after as many probes as the header says.
 * M is prime, so the probes visit all slots, and at most half of the slots are taken: a member needs 1.4 probes on average, and another
 * id needs 2.
 */
import { hash } from 'node:crypto'
import type { ViewerId } from '../../../core/domain.ts'
import { TidemarkError } from '../../../core/errors.ts'
import { isIntegerId, packId, packedIdLength, unpackId } from '../../../core/keys.ts'

export const LONGSET_HEADER_BYTES = 16
export const SLOT_BYTES = 8
const FORMAT = 1
const EMPTY_HALF = 0xffff_ffff

/** The content of an id's slot, and its two hashes: `start` and `step` are unsigned, of 32 bits. */
export type LongsetHash = { slot: Buffer; start: number; step: number }

export type LongsetHeader = { slots: number; count: number; nameBytes: number; probesMax: number }

/** The set of these ids, which may repeat. They must have passed `checkId`. */
export function buildLongset(ids: readonly ViewerId[]): Buffer {
  const distinct = [...new Set(ids)]
  const names = distinct.filter((id) => !isIntegerId(id))
  const nameBytes = names.reduce((sum, name) => sum + 1 + Buffer.byteLength(name), 0)
  const slots = primeFrom(Math.max(5, distinct.length * 2))
  const namesAt = LONGSET_HEADER_BYTES + slots * SLOT_BYTES
  const set = Buffer.allocUnsafe(namesAt + nameBytes).fill(0xff, LONGSET_HEADER_BYTES, namesAt)
  let probesMax = 0
  for (const id of distinct) {
    const { slot, start, step } = longsetHash(id)
    let probe = 0
    while (!isEmptySlot(set, offsetOf(start, step, slots, probe))) probe++
    slot.copy(set, offsetOf(start, step, slots, probe))
    probesMax = Math.max(probesMax, probe + 1)
  }
  set[0] = FORMAT
  set.writeUIntBE(probesMax, 1, 3)
  set.writeUInt32BE(slots, 4)
  set.writeUInt32BE(distinct.length, 8)
  set.writeUInt32BE(nameBytes, 12)
  names.reduce((offset, name) => packId(name, set, offset), namesAt)
  return set
}

export function longsetHas(set: Buffer, id: ViewerId): boolean {
  const { slots, probesMax } = longsetHeader(set)
  const { slot, start, step } = longsetHash(id)
  for (let probe = 0; probe < probesMax; probe++) {
    const offset = offsetOf(start, step, slots, probe)
    if (slot.equals(set.subarray(offset, offset + SLOT_BYTES))) return true
    if (isEmptySlot(set, offset)) return false
  }
  return false
}

/** In the order of slots, names last. */
export function longsetIds(set: Buffer): ViewerId[] {
  const { slots } = longsetHeader(set)
  const namesAt = LONGSET_HEADER_BYTES + slots * SLOT_BYTES
  const ids: ViewerId[] = []
  for (let offset = LONGSET_HEADER_BYTES; offset < namesAt; offset += SLOT_BYTES) {
    if ((set[offset] as number) < 0x80) ids.push(unpackId(set, offset))
  }
  for (let offset = namesAt; offset < set.length; offset += packedIdLength(set, offset)) ids.push(unpackId(set, offset))
  return ids
}

export function longsetCount(set: Buffer): number {
  return longsetHeader(set).count
}

/** Throws DATA_DAMAGED unless the bytes have the format and the length of a longset. */
export function longsetHeader(set: Buffer): LongsetHeader {
  if (set.length >= LONGSET_HEADER_BYTES && set[0] === FORMAT) {
    const header = {
      slots: set.readUInt32BE(4),
      count: set.readUInt32BE(8),
      nameBytes: set.readUInt32BE(12),
      probesMax: set.readUIntBE(1, 3),
    }
    if (header.slots >= 5 && set.length === LONGSET_HEADER_BYTES + header.slots * SLOT_BYTES + header.nameBytes) return header
  }
  throw new TidemarkError('DATA_DAMAGED', `a longset of ${set.length} bytes is damaged: delete it, and it is built again`)
}

/** The slots that a search for the id visits, in their order. It visits all `slots`, which must be a prime number. */
export function* probesOf(id: ViewerId, slots: number): Generator<number> {
  const { start, step } = longsetHash(id)
  for (let probe = 0; probe < slots; probe++) yield (offsetOf(start, step, slots, probe) - LONGSET_HEADER_BYTES) / SLOT_BYTES
}

export function longsetHash(id: ViewerId): LongsetHash {
  const slot = Buffer.allocUnsafe(SLOT_BYTES)
  if (isIntegerId(id)) packId(id, slot, 0)
  else {
    hash('sha256', id, 'buffer').copy(slot, 0, 0, SLOT_BYTES)
    slot[0] = (slot[0] as number) | 0x80
    if (isEmptySlot(slot, 0)) slot[7] = 0xfe
  }
  const high = slot.readUInt32BE(0)
  const low = slot.readUInt32BE(4)
  return { slot, start: mix(low ^ mix(high)), step: mix(mix(low + 0x9e3779b9) ^ high) }
}

/** The finalizer of MurmurHash3, 32 bits (A. Appleby, public domain). */
function mix(value: number): number {
  let mixed = value ^ (value >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** Exact: a product of a probe and a step is below 2^53. */
function offsetOf(start: number, step: number, slots: number, probe: number): number {
  return LONGSET_HEADER_BYTES + ((start + probe * (1 + (step % (slots - 1)))) % slots) * SLOT_BYTES
}

function isEmptySlot(bytes: Buffer, offset: number): boolean {
  return bytes.readUInt32BE(offset) === EMPTY_HALF && bytes.readUInt32BE(offset + 4) === EMPTY_HALF
}

/** The lowest prime at or above a number. */
function primeFrom(least: number): number {
  for (let candidate = least; ; candidate++) if (isPrime(candidate)) return candidate
}

function isPrime(number: number): boolean {
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false
  return true
}
