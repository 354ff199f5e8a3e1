/**
 * A Golomb-coded set of hashes, opened: made once when a filter is read, asked for thousands of candidates afterwards.
 *
 * Decoding finds nothing in less than the whole, and a small index into the bits costs 80 to 130 ns a candidate (`npm run
 * bench -- filters`), so the set is decoded once into what answers at once, 3.5 to 5 bytes a record:
 *
 * - a bitmap of 8 to 16 bits a record, by the first bits of the hash. Of the candidates that nobody has seen, nine in ten end
 *   here, by one look.
 * - buckets of 4 to 8 records, by the first bits too: where each bucket begins, and of each record the next 16 bits.
 *
 * A record is so known by 32 bits at most, and by 16 more than number the buckets. Where the stored hashes are longer, what is
 * open answers "probably" for up to 8 in 65,536 that are in no stored set; `probedBits` says it, and `measureFilter` counts it.
 */
import type { SeenHashes } from './seen-hash.ts'

export type GolombProbe = {
  /** Bytes of memory. */
  readonly bytes: number
  has(hash: number): boolean
  /** Sets the bit of each pair whose first hash is in, and leaves the others as they are. */
  hasMany(hashes: SeenHashes, found: Uint32Array): void
}

const RECORDS_PER_BUCKET = 8
const REST_BITS = 16

/** The bits of a hash that an opened set of so many values of `width` bits compares. */
export function probedBits(count: number, width: number): number {
  return Math.min(width, 32, bucketBits(count) + REST_BITS)
}

function bucketBits(count: number): number {
  // One at least: a shift takes 31 bits at most.
  return Math.max(1, bitsFor(count / RECORDS_PER_BUCKET))
}

function bitsFor(places: number): number {
  return Math.max(0, Math.ceil(Math.log2(places)))
}

/** Values are strictly ascending, and below 2^width. */
export function openSet(values: Float64Array, width: number): GolombProbe {
  const bits = bucketBits(values.length)
  const bucketShift = 32 - bits
  const bitmapShift = 32 - Math.max(5, bitsFor(values.length * 8))
  const restShift = Math.max(0, 32 - bits - REST_BITS)
  const mask = width >= 32 ? -1 : ~(0xffffffff >>> width)
  const starts = new Uint32Array(2 ** bits + 1)
  const bitmap = new Uint32Array(2 ** (32 - bitmapShift - 5))
  const rests = new Uint16Array(values.length)

  const scale = 2 ** (32 - width)
  let bucket = 0
  for (let i = 0; i < values.length; i++) {
    // The first 32 bits of the hash, zeros where fewer are known.
    const first = Math.floor((values[i] as number) * scale) >>> 0
    for (const own = first >>> bucketShift; bucket <= own; bucket++) starts[bucket] = i
    const place = first >>> bitmapShift
    bitmap[place >>> 5] = (bitmap[place >>> 5] as number) | (1 << (place & 31))
    rests[i] = first >>> restShift
  }
  starts.fill(values.length, bucket)

  function inBucket(known: number): boolean {
    const own = known >>> bucketShift
    const rest = (known >>> restShift) & 0xffff
    const end = starts[own + 1] as number
    for (let i = starts[own] as number; i < end; i++) if (rests[i] === rest) return true
    return false
  }

  return {
    bytes: starts.byteLength + bitmap.byteLength + rests.byteLength,
    has: (hash) => inBucket(hash & mask),
    hasMany(hashes, found) {
      for (let i = 0; i < hashes.length; i += 2) {
        const known = (hashes[i] as number) & mask
        const place = known >>> bitmapShift
        if ((((bitmap[place >>> 5] as number) >>> (place & 31)) & 1) === 0 || !inBucket(known)) continue
        found[i >>> 6] = (found[i >>> 6] as number) | (1 << ((i >>> 1) & 31))
      }
    },
  }
}
