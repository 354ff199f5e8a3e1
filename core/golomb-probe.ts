/**
 * A Golomb-coded set of hashes, opened: made once when a filter is read, asked for thousands of candidates afterwards.
 *
 * Decoding finds nothing in less than the whole, and a small index into the bits costs over 100 ns a candidate (`npm run
 * bench -- filters`), so the set is decoded once into what answers at once, 3.5 to 5 bytes a record, or
 * 2 more where they have room to grow:
 *
 * - a bitmap of 8 to 16 bits a record, by the first bits of the hash. Of the candidates that nobody has seen, nine in ten end
 *   here, by one look.
 * - buckets of 4 to 8 records, by the first bits too: where each bucket begins, and of each record the bits that follow, 16 of
 *   them where the stored hash has no more, else 32. So what is open answers as what is stored, but for hashes of more than 32 bits
 *   in small sets, of which a few bits are left unread; `probedBits` says it, and `measureFilter` counts it.
 *
 * A viewer may choose ids that share a bucket: one that is large is searched by halves, as its rests ascend.
 */
import type { SeenHashes } from './seen-hash.ts'

export type GolombProbe = {
  /** Bytes of memory. */
  readonly bytes: number
  has(hash1: number, hash2: number): boolean
  /** Sets the bit of each pair that is in, and leaves the others as they are. */
  hasMany(hashes: SeenHashes, found: Uint32Array): void
}

const RECORDS_PER_BUCKET = 8
const REST_BITS_MAX = 32
/** Records of a bucket that are looked through one by one. */
const WALKED_MAX = 16

/** The bits of a hash that an opened set of so many values of `width` bits compares. */
export function probedBits(count: number, width: number): number {
  return Math.min(width, bucketBits(count) + REST_BITS_MAX)
}

function bucketBits(count: number): number {
  // One at least: a shift takes 31 bits at most.
  return Math.max(1, bitsFor(count / RECORDS_PER_BUCKET))
}

function bitsFor(places: number): number {
  return Math.max(0, Math.ceil(Math.log2(places)))
}

/** A word whose first so many bits are set. */
function maskOf(bits: number): number {
  return bits >= 32 ? -1 : ~(0xffffffff >>> bits)
}

/** Values are strictly ascending, and below 2^width. */
export function openSet(values: Float64Array, width: number): GolombProbe {
  const bits = bucketBits(values.length)
  const bucketShift = 32 - bits
  const bitmapShift = 32 - Math.max(5, bitsFor(values.length * 8))
  const mask = maskOf(width)
  const restMask = maskOf(width - bits)
  const isShort = width - bits <= 16
  const restShift = isShort ? 16 : 0
  const starts = new Uint32Array(2 ** bits + 1)
  const bitmap = new Uint32Array(2 ** (32 - bitmapShift - 5))
  const rests = isShort ? new Uint16Array(values.length) : new Uint32Array(values.length)

  function restOf(hash1: number, hash2: number): number {
    return (((hash1 << bits) | ((hash2 >>> 1) >>> (31 - bits))) & restMask) >>> restShift
  }

  const scale = 2 ** (32 - width)
  let bucket = 0
  for (let i = 0; i < values.length; i++) {
    // The two hashes as far as they are known, and zeros.
    const exact = (values[i] as number) * scale
    const hash1 = Math.floor(exact) >>> 0
    const hash2 = width > 32 ? (exact - hash1) * 2 ** 32 : 0
    for (const own = hash1 >>> bucketShift; bucket <= own; bucket++) starts[bucket] = i
    const place = hash1 >>> bitmapShift
    bitmap[place >>> 5] = (bitmap[place >>> 5] as number) | (1 << (place & 31))
    rests[i] = restOf(hash1, hash2)
  }
  starts.fill(values.length, bucket)

  function has(hash1: number, hash2: number): boolean {
    // Never more bits than a hash keeps: there are fewer buckets than values.
    const own = hash1 >>> bucketShift
    const rest = restOf(hash1, hash2)
    let end = starts[own + 1] as number
    let begin = starts[own] as number
    while (end - begin > WALKED_MAX) {
      const middle = (begin + end) >>> 1
      if ((rests[middle] as number) <= rest) begin = middle
      else end = middle
    }
    for (let i = begin; i < end; i++) if (rests[i] === rest) return true
    return false
  }

  return {
    bytes: starts.byteLength + bitmap.byteLength + rests.byteLength,
    has,
    hasMany(hashes, found) {
      for (let i = 0; i < hashes.length; i += 2) {
        const place = ((hashes[i] as number) & mask) >>> bitmapShift
        if ((((bitmap[place >>> 5] as number) >>> (place & 31)) & 1) === 0) continue
        if (has(hashes[i] as number, hashes[i + 1] as number)) found[i >>> 6] = (found[i >>> 6] as number) | (1 << ((i >>> 1) & 31))
      }
    },
  }
}
