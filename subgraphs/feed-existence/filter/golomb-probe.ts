/**
 * A Golomb-coded set of hashes, opened: built once when a filter is read, then probed with thousands of candidates.
 *
 * A lookup in the code would decode nearly all of it, and a small index into the bits costs over 100 ns per candidate (`npm run bench --
 * filters`). The set is therefore decoded once into a structure for direct lookups. It takes 3.5 to 5 bytes per record, or 2 more in sets
 * with room to grow:
 *
 * - A bitmap of 8 to 16 bits per record. The first bits of a hash choose a word of 32 bits, the next ones two places in it. 19 of 20 unseen
 *   candidates end here, with one look.
 * - Buckets of 4 to 8 records, chosen by the first bits too. The structure has the beginning of each bucket, and for each record the bits
 *   that follow: 16 bits if the stored hash has no more, else 32. Answers are therefore exact, except for hashes of more than 32 bits in
 *   small sets, where a few bits are left unread. `probedBits` returns the number of bits in use, and `measureFilter` includes it.
 *
 * A viewer may choose ids that share a bucket. A large bucket is searched by bisection, since its rests ascend.
 *
 * Most of the time of a request's probes is waiting: for memory, since other filters were probed in between, and for mispredicted branches.
 * Many candidates are therefore probed in three steps without branches or dependent loads: the bitmap for all, then the buckets' places for
 * the remaining ones, then these buckets. That is twice as fast as one candidate after the other.
 */
import type { SeenHashes } from './hash.ts'

export type GolombProbe = {
  /** Bytes of memory. */
  readonly bytes: number
  has(hash1: number, hash2: number): boolean
  /** Sets the bit of each pair that is in the set, and leaves the others as they are. */
  hasMany(hashes: SeenHashes, found: Uint32Array): void
}

const RECORDS_PER_BUCKET = 8
const REST_BITS_MAX = 32
/** Bucket size up to which records are compared one by one. */
const WALKED_MAX = 16

/** In words of 32 bits. */
const WORDS_PER_LINE = 16

type Rests = Uint16Array | Uint32Array

/** The number of hash bits that an opened set compares, for `count` values of `width` bits. */
export function probedBits(count: number, width: number): number {
  return Math.min(width, bucketBits(count) + REST_BITS_MAX)
}

function bucketBits(count: number): number {
  // At least one, since a shift takes 31 bits at most.
  return Math.max(1, bitsFor(count / RECORDS_PER_BUCKET))
}

function bitsFor(places: number): number {
  return Math.max(0, Math.ceil(Math.log2(places)))
}

/** A word whose first `bits` bits are set. */
function maskOf(bits: number): number {
  return bits >= 32 ? -1 : ~(0xffffffff >>> bits)
}

/** Values are strictly ascending, and below 2^width. */
export function openSet(values: Float64Array, width: number): GolombProbe {
  const bits = bucketBits(values.length)
  const bucketShift = 32 - bits
  const bitmapShift = 32 - Math.max(5, bitsFor(values.length * 8))
  // The end of the five bits that give the second place. At the rates of filters, a stored hash has them.
  const secondShift = Math.max(0, bitmapShift - 5)
  const mask = maskOf(width)
  const restMask = maskOf(width - bits)
  const isShort = width - bits <= 16
  const restShift = isShort ? 16 : 0
  const starts = new Uint32Array(2 ** bits + 1)
  const bitmap = new Uint32Array(2 ** (32 - bitmapShift - 5))
  // One extra entry without a record: the beginning of an empty bucket after the last record.
  const rests: Rests = isShort ? new Uint16Array(values.length + 1) : new Uint32Array(values.length + 1)

  function restOf(hash1: number, hash2: number): number {
    return (((hash1 << bits) | ((hash2 >>> 1) >>> (31 - bits))) & restMask) >>> restShift
  }

  const scale = 2 ** (32 - width)
  let bucket = 0
  for (let i = 0; i < values.length; i++) {
    // The two hashes as far as they are known, filled up with zeros.
    const exact = (values[i] as number) * scale
    const hash1 = Math.floor(exact) >>> 0
    const hash2 = width > 32 ? (exact - hash1) * 2 ** 32 : 0
    for (const own = hash1 >>> bucketShift; bucket <= own; bucket++) starts[bucket] = i
    const place = hash1 >>> bitmapShift
    bitmap[place >>> 5] = (bitmap[place >>> 5] as number) | (1 << (place & 31)) | (1 << ((hash1 >>> secondShift) & 31))
    rests[i] = restOf(hash1, hash2)
  }
  starts.fill(values.length, bucket)

  function has(hash1: number, hash2: number): boolean {
    // Never more bits than a hash keeps, since there are fewer buckets than values.
    const own = hash1 >>> bucketShift
    return isAmong(rests, starts[own] as number, starts[own + 1] as number, restOf(hash1, hash2))
  }

  return {
    bytes: starts.byteLength + bitmap.byteLength + rests.byteLength,
    has,
    hasMany(hashes, found) {
      if (hashes.length >= bitmap.length / 4) walk(bitmap)
      for (let from = 0; from < hashes.length; from += 2 * CHUNK) {
        const count = sieve(hashes, from, bitmap, mask, bitmapShift, secondShift)
        locate(hashes, count, starts, rests, bucketShift)
        for (let at = 0; at < count; at++) {
          const i = likely[at] as number
          const rest = restOf(hashes[i] as number, hashes[i + 1] as number)
          if (!isAmong(rests, begins[at] as number, ends[at] as number, rest)) continue
          found[i >>> 6] = (found[i >>> 6] as number) | (1 << ((i >>> 1) & 31))
        }
      }
    },
  }
}

/** Pairs of hashes that are probed together. */
const CHUNK = 1_024
/** The candidates of a chunk that pass the bitmap: the positions of their hashes, and the ends of their buckets. */
const likely = new Uint32Array(CHUNK)
const begins = new Uint32Array(CHUNK + 1)
const ends = new Uint32Array(CHUNK)

/** Fetches the bitmap in order, one word of each cache line. This is four times as fast as the same lines in any order. */
function walk(bitmap: Uint32Array): void {
  let sum = 0
  for (let at = 0; at < bitmap.length; at += WORDS_PER_LINE) sum |= bitmap[at] as number
  begins[CHUNK] = sum
}

/** Notes the candidates of a chunk that pass the bitmap, and returns their number. Branch-free, since mispredicted branches cost time. */
function sieve(hashes: SeenHashes, from: number, bitmap: Uint32Array, mask: number, bitmapShift: number, secondShift: number): number {
  const end = Math.min(from + 2 * CHUNK, hashes.length)
  let count = 0
  for (let i = from; i < end; i += 2) {
    const hash1 = (hashes[i] as number) & mask
    const word = bitmap[(hash1 >>> bitmapShift) >>> 5] as number
    likely[count] = i
    count += (word >>> ((hash1 >>> bitmapShift) & 31)) & (word >>> ((hash1 >>> secondShift) & 31)) & 1
  }
  return count
}

/** Fetches all buckets of the chunk at once, so that no comparison waits for the one before it. */
function locate(hashes: SeenHashes, count: number, starts: Uint32Array, rests: Rests, bucketShift: number): void {
  let sum = 0
  for (let at = 0; at < count; at++) {
    const own = (hashes[likely[at] as number] as number) >>> bucketShift
    const begin = starts[own] as number
    begins[at] = begin
    ends[at] = starts[own + 1] as number
    sum |= rests[begin] as number
  }
  begins[CHUNK] = sum
}

/** The rests ascend from `begin` to `end`. */
function isAmong(rests: Rests, begin: number, end: number, rest: number): boolean {
  let [from, to] = [begin, end]
  while (to - from > WALKED_MAX) {
    const middle = (from + to) >>> 1
    if ((rests[middle] as number) <= rest) from = middle
    else to = middle
  }
  for (let i = from; i < to; i++) if (rests[i] === rest) return true
  return false
}
