/**
 * Two 32-bit hashes of a seen subject, which is a business's number and an id, packed as in `core/keys.ts`. Filters keep nothing but parts
 * of these hashes, so they never change: another hash is another `SEEN_HASH_VERSION`, which every filter names. The hashes have no secret.
 * Somebody who chooses ids freely can choose two that collide; a viewer who watched one then counts as having seen the other, from a
 * different creator (docs/operating/known-limits.md).
 *
 * A lane has a salt (0x7469646d and 0x61726b31, "tidmark1") and a finalizer F: murmur3's fmix32 for the first, C. Wellons' lowbias32 for
 * the second. All sums and products are modulo 2^32; `seed` is salt ^ (business * 0x9e3779b1).
 *
 *     integer ids, as two 32-bit halves    F(low ^ F(high ^ seed))
 *     other ids, as their packed bytes     h = seed ^ 0x80000000; for each four bytes, little endian, the last of them filled
 *                                          up with zeros: h = F(h ^ word) + 0x9e3779b9. The length is in the first byte.
 *
 * F is a permutation, so integers below 2^32 of one business never collide in the first lane. The packed bytes of an integer are never
 * written: its digits are read once, straight into halves.
 */
import type { BusinessNumber } from '../../../core/domain.ts'
import { PACKED_ID_BYTES_MAX, isIntegerId, packId } from '../../../core/keys.ts'

export const SEEN_HASH_VERSION = 1

/** Pairs: the two hashes of the first key, then those of the second, and so on. */
export type SeenHashes = Uint32Array

const SALT_1 = 0x7469646d
const SALT_2 = 0x61726b31
const GOLDEN = 0x9e3779b1
const TEXT = 0x80000000
const STEP = 0x9e3779b9

/** All ids are of one business and have passed `checkId`. Hashes are in the order of the ids. */
export function hashSeen(business: BusinessNumber, oids: readonly string[]): SeenHashes {
  const hashes = new Uint32Array(oids.length * 2)
  const seed1 = SALT_1 ^ Math.imul(business, GOLDEN)
  const seed2 = SALT_2 ^ Math.imul(business, GOLDEN)
  // Most ids of a business share their higher half.
  let known = 0
  let high1 = fmix32(seed1)
  let high2 = lowbias32(seed2)
  for (let i = 0; i < oids.length; i++) {
    const oid = oids[i] as string
    if (!readHalves(oid)) {
      hashText(oid, seed1, seed2, hashes, i * 2)
      continue
    }
    if (high !== known) {
      known = high
      high1 = fmix32(high ^ seed1)
      high2 = lowbias32(high ^ seed2)
    }
    hashes[i * 2] = fmix32(low ^ high1)
    hashes[i * 2 + 1] = lowbias32(low ^ high2)
  }
  return hashes
}

/** The halves of the id that `readHalves` read last. Returning two numbers would cost an object per id. */
let high = 0
let low = 0

/** False if the id is not a canonical integer below 2^63. */
function readHalves(id: string): boolean {
  const length = id.length
  if (length > 15) return isIntegerId(id) && readLongHalves(id)
  let value = 0
  for (let i = 0; i < length; i++) {
    const digit = id.charCodeAt(i) - 48
    if (digit < 0 || digit > 9) return false
    value = value * 10 + digit
  }
  if (length === 0 || (length > 1 && id.charCodeAt(0) === 48)) return false
  high = value < 2 ** 32 ? 0 : Math.floor(value / 2 ** 32)
  low = value >>> 0
  return true
}

/** 16 to 19 digits. The part above 10^9 is multiplied 16 bits at a time, so that every value stays below 2^53. */
function readLongHalves(id: string): true {
  const upper = Number(id.slice(0, -9))
  const first = (upper % 65_536) * 1e9 + Number(id.slice(-9))
  const rest = Math.floor(upper / 65_536) * 1e9 + Math.floor(first / 65_536)
  high = Math.floor(rest / 65_536)
  low = (((rest % 65_536) << 16) | (first % 65_536)) >>> 0
  return true
}

function hashText(id: string, seed1: number, seed2: number, target: SeenHashes, at: number): void {
  if (!hashAscii(id, seed1 ^ TEXT, seed2 ^ TEXT, target, at)) hashPacked(id, seed1 ^ TEXT, seed2 ^ TEXT, target, at)
}

/** The fast path for nearly all ids: the packed bytes are assembled here, without a native call. False if the id is not ASCII. */
function hashAscii(id: string, start1: number, start2: number, target: SeenHashes, at: number): boolean {
  let [hash1, hash2] = [start1, start2]
  let word = 0x80 | id.length
  let shift = 8
  for (let i = 0; i < id.length; i++) {
    const code = id.charCodeAt(i)
    if (code > 127) return false
    word |= code << shift
    shift += 8
    if (shift < 32) continue
    hash1 = (fmix32(hash1 ^ word) + STEP) | 0
    hash2 = (lowbias32(hash2 ^ word) + STEP) | 0
    word = shift = 0
  }
  target[at] = shift === 0 ? hash1 : fmix32(hash1 ^ word) + STEP
  target[at + 1] = shift === 0 ? hash2 : lowbias32(hash2 ^ word) + STEP
  return true
}

const scratch = Buffer.alloc(PACKED_ID_BYTES_MAX + 3)

function hashPacked(id: string, start1: number, start2: number, target: SeenHashes, at: number): void {
  const end = packId(id, scratch, 0)
  scratch.fill(0, end, end + 3)
  let [hash1, hash2] = [start1, start2]
  for (let i = 0; i < end; i += 4) {
    const word = scratch.readUInt32LE(i)
    hash1 = (fmix32(hash1 ^ word) + STEP) | 0
    hash2 = (lowbias32(hash2 ^ word) + STEP) | 0
  }
  target[at] = hash1
  target[at + 1] = hash2
}

/** The finalizer of MurmurHash3 (A. Appleby, public domain). */
export function fmix32(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** C. Wellons' "lowbias32" (hash-prospector, public domain). */
function lowbias32(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x7feb352d)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b)
  return mixed ^ (mixed >>> 16)
}
